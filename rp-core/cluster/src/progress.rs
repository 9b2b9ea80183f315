//! What an operation stores through the lease holder.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_documents::cluster::Worker;
use rp_documents::{ClusterDocument, OpenShiftCluster};

/// A change of a stored cluster. It may run more than once, on newer documents.
pub type Change = Box<dyn Fn(&mut OpenShiftCluster, Worker) + Send + Sync>;

/// Why something could not be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgressError {
    #[error("the lease was lost")]
    Lost,
    #[error("the store: {0}")]
    Store(String),
}

/// What happened to a step, for the operation's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEvent<'a> {
    /// It begins, for the `attempt`th time.
    Started {
        name: &'a str,
        at: usize,
        planned: usize,
        attempt: u32,
    },
    /// It waits; what it last saw.
    Waiting {
        name: &'a str,
        seen: &'a str,
    },
    Done {
        name: &'a str,
        took: Duration,
    },
    Failed {
        name: &'a str,
        took: Duration,
        error: &'a str,
    },
    /// A sentence for people; no secrets.
    Line {
        level: &'a str,
        text: &'a str,
    },
    /// Gathered after a failure (`contract/cluster.md` §14).
    Diagnostic {
        name: &'a str,
        text: &'a str,
    },
}

/// The lease holder's document. Every write is refused once the lease is lost.
#[async_trait]
pub trait Progress: Send + Sync + std::fmt::Debug {
    /// The document as it stands.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    async fn read(&self) -> Result<Arc<ClusterDocument>, ProgressError>;

    /// Changes the document and gives what was written.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    async fn patch(&self, change: Change) -> Result<Arc<ClusterDocument>, ProgressError>;

    /// The step to go on with in this operation and phase, as [`Progress::save`] left it; `None`: the first.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    async fn position(&self) -> Result<Option<String>, ProgressError>;

    /// The next run goes on with the step of that stored name.
    ///
    /// # Errors
    /// The lease is lost, or the store is away.
    async fn save(&self, next_step: &str) -> Result<(), ProgressError>;

    /// Keeps why a task takes back what it did, and goes on with that step of the way back.
    ///
    /// # Errors
    /// The lease is lost, or the store is away. By default: operations of customers take nothing back.
    async fn turn_back(&self, _cause: &str, _next_step: &str) -> Result<(), ProgressError> {
        Err(ProgressError::Store("an operation takes nothing back".to_owned()))
    }

    /// Records an event in the operation's log. Never fails: it is queued, and written with the next save.
    fn record_event(&self, event: StepEvent<'_>);

    /// Creates the billing record of the cluster, unless it exists.
    ///
    /// # Errors
    /// The store's.
    async fn create_billing_record(
        &self,
        infra_id: &str,
        tenant: &str,
        location: &str,
    ) -> Result<(), ProgressError>;

    /// Ends the billing record; does nothing when there is none.
    ///
    /// # Errors
    /// The store's.
    async fn end_billing_record(&self) -> Result<(), ProgressError>;
}
