//! Who may write which member of a cluster's document.
//!
//! Each member names its owner in its type ([`Intent`](super::Intent), [`Outcome`](super::Outcome),
//! [`Shared`](super::Shared)), and each change names its writer. A change by another writer does not compile:
//!
//! ```compile_fail
//! # use rp_documents::cluster::{ClusterProfile, Worker};
//! # use rp_documents::Lease;
//! let mut profile = ClusterProfile::default();
//! profile.domain.set(Worker::holding(&Lease::default()), "example");
//! ```
//!
//! ```
//! # use rp_documents::cluster::{ClusterProfile, Edge};
//! let mut profile = ClusterProfile::default();
//! profile.domain.set(Edge::accepting(), "example");
//! ```

use crate::Lease;

/// The frontend, while it accepts a request; the portal, while it accepts what an administrator may change.
#[derive(Debug, Clone, Copy)]
pub struct Edge(());

/// The backend, while it holds the document's lease.
#[derive(Debug, Clone, Copy)]
pub struct Worker(());

/// Owner of the requested state of a cluster.
#[derive(Debug)]
pub enum ByEdge {}

/// Owner of the observed results.
#[derive(Debug)]
pub enum ByWorker {}

/// Owner of what both write.
#[derive(Debug)]
pub enum ByBoth {}

/// Owner of the provisioning states, which change by the rules of [`super::provisioning`] only.
#[derive(Debug)]
pub enum ByRule {}

/// A writer of members that `W` owns.
pub trait MayWrite<W>: Copy {}

impl MayWrite<ByEdge> for Edge {}
impl MayWrite<ByWorker> for Worker {}
impl MayWrite<ByBoth> for Edge {}
impl MayWrite<ByBoth> for Worker {}

impl Edge {
    /// For the frontend, and for the portal where a person sets flags of the operator.
    pub const fn accepting() -> Self {
        Self(())
    }
}

impl Worker {
    /// For the backend only, which passes it on to the steps that work under the lease.
    pub const fn holding(_lease: &Lease) -> Self {
        Self(())
    }
}
