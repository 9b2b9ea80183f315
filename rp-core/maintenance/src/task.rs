//! The interface between the actuator and what does the work on a cluster.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rp_documents::maintenance::Task;
use rp_documents::{ClusterDocument, SubscriptionDocument};
use tokio_util::sync::CancellationToken;

use crate::run::Run;

/// One run of a task on one cluster.
#[derive(Debug, Clone)]
pub struct TaskJob {
    pub task: Task,
    /// The cluster's document when it was taken.
    pub document: Arc<ClusterDocument>,
    pub subscription: SubscriptionDocument,
    /// What the task reads and writes through.
    pub run: Arc<Run>,
    /// A lease was lost, the manifest was deleted, or the time is over: stop at once, write nothing.
    pub lost: CancellationToken,
    /// The process stops, or a customer's operation waits for the cluster: hand over after the running step.
    pub stopping: CancellationToken,
}

/// Why a task did not reach its end (`contract/mimo.md` §4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// May pass: repeated later.
    #[error("TransientError: {0}")]
    Transient(String),
    /// Repeating does not help.
    #[error("TerminalError: {0}")]
    Terminal(String),
    /// [`TaskJob::stopping`] was followed; nothing failed.
    #[error("handed over")]
    HandedOver,
    /// [`TaskJob::lost`] was followed.
    #[error("the lease was lost")]
    Lost,
}

/// Does the work of tasks.
#[async_trait]
pub trait TaskRunner: Send + Sync + fmt::Debug + 'static {
    /// Runs a task, from the position that an earlier run saved. Each part of it may be repeated.
    ///
    /// # Errors
    /// What ended it.
    async fn run(&self, job: TaskJob) -> Result<(), TaskError>;
}
