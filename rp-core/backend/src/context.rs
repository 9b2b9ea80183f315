//! What every worker of a process shares.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{SharedClock, SharedRandom};
use rp_cluster::Manager;
use rp_database::{SharedStore, Stored, Version};
use rp_metrics::Statsd;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::claim_cache::ClaimCache;
use crate::kind::Kind;
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::time::StoreTime;

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) store: SharedStore,
    pub(crate) clock: SharedClock,
    pub(crate) random: SharedRandom,
    pub(crate) manager: Arc<dyn Manager>,
    pub(crate) settings: rp_config::Backend,
    pub(crate) metrics: Metrics,
    pub(crate) statsd: Statsd,
    pub(crate) time: StoreTime,
    /// The domain of clusters without one of their own.
    pub(crate) domain: String,
    /// Names this run of this process in leases; no two are the same.
    pub(crate) owner: String,
    pub(crate) clusters: Mutex<Queue>,
    pub(crate) subscriptions: Mutex<Queue>,
    /// Of documents that wait.
    pub(crate) claims: ClaimCache,
    /// Something may have become ready.
    pub(crate) wake: Notify,
    /// No new work, and the running comes to the end of its step.
    pub(crate) stopping: CancellationToken,
    /// What still runs is cut off.
    pub(crate) cut: CancellationToken,
}

impl Context {
    pub(crate) const fn queue(&self, kind: Kind) -> &Mutex<Queue> {
        match kind {
            Kind::Cluster => &self.clusters,
            Kind::Subscription => &self.subscriptions,
        }
    }

    /// Puts a document as it stands into its queue, or out of it; gives its owner. Free ones are due after `spread`.
    pub(crate) fn observe(
        &self,
        kind: Kind,
        stored: &Stored,
        now: Instant,
        spread: Duration,
    ) -> Option<String> {
        let seen = kind.work_state(&stored.body).unwrap_or_else(|error| {
            tracing::error!(document = stored.id, %error, "a document cannot be read: nobody works on it");
            None
        });
        let Some(seen) = seen else {
            self.work_ended(kind, &stored.id, Some(stored.version));
            return None;
        };
        let mut queue = self.queue(kind).lock();
        let lease = self.settings.lease + Duration::from_secs(1);
        let wait = if seen.owner.is_empty() {
            seen.wait(self.time.now(), self.settings.retry_most)
        } else if queue.contains(&stored.id) {
            // It was just written: its owner lives, whatever a clock that jumped says of the end.
            lease
        } else {
            seen.wait(self.time.now(), lease)
        };
        let free = seen.owner.is_empty() && wait.is_zero();
        let cached = if free { self.claims.insert(stored) } else { None };
        queue.observe(&stored.id, seen.observation(stored, now + wait + spread, cached), now);
        Some(seen.owner)
    }

    /// A document has no work any more, or is gone: its subscription may wait for that.
    pub(crate) fn work_ended(&self, kind: Kind, id: &str, version: Option<Version>) {
        let mut queue = self.queue(kind).lock();
        let Some(subscription) = queue.forget(id, version) else { return };
        drop(queue);
        if kind == Kind::Cluster {
            self.subscriptions.lock().nudge(&subscription, Instant::now());
        }
    }
}
