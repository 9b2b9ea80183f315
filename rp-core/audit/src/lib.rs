//! The audit log (`contract/rules.md` §3.9): entries in a hash chain per writer, written in groups, signed
//! checkpoints, search, and a check that finds what was removed, changed, reordered, cut off or re-made.
//!
//! [`Audit::promise`] gives a receipt when the entry is durable; [`Audit::queue`] accepts it and writes it
//! within 100 ms. An accepted entry is not dropped while the process lives.

mod batch;
mod bound;
mod checkpoint;
mod command;
mod copies;
mod cursor;
mod error;
mod export;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod key;
mod metrics;
mod options;
mod proof;
mod refusals;
mod report;
mod retention;
mod search;
mod spool;
mod tombstone;
mod verify;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Digest, Id, SharedClock, SharedRandom};
use rp_database::SharedStore;
use rp_documents::Entry;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OnceCell, mpsc, oneshot, watch};

pub use batch::BatchView;
pub use checkpoint::SignedCheckpoint;
pub use command::Command;
pub use copies::{CopiedTo, Copies};
pub use error::AuditError;
pub use export::{Export, verify_store};
pub use key::{CheckpointKey, public_key};
pub use options::AuditOptions;
pub use proof::{Proof, ProofCheckpoint, ProofHead, SinkState};
pub use report::{ActionReport, ElevationReport, EndReport, GrantReport, PersonReport, Report, ReportQuery};
pub use retention::{RETENTION, RetentionSummary};
pub use search::{EntryFilter, OldestFirst, Query, SearchLinesPage, SearchPage};
pub use tombstone::SignedTombstone;
pub use verify::{Finding, FindingKind, LineVerifier, Verdict};

use cursor::CursorKey;
use index::Index;
use index::heads::Heads;
use metrics::{AuditMetrics, RetentionMetrics};
use refusals::Refusals;
use retention::Retention;
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
    refusals: Refusals,
    clock: SharedClock,
    random: SharedRandom,
    heads: Heads,
    index: Arc<Index>,
    cursors: OnceCell<CursorKey>,
    copies: Option<Arc<dyn Copies>>,
    search_within: Duration,
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
        let heads = Heads::default();
        let random = options.random.clone();
        let rules = options.clone();
        let writer =
            Writer::open(store.clone(), clock.clone(), options, metrics.clone(), heads.clone()).await?;
        let (told, status) = watch::channel(writer.status());
        tokio::spawn(writer.run(queued, promised, closed.clone(), told));
        let index = Index::new(store.clone(), heads.clone());
        tokio::spawn(Arc::clone(&index).run(closed.clone()));
        let retention = Retention {
            store: store.clone(),
            clock: clock.clone(),
            key: key.clone(),
            copies: rules.copies.clone(),
            metrics: RetentionMetrics::register(&rules.registry),
        };
        let audit = Self(Arc::new(Inner {
            store,
            key,
            queue,
            promises,
            closing,
            status,
            metrics,
            refusals: Refusals::default(),
            clock,
            random,
            heads,
            index,
            cursors: OnceCell::new(),
            copies: rules.copies,
            search_within: rules.search_within,
        }));
        tokio::spawn(refusals::run(Arc::downgrade(&audit.0), closed.clone()));
        if let Some(limit) = rules.retention {
            let work = retention::run(audit.clone(), retention, limit, rules.retention_period, closed);
            tokio::spawn(work);
        }
        Ok(audit)
    }

    /// Writes an entry and waits until it is durable. An entry whose promise failed may still come to be
    /// written: it then tells of an attempt.
    ///
    /// # Errors
    /// [`AuditError::Unavailable`]: the store does not take entries now; refuse what was to be done.
    /// [`AuditError::Sink`]: a copy of the log takes nothing, and its policy is to refuse. [`AuditError::Closed`]: the
    /// process is stopping.
    pub async fn promise(&self, mut entry: Entry) -> Result<Receipt, AuditError> {
        let refusing = self.0.copies.as_ref().and_then(|copies| copies.refusing(self.0.clock.now()));
        if let Some(sink) = refusing {
            self.0.metrics.refused.inc();
            return Err(AuditError::Sink(sink));
        }
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

    /// Waits while the queue is full, so that a slow log slows actions down before they begin. It takes no place in the
    /// queue, because the duration of an action is chosen by the caller.
    ///
    /// # Errors
    /// [`AuditError::Closed`]: the process is stopping.
    pub async fn room(&self) -> Result<(), AuditError> {
        if self.0.queue.capacity() > 0 && !self.0.queue.is_closed() {
            return Ok(());
        }
        self.0.queue.reserve().await.map(drop).map_err(|_| AuditError::Closed)
    }

    /// Takes an entry in from where nothing can wait, such as a `Drop`, to be written within 100 ms. While the queue is
    /// full the entry waits in a task of its own: there is at most one for each action that was under way.
    pub fn settle(&self, mut entry: Entry) {
        bound::shorten(&mut entry);
        let lost = |error: AuditError| {
            tracing::error!(error = %rp_base::chain(&error), "the end of an action could not be audited");
        };
        match self.0.queue.try_send(entry) {
            Ok(()) => {}
            Err(TrySendError::Closed(_)) => lost(AuditError::Closed),
            Err(TrySendError::Full(entry)) => {
                let queue = self.0.queue.clone();
                tokio::spawn(async move {
                    if queue.send(entry).await.is_err() {
                        lost(AuditError::Closed);
                    }
                });
            }
        }
    }

    /// Who had access, why, and what they did; bounded to 200,000 entries and 20 s.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn report(&self, query: &ReportQuery) -> Result<Report, AuditError> {
        report::report(&self.0.index, query, self.proof()).await
    }

    /// Makes the search index anew from the batches; searches go on meanwhile, more slowly.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn rebuild_index(&self) -> Result<(), AuditError> {
        self.0.index.rebuild().await
    }

    pub(crate) fn new_id(&self) -> Id {
        Id::random(&*self.0.random)
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

    /// Whether entries go to the local disk, for the store is away: what is promised is kept, and comes into the store
    /// when it is there again.
    pub fn spooling(&self) -> bool {
        self.0.status.borrow().spooling
    }

    /// Writes everything that was taken in, signs a last checkpoint and stops. Bounded by some seconds when
    /// the store fails.
    pub async fn close(&self) {
        self.sum_refusals().await;
        self.0.closing.send_replace(true);
        self.0.queue.closed().await;
        let mut status = self.0.status.clone();
        // An error means that the writer is gone, which is what is waited for.
        while status.changed().await.is_ok() {}
        if let Some(copies) = &self.0.copies {
            copies.close().await;
        }
    }
}

/// Registers the log's metrics: for the generated reference, and once by [`Audit::start`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    AuditMetrics::register(registry);
    RetentionMetrics::register(registry);
}

#[cfg(test)]
mod tests;
