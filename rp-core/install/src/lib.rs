//! An installation of OpenShift, up to and after the installer itself (`contract/installer.md`): what the installer is
//! given, what is changed in the assets that it makes, and what the service needs of them.
//!
//! The installer is the release's own `openshift-install`, unchanged (`contract/installer.md` §16). It makes manifests;
//! [`manifests`] adds ours; it makes Ignition configs of both; [`transform`] changes those; [`state`] reads the rest.
//! All of that is pure: values in, text out. A [`runner`] runs the installer between.
//!
//! Entry rule: what depends on the installer's own formats.

pub mod authority;
pub mod config;
mod error;
pub mod facts;
pub mod graph;
pub mod image;
pub mod kubeconfig;
pub mod manifests;
pub mod runner;
pub mod ssh_key;
pub mod state;
pub mod transform;
pub mod zones;

pub use error::InputError;
pub use facts::InstallFacts;
