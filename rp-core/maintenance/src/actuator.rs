//! The actuator: runs the manifests that are due on the clusters of its buckets (`contract/mimo.md` §4).
//!
//! One pass works on one cluster, under the lease of the cluster's document: so nothing of maintenance and no operation
//! runs there at the same time (`contract/mimo.md` "Do better" 3), no matter which process thinks to own the bucket.

mod outcome;
mod pass;
mod rollout;

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use rp_base::{SharedClock, chain};
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::{ClusterDocument, ManifestDocument, ScheduleDocument, SubscriptionDocument};
use rp_metrics::Statsd;
use rp_pool::Assignment;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::caches::Caches;
use crate::lease::Holder;
use crate::metrics::MaintenanceMetrics;
use crate::task::TaskRunner;

/// What every pass of a process shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: SharedStore,
    pub(crate) manifests: Typed<ManifestDocument>,
    pub(crate) schedules: Typed<ScheduleDocument>,
    pub(crate) clusters: Typed<ClusterDocument>,
    pub(crate) subscriptions: Typed<SubscriptionDocument>,
    pub(crate) caches: Caches,
    pub(crate) runner: Arc<dyn TaskRunner>,
    pub(crate) holder: Holder,
    pub(crate) settings: rp_config::Maintenance,
    pub(crate) metrics: MaintenanceMetrics,
    pub(crate) statsd: Statsd,
    pub(crate) clock: SharedClock,
    /// No new manifest, and the running comes to the end of its step.
    pub(crate) stopping: CancellationToken,
    /// What still runs is cut off.
    pub(crate) cut: CancellationToken,
}

/// The actuator of a process.
#[derive(Debug)]
pub(crate) struct Actuator {
    shared: Arc<Shared>,
    /// Clusters that a pass works on.
    busy: Arc<Mutex<HashSet<String>>>,
}

impl Actuator {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared: Arc::new(shared), busy: Arc::default() }
    }

    /// Works until `stop`: then takes nothing new, lets running tasks come to the end of their step and hands them on,
    /// and cuts what is left at the deadline.
    pub(crate) async fn run(self, assignment: watch::Receiver<Assignment>, stop: CancellationToken) {
        let mut passes = JoinSet::new();
        let settings = &self.shared.settings;
        let mut tick = interval(settings.poll);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut emitted = Instant::now();
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                Some(ended) = passes.join_next() => {
                    self.ended(ended, passes.len());
                    continue;
                }
                () = stop.cancelled() => break,
            }
            let emit = emitted.elapsed() >= settings.emit_interval;
            if emit {
                emitted = Instant::now();
            }
            if let Err(error) = self.look(&assignment, &mut passes, emit).await {
                tracing::error!(error = %chain(&error), "manifests that are due could not be looked for");
            }
        }
        self.shared.stopping.cancel();
        tracing::info!(count = passes.len(), "maintenance stops");
        if timeout(settings.drain, join_all(&mut passes)).await.is_err() {
            tracing::warn!(count = passes.len(), "running tasks are cut off; others go on with them");
            self.shared.cut.cancel();
            if timeout(settings.lease, join_all(&mut passes)).await.is_err() {
                tracing::error!(count = passes.len(), "leases were not given back: they run out");
            }
        }
        passes.shutdown().await;
    }

    /// Starts a pass for each own cluster with something due, as many as there are free workers.
    async fn look(
        &self,
        assignment: &watch::Receiver<Assignment>,
        passes: &mut JoinSet<()>,
        emit: bool,
    ) -> Result<(), StoreError> {
        let now = self.shared.store.now().await?;
        let buckets = assignment.borrow().buckets(Instant::now());
        let due: Vec<String> = {
            let (clusters, open) = (self.shared.caches.clusters.read(), self.shared.caches.open.read());
            let due = open.due(now);
            let waits = due.first().map_or(0, |(since, _)| now.seconds().saturating_sub(*since));
            let length = open.count_due(now);
            self.shared.metrics.queue.set_count(length);
            self.shared.metrics.oldest.set_count(usize::try_from(waits).unwrap_or_default());
            if emit {
                let length = i64::try_from(length).unwrap_or(i64::MAX);
                self.shared.statsd.gauge("database.maintenancemanifests.queue.length", length, &[]);
            }
            let own = |key: &str| buckets.contains(clusters.bucket(key));
            due.into_iter().filter(|(_, key)| own(key)).map(|(_, key)| key.to_owned()).collect()
        };
        for cluster in due {
            if passes.len() >= self.shared.settings.workers {
                break;
            }
            if self.busy.lock().insert(cluster.clone()) {
                let (shared, busy) = (Arc::clone(&self.shared), Arc::clone(&self.busy));
                passes.spawn(async move {
                    let _freed = Freed { busy, cluster: cluster.clone() };
                    if let Err(error) = pass::maintain(&shared, &cluster).await {
                        tracing::error!(resource_id = cluster, error = %chain(&error), "maintenance of a cluster did not reach the store");
                    }
                });
                self.count(passes.len());
            }
        }
        Ok(())
    }

    fn ended(&self, ended: Result<(), tokio::task::JoinError>, running: usize) {
        log_panic(ended);
        self.count(running);
    }

    fn count(&self, running: usize) {
        self.shared.metrics.workers.set_count(running);
        let count = i64::try_from(running).unwrap_or(i64::MAX);
        self.shared.statsd.gauge("mimo.actuator.workers.active.count", count, &[]);
    }
}

/// Frees the cluster for the next pass, also after a panic.
struct Freed {
    busy: Arc<Mutex<HashSet<String>>>,
    cluster: String,
}

impl Drop for Freed {
    fn drop(&mut self) {
        self.busy.lock().remove(&self.cluster);
    }
}

async fn join_all(passes: &mut JoinSet<()>) {
    while let Some(ended) = passes.join_next().await {
        log_panic(ended);
    }
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(error = %chain(&error), "a pass of maintenance panicked: its leases run out, then it is repeated");
    }
}
