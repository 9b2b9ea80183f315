//! The observer of a process: viewers, watches, and how long both are kept.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{SharedClock, SharedRandom};
use rp_documents::ResourceId;
use rp_metrics::Registry;
use rp_net::{Budget, Dialer, Directory};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::follow;
use crate::kinds::Kind;
use crate::metrics::{KindLabels, ObserveMetrics};
use crate::snapshot::{DisplayText, SliceState};
use crate::watch_guard::WatchGuard;

/// Concurrent lists of the process.
const LISTS: usize = 32;

/// Limits and timeouts of an observer.
#[derive(Debug, Clone, Copy)]
pub struct ObserveLimits {
    /// How long a watch continues after the last viewer left.
    pub linger: Duration,
    /// Maximum number of clusters with viewers.
    pub clusters: usize,
    /// Maximum number of clusters without viewers whose last known state is kept.
    pub kept: usize,
    /// Minimum time between two notifications of one cluster.
    pub every: Duration,
    /// For dialling and the TLS handshake.
    pub dial: Duration,
    /// Timeout for the response head, and for a pause inside a page.
    pub head: Duration,
    /// A watch that is silent for this long is reopened; API servers send a bookmark every minute.
    pub silence: Duration,
    /// Timeout that the server is asked to apply to a watch.
    pub watch: Duration,
    /// Delay before a retry after a 403, or when the kind is not served.
    pub ask_again: Duration,
    /// Longest delay between two tries to reach a cluster that is unreachable.
    pub longest_back_off: Duration,
    /// Page size of lists.
    pub page: usize,
}

impl Default for ObserveLimits {
    fn default() -> Self {
        Self {
            linger: Duration::from_secs(30),
            clusters: 300,
            kept: 100,
            every: Duration::from_millis(250),
            dial: Duration::from_secs(5),
            head: Duration::from_secs(20),
            silence: Duration::from_secs(30),
            watch: Duration::from_secs(290),
            ask_again: Duration::from_secs(60),
            longest_back_off: Duration::from_secs(15),
            page: 500,
        }
    }
}

/// The dependencies of an [`Observer`].
#[derive(Debug, Clone)]
pub struct ObserverParts {
    pub dialer: Dialer,
    pub directory: Arc<dyn Directory>,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    /// Shared with the other clients of clusters.
    pub budget: Budget,
    pub limits: ObserveLimits,
}

/// Watches objects while they have viewers. Cheap to clone; must be created inside a runtime.
#[derive(Clone)]
pub struct Observer(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) parts: ObserverParts,
    clusters: Mutex<HashMap<ResourceId, Arc<Cluster>>>,
    /// Semaphore for concurrent lists of this process.
    pub(crate) lists: Arc<Semaphore>,
    pub(crate) metrics: ObserveMetrics,
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("clusters", &self.0.clusters.lock().len()).finish_non_exhaustive()
    }
}

impl Observer {
    /// Starts the housekeeping, which ends with the last clone.
    pub fn new(parts: ObserverParts) -> Self {
        let metrics = ObserveMetrics::register(&parts.registry);
        let sweep = (parts.limits.linger / 4).clamp(Duration::from_millis(20), Duration::from_secs(5));
        let inner = Arc::new(Inner {
            parts,
            clusters: Mutex::default(),
            lists: Arc::new(Semaphore::new(LISTS)),
            metrics,
        });
        let weak = Arc::downgrade(&inner);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(sweep).await;
                let Some(inner) = weak.upgrade() else { return };
                inner.sweep();
            }
        });
        Self(inner)
    }

    /// Watches some kinds of a cluster. The watches start with the first viewer and are shared by all; they end a
    /// while after the last [`WatchGuard`] is dropped. Never waits and never fails: errors are states of the slices.
    pub fn watch(&self, id: &ResourceId, kinds: &[Kind]) -> WatchGuard {
        let kinds: Vec<Kind> = kinds.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let inner = &self.0;
        let (cluster, fresh, refused) = inner.enter(id, &kinds);
        for kind in &kinds {
            inner.metrics.viewers.with(&KindLabels { kind: *kind }).add(1.0);
        }
        cluster.start_notifier(inner.parts.limits.every);
        for (kind, stop) in fresh {
            if refused {
                let why = DisplayText::new("Too many clusters are looked at; try again in a minute.");
                follow::set_state(&cluster, kind, inner.parts.clock.now(), &SliceState::Failed(why));
                cluster.forget(kind);
            } else {
                follow::start(inner, &cluster, kind, stop);
            }
        }
        WatchGuard { cluster, kinds, metrics: inner.metrics.clone() }
    }

    /// The last known snapshot of a cluster; sends no request.
    pub fn last_known(&self, id: &ResourceId) -> Option<Arc<crate::ClusterSnapshot>> {
        self.0.clusters.lock().get(id).map(|cluster| cluster.snapshot())
    }
}

impl Inner {
    /// The cluster, with the viewer counted under the lock of the map: housekeeping cannot remove it in between.
    fn enter(&self, id: &ResourceId, kinds: &[Kind]) -> (Arc<Cluster>, Vec<(Kind, CancellationToken)>, bool) {
        let mut clusters = self.clusters.lock();
        let watched = clusters.values().filter(|cluster| cluster.viewers() > 0).count();
        let known = clusters.get(id).is_some_and(|cluster| cluster.viewers() > 0);
        let cluster = clusters
            .entry(id.clone())
            .or_insert_with(|| Arc::new(Cluster::new(id.clone(), self.parts.clock.now())));
        let cluster = Arc::clone(cluster);
        let fresh = cluster.enter(kinds);
        self.metrics.clusters.set_count(clusters.len());
        (cluster, fresh, !known && watched >= self.parts.limits.clusters)
    }

    /// The cluster, for a request without a watch.
    pub(crate) fn cluster(&self, id: &ResourceId) -> Arc<Cluster> {
        self.enter(id, &[]).0
    }

    fn sweep(&self) {
        let mut clusters = self.clusters.lock();
        for cluster in clusters.values() {
            for kind in cluster.sweep(self.parts.limits.linger) {
                let since = self.parts.clock.now();
                let why = DisplayText::new("Nobody looked.");
                follow::set_state(cluster, kind, since, &SliceState::Stale { since, why });
            }
        }
        let mut unseen: Vec<_> = clusters
            .values()
            .filter_map(|cluster| Some((cluster.unseen_since()?, cluster.id.clone())))
            .collect();
        for (_, id) in &unseen {
            if let Some(cluster) = clusters.get(id) {
                cluster.disconnect();
            }
        }
        unseen.sort_by_key(|(left, _)| *left);
        let over = unseen.len().saturating_sub(self.parts.limits.kept);
        for (_, id) in unseen.into_iter().take(over) {
            if let Some(cluster) = clusters.remove(&id) {
                follow::uncount(&self.metrics, &cluster.snapshot());
            }
        }
        self.metrics.clusters.set_count(clusters.len());
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for cluster in self.clusters.get_mut().values() {
            cluster.sweep_all();
        }
    }
}
