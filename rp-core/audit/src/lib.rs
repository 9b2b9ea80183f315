//! The audit log (`design.md` §3 Audit): entries in a hash chain per writer, written in groups, signed
//! checkpoints, search, and a check that finds what was removed, changed, reordered, cut off or re-made.
//!
//! [`Audit::promise`] gives a receipt when the entry is durable; [`Audit::queue`] takes it in and writes it
//! within 100 ms. Nothing that was taken in is dropped while the process lives.

mod batch;
mod bound;
mod checkpoint;
mod error;
mod key;
mod metrics;
mod options;
mod search;
mod slot;
mod verify;
mod writer;

use std::sync::Arc;

use rp_base::{Digest, SharedClock};
use rp_database::SharedStore;
use rp_documents::Entry;
use tokio::sync::{mpsc, oneshot, watch};

pub use checkpoint::SignedCheckpoint;
pub use error::AuditError;
pub use key::CheckpointKey;
pub use options::AuditOptions;
pub use search::{Found, Query};
pub use slot::Slot;
pub use verify::{Finding, FindingKind, Verdict};

use metrics::AuditMetrics;
use writer::{Promise, Status, Writer};

/// The verb of a chain's first entry; its query names the predecessor.
pub const WRITER_STARTED: &str = "audit.writer-started";

/// Where an entry stands, for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub writer: String,
    pub seq: u64,
    /// SHA-256 of the entry as stored.
    pub digest: Digest,
}

/// The audit log of this process. A cheap clone.
#[derive(Debug, Clone)]
pub struct Audit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: SharedStore,
    key: CheckpointKey,
    queue: mpsc::Sender<Entry>,
    promises: mpsc::Sender<Promise>,
    closing: watch::Sender<bool>,
    status: watch::Receiver<Status>,
    metrics: AuditMetrics,
}

impl Audit {
    /// Opens the log and starts its writer: a new chain whose first entry names the head of the last one.
    ///
    /// # Errors
    /// The store does not answer, or the checkpoint key cannot be had.
    pub async fn start(
        store: SharedStore,
        clock: SharedClock,
        options: AuditOptions,
    ) -> Result<Self, AuditError> {
        let metrics = AuditMetrics::register(&options.registry);
        let key = options.key.clone();
        let (queue, queued) = mpsc::channel(options.queue.max(1));
        let (promises, promised) = mpsc::channel(options.queue.max(1));
        let (closing, closed) = watch::channel(false);
        let writer = Writer::open(store.clone(), clock, options, metrics.clone()).await?;
        let (told, status) = watch::channel(writer.status());
        tokio::spawn(writer.run(queued, promised, closed, told));
        Ok(Self(Arc::new(Inner { store, key, queue, promises, closing, status, metrics })))
    }

    /// Writes an entry and waits until it is durable. An entry whose promise failed may still come to be
    /// written: it then tells of an attempt.
    ///
    /// # Errors
    /// [`AuditError::Unavailable`]: the store does not take entries now; refuse what was to be done.
    /// [`AuditError::Closed`]: the process is stopping.
    pub async fn promise(&self, mut entry: Entry) -> Result<Receipt, AuditError> {
        bound::shorten(&mut entry);
        let (reply, answer) = oneshot::channel();
        let promise = Promise { entry, reply };
        self.0.promises.send(promise).await.map_err(|_| AuditError::Closed)?;
        let outcome = answer.await.unwrap_or(Err(AuditError::Closed));
        if outcome.is_err() {
            self.0.metrics.refused.inc();
        }
        outcome
    }

    /// Takes an entry in, to be written within 100 ms; waits while the queue is full.
    ///
    /// # Errors
    /// [`AuditError::Closed`]: the process is stopping.
    pub async fn queue(&self, mut entry: Entry) -> Result<(), AuditError> {
        bound::shorten(&mut entry);
        let taken = self.0.queue.send(entry).await.map_err(|_| AuditError::Closed);
        self.0.metrics.waiting.set_count(self.0.queue.max_capacity() - self.0.queue.capacity());
        taken
    }

    /// Searches, newest first (by chain, then within it). Looks at a bounded part of the log per call.
    ///
    /// # Errors
    /// The store does not answer, or the continuation is not one that we gave.
    pub async fn search(&self, query: &Query) -> Result<Found, AuditError> {
        search::search(&self.0.store, query).await
    }

    /// Checks the whole log against itself, its checkpoints and what this process has written.
    ///
    /// # Errors
    /// The store does not answer. What is wrong with the log is in the verdict.
    pub async fn verify(&self) -> Result<Verdict, AuditError> {
        self.verify_against(&[]).await
    }

    /// As [`Audit::verify`], with checkpoints that were kept out of the store (log target `audit.checkpoint`).
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn verify_against(&self, kept: &[SignedCheckpoint]) -> Result<Verdict, AuditError> {
        let status = self.0.status.borrow().clone();
        verify::verify(&self.0.store, &self.0.key, kept, Some(&status.head)).await
    }

    /// Whether entries can be written now: the readiness check. Says why not.
    ///
    /// # Errors
    /// The writer is stuck at a store that fails, or closed.
    pub fn ready(&self) -> Result<(), AuditError> {
        if self.0.queue.is_closed() {
            return Err(AuditError::Closed);
        }
        if self.0.status.borrow().stuck { Err(AuditError::Unavailable) } else { Ok(()) }
    }

    /// Writes everything that was taken in, signs a last checkpoint and stops. Bounded by some seconds when
    /// the store fails.
    pub async fn close(&self) {
        self.0.closing.send_replace(true);
        self.0.queue.closed().await;
        let mut status = self.0.status.clone();
        // An error means that the writer is gone, which is what is waited for.
        while status.changed().await.is_ok() {}
    }
}

/// Registers the log's metrics: for the generated reference, and once by [`Audit::start`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    AuditMetrics::register(registry);
}

#[cfg(test)]
mod tests;
