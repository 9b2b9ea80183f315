//! The guard that a viewer holds.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::cluster::Cluster;
use crate::kinds::Kind;
use crate::metrics::{KindLabels, ObserveMetrics};
use crate::snapshot::ClusterSnapshot;

/// How long to wait for fresh data when older data is known.
const MOMENT: Duration = Duration::from_millis(250);

/// Keeps the watches of some kinds of a cluster running while it is held.
#[derive(Debug)]
pub struct WatchGuard {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) metrics: ObserveMetrics,
}

impl WatchGuard {
    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<ClusterSnapshot> {
        self.cluster.snapshot()
    }

    /// Changes when the snapshot changed, at most a few times a second.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.cluster.changed()
    }

    /// The watched kinds.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Waits until every kind has a result, data or error; at most for `longest`, and only briefly where
    /// older data can be shown.
    pub async fn settled(&self, longest: Duration) -> Arc<ClusterSnapshot> {
        let began = Instant::now();
        let deadline = began + longest;
        let mut changed = self.changed();
        loop {
            let snapshot = self.snapshot();
            let open: Vec<_> = self.kinds.iter().map(|kind| snapshot.summary(*kind)).collect();
            let open: Vec<_> = open.into_iter().filter(|each| !each.state.is_settled()).collect();
            if open.is_empty() {
                return snapshot;
            }
            let moment = open.iter().all(|each| each.as_of.is_some());
            let deadline = if moment { deadline.min(began + MOMENT) } else { deadline };
            if !matches!(timeout_at(deadline, changed.changed()).await, Ok(Ok(()))) {
                return self.snapshot();
            }
        }
    }
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.cluster.leave(&self.kinds);
        for kind in &self.kinds {
            self.metrics.viewers.with(&KindLabels { kind: *kind }).add(-1.0);
        }
    }
}
