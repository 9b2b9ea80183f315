//! Kubernetes clients over the dialer; kubeconfig reading and writing.
//!
//! Entry rule: what is specific to a Kubernetes client and needs no store and no page.

pub mod connect;
mod exec;
mod hosts;
pub mod kubeconfig;
pub mod lean;
mod list;
mod pods;
mod port_forward;
pub mod write;

pub use connect::api_status;
pub use exec::{ExecError, ExecOutput, ExecRequest, RunningCommand, exec, start as start_exec};
pub use hosts::{Host, hosts};
pub use kube::Error as KubeError;
pub use kube::client::{Body as KubeBody, Client as KubeClient};
pub use kubeconfig::{ImportError, ImportPlan, ImportedCredential};
pub use pods::{ReadyPod, pods_on, ready_pods};
pub use port_forward::{PortForward, port_forward};
