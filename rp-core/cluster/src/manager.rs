//! The interface between workers and the plans of clusters.

use std::sync::Arc;

use async_trait::async_trait;
use rp_documents::{ClusterDocument, SubscriptionDocument};
use tokio_util::sync::CancellationToken;

use crate::{Failure, Progress};

/// What is to be done (`contract/backend.md` §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Create,
    Update,
    AdminUpdate,
    Delete,
}

/// One document's work.
#[derive(Debug)]
pub struct Job {
    pub operation: Operation,
    /// The stored document, as it was taken.
    pub document: Arc<ClusterDocument>,
    /// The subscription's stored document.
    pub subscription: SubscriptionDocument,
    pub progress: Arc<dyn Progress>,
    /// The lease is lost: stop at once, write nothing.
    pub lost: CancellationToken,
    /// The process stops: hand over after the running step.
    pub stopping: CancellationToken,
}

/// Result of a successful run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// This phase is done; any worker takes the next (the document says which).
    NextPhase,
}

/// Does the work of one document.
#[async_trait]
pub trait Manager: Send + Sync + std::fmt::Debug + 'static {
    /// Runs the plan of the document's operation and phase from its saved position.
    ///
    /// # Errors
    /// What ended it.
    async fn run(&self, job: Job) -> Result<Outcome, Failure>;
}
