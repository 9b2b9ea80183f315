//! Kubernetes clients over the dialer; kubeconfig reading and writing.
//!
//! Entry rule: what is specific to a Kubernetes client and needs no store and no page.

pub mod connect;
pub mod kubeconfig;
mod port_forward;
pub mod write;

pub use kubeconfig::{ImportError, ImportPlan, ImportedCredential};
pub use port_forward::{PortForward, port_forward};
