//! One per process: who looks at what, and for how long it is kept.

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
use crate::snapshot::{Shown, SliceState};
use crate::viewing::Viewing;

/// Lists that are read at once.
const LISTS: usize = 32;

/// How much is watched and how long is waited.
#[derive(Debug, Clone, Copy)]
pub struct ObserveLimits {
    /// A watch goes on for so long after the last viewer left.
    pub linger: Duration,
    /// Clusters at which somebody looks.
    pub clusters: usize,
    /// Clusters of which the last known state is kept after everybody left.
    pub kept: usize,
    /// Between two tellings of changes of one cluster.
    pub every: Duration,
    /// For dialling and the TLS handshake.
    pub dial: Duration,
    /// For the head of an answer, and for silence inside a page.
    pub head: Duration,
    /// A watch that is silent for so long is opened anew; API servers send a bookmark every minute.
    pub silence: Duration,
    /// The server is told to end a watch after so long.
    pub watch: Duration,
    /// After a 403, or when the kind is not served.
    pub ask_again: Duration,
    /// Longest wait between two tries to reach a cluster that is away.
    pub longest_back_off: Duration,
    /// Objects on a page of a list.
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

/// What an [`Observer`] is made of.
#[derive(Debug, Clone)]
pub struct ObserverParts {
    pub dialer: Dialer,
    pub directory: Arc<dyn Directory>,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    /// Shared with whatever else asks clusters.
    pub budget: Budget,
    pub limits: ObserveLimits,
}

/// Watches what somebody looks at. Cheap to clone; made inside a runtime.
#[derive(Clone)]
pub struct Observer(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) parts: ObserverParts,
    clusters: Mutex<HashMap<ResourceId, Arc<Cluster>>>,
    /// Lists at once in this process.
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

    /// Looks at some kinds of a cluster. The watches start with the first who looks and are shared by all; they end a
    /// while after the last [`Viewing`] is dropped. Never waits and never fails: what is wrong stands in the slices.
    pub fn watch(&self, id: &ResourceId, kinds: &[Kind]) -> Viewing {
        let kinds: Vec<Kind> = kinds.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let inner = &self.0;
        let (cluster, fresh, refused) = inner.enter(id, &kinds);
        for kind in &kinds {
            inner.metrics.viewers.with(&KindLabels { kind: *kind }).add(1.0);
        }
        cluster.tell(inner.parts.limits.every);
        for (kind, stop) in fresh {
            if refused {
                let why = Shown::new("Too many clusters are looked at; try again in a minute.");
                follow::set_state(&cluster, kind, inner.parts.clock.now(), &SliceState::Failed(why));
                cluster.forget(kind);
            } else {
                follow::start(inner, &cluster, kind, stop);
            }
        }
        Viewing { cluster, kinds, metrics: inner.metrics.clone() }
    }

    /// What is known of a cluster without looking at it: nothing is asked.
    pub fn last_known(&self, id: &ResourceId) -> Option<Arc<crate::ClusterSnapshot>> {
        self.0.clusters.lock().get(id).map(|cluster| cluster.snapshot())
    }
}

impl Inner {
    /// The cluster, with the viewer counted while the map is held: housekeeping cannot take it away in between.
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

    /// The cluster, for a question without a watch.
    pub(crate) fn cluster(&self, id: &ResourceId) -> Arc<Cluster> {
        self.enter(id, &[]).0
    }

    fn sweep(&self) {
        let mut clusters = self.clusters.lock();
        for cluster in clusters.values() {
            for kind in cluster.sweep(self.parts.limits.linger) {
                let since = self.parts.clock.now();
                let why = Shown::new("Nobody looked.");
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
