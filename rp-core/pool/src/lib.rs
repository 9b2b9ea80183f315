//! Ownership of buckets: one protocol for every kind of worker (`contract/monitor.md` §3,
//! `contract/database.md` §6.4).
//!
//! Each process renews its own document to show that it is alive. One, the master, holds the lease of the document
//! named after the worker type and writes the owners of all buckets into it. The store's clock decides; where it jumps,
//! a process relies on its own observations ([`liveness`]).

mod balance;
mod buckets;
mod liveness;
mod member;
#[cfg(test)]
mod tests;
mod times;

use std::sync::Arc;
use std::time::Duration;

use rp_base::{Random, chain};
use rp_database::{SharedStore, StoreError};
use rp_metrics::{Counter, Family, Gauge, Registry, labels, metrics};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

pub use balance::{balance, moved};
pub use buckets::Buckets;
use member::Member;
pub use times::PoolTimes;

/// Timeout for giving up buckets and lease at a clean stop.
const FAREWELL: Duration = Duration::from_secs(5);

/// The kind of worker of a pool; the name is in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerType(pub &'static str);

impl WorkerType {
    pub const MONITOR: Self = Self("monitor");
    pub const MIMO_ACTUATOR: Self = Self("mimo-actuator");
    pub const MIMO_SCHEDULER: Self = Self("mimo-scheduler");
}

/// Why a pass of the loop failed.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No master has assigned buckets yet.
    #[error("bucket allocation not initialized")]
    NotInitialized,
    #[error("the store did not answer within {0:?}")]
    Slow(Duration),
}

/// The buckets of this process, and until when they are valid without contact to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    buckets: Buckets,
    read: Option<Instant>,
    until: Instant,
    pub master: bool,
}

impl Assignment {
    /// No buckets.
    pub fn none() -> Self {
        Self { buckets: Buckets::none(), read: None, until: Instant::now(), master: false }
    }

    /// The current buckets: none when our own document must have expired.
    pub fn buckets(&self, now: Instant) -> Buckets {
        if now < self.until { self.buckets } else { Buckets::none() }
    }

    /// When [`Assignment::buckets`] becomes empty without contact to the store.
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// When it was last read from the store.
    pub const fn read(&self) -> Option<Instant> {
        self.read
    }
}

labels! {
    /// Which pool.
    pub struct PoolLabels { worker_type: &'static str }
}
metrics! {
    /// How buckets are shared (`contract/metrics.md` "Do better" 11).
    pub struct PoolMetrics("aro_pool") {
        /// 1 in the process that shares out the buckets.
        pub master: Family<PoolLabels, Gauge> = "master";
        /// Buckets that this process owns.
        pub buckets: Family<PoolLabels, Gauge> = "buckets";
        /// Buckets that nobody owns, as last read.
        pub unowned: Family<PoolLabels, Gauge> = "unowned_buckets";
        /// When it was last read who owns what, in Unix seconds of the store's clock.
        pub assignment: Family<PoolLabels, Gauge> = "assignment_timestamp_seconds";
        /// Workers that live, as the master sees them; 0 elsewhere.
        pub workers: Family<PoolLabels, Gauge> = "workers";
        /// Times that this process, as master, gave buckets to others.
        pub rebalances: Family<PoolLabels, Counter> = "rebalances_total";
        /// Buckets that this process, as master, gave to others.
        pub moved: Family<PoolLabels, Counter> = "buckets_moved_total";
        /// Passes of the loop that failed.
        pub failures: Family<PoolLabels, Counter> = "failures_total";
    }
}

/// The parameters of a pool.
#[derive(Debug, Clone)]
pub struct PoolParts {
    pub store: SharedStore,
    pub worker_type: WorkerType,
    pub times: PoolTimes,
    pub random: Arc<dyn Random>,
    pub registry: Registry,
}

/// The membership of one process in a pool.
#[derive(Debug)]
pub struct Pool {
    id: Arc<str>,
    assignment: watch::Receiver<Assignment>,
    leave: CancellationToken,
    task: JoinHandle<()>,
}

impl Pool {
    /// Joins: creates the master's document if it is missing and starts the loop with an immediate pass.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn join(parts: PoolParts) -> Result<Self, PoolError> {
        let times = parts.times.capped();
        let member = Member::new(&parts, times);
        member.create_master().await?;
        let id: Arc<str> = member.id().into();
        let (tell, assignment) = watch::channel(Assignment::none());
        let leave = CancellationToken::new();
        let task = tokio::spawn(run(member, times, tell, leave.clone()));
        Ok(Self { id, assignment, leave, task })
    }

    /// The UUID of this worker.
    pub fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }

    /// The assignment of this process, as it changes.
    pub fn assignment(&self) -> watch::Receiver<Assignment> {
        self.assignment.clone()
    }

    /// Leaves: the assignment becomes empty, and document and lease are given up at once, so that others get the
    /// buckets with the master's next pass. Does not wait for a store that does not respond.
    pub async fn leave(self) {
        self.leave.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(error = %chain(&error), "the bucket loop ended in a panic");
        }
    }
}

async fn run(
    mut member: Member,
    times: PoolTimes,
    tell: watch::Sender<Assignment>,
    leave: CancellationToken,
) {
    let mut tick = interval(times.interval);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The assignment must expire even while the store hangs.
    let patience = times.ttl / 2;
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            () = leave.cancelled() => break,
        }
        let began = Instant::now();
        let passed = tokio::select! {
            passed = timeout(patience, member.pass(began)) => passed.unwrap_or(Err(PoolError::Slow(patience))),
            () = leave.cancelled() => break,
        };
        match passed {
            Ok((buckets, master)) => {
                let assignment = Assignment { buckets, read: Some(began), until: began + times.ttl, master };
                tell.send_if_modified(|held| {
                    let news =
                        held.buckets != buckets || held.master != master || held.until < Instant::now();
                    if news {
                        tracing::info!(
                            buckets = buckets.len(),
                            master,
                            "servicing {} buckets",
                            buckets.len()
                        );
                    }
                    *held = assignment;
                    // Receivers need the new expiry as well.
                    true
                });
            }
            Err(error) => {
                member.failed();
                tracing::error!(error = %chain(&error), "buckets could not be read; what was ours stays so until our document has expired");
            }
        }
    }
    tell.send_replace(Assignment::none());
    if timeout(FAREWELL, member.leave(Instant::now())).await.is_err() {
        tracing::warn!("the other workers were not told of our end: they notice when our document expires");
    }
}
