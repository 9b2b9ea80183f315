//! The scheduler: keeps the manifests of every schedule for the clusters of its buckets (`contract/mimo.md` §6).

mod pass;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedRandom, Timestamp, chain};
use rp_database::{SharedStore, StoreError, Typed, Version};
use rp_documents::{ManifestDocument, ScheduleDocument};
use rp_metrics::Statsd;
use rp_pool::{Assignment, Buckets};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::caches::Caches;
use crate::ending::{STOPPED, TAKEN_BACK};
use crate::metrics::{ActionLabels, MaintenanceMetrics};

/// The scheduler of a process.
#[derive(Debug)]
pub(crate) struct Scheduler {
    pub(crate) store: SharedStore,
    pub(crate) manifests: Typed<ManifestDocument>,
    pub(crate) schedules: Typed<ScheduleDocument>,
    pub(crate) caches: Caches,
    pub(crate) settings: rp_config::Maintenance,
    pub(crate) metrics: MaintenanceMetrics,
    pub(crate) statsd: Statsd,
    pub(crate) random: SharedRandom,
}

/// The last pass of a schedule.
#[derive(Debug, Clone, Copy)]
struct LastPass {
    version: Version,
    buckets: Buckets,
    at: Timestamp,
    /// Until the next one, when nothing changes.
    again: Duration,
}

impl LastPass {
    /// Whether the schedule is to be worked through: it or our buckets changed, the time is over, or the clock went back.
    fn is_over(&self, version: Version, buckets: Buckets, now: Timestamp) -> bool {
        self.version != version
            || self.buckets != buckets
            || now < self.at
            || now.since(self.at) >= self.again
    }
}

impl Scheduler {
    /// Works until `stop`. A pass that is under way ends with the manifest that it writes.
    pub(crate) async fn run(self, assignment: watch::Receiver<Assignment>, stop: CancellationToken) {
        let mut tick = interval(self.settings.schedule_poll);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut passes = HashMap::new();
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                () = stop.cancelled() => return,
            }
            let looked = tokio::select! {
                looked = self.look(&assignment, &mut passes) => looked,
                () = stop.cancelled() => return,
            };
            if let Err(error) = looked {
                self.metrics.failures.inc();
                tracing::error!(error = %chain(&error), "schedules could not be worked through");
            }
        }
    }

    async fn look(
        &self,
        assignment: &watch::Receiver<Assignment>,
        passes: &mut HashMap<String, LastPass>,
    ) -> Result<(), StoreError> {
        let buckets = assignment.borrow().buckets(Instant::now());
        let now = self.store.now().await?;
        self.take_back_orphans(buckets, now).await?;
        let schedules = self.caches.schedules.read().all();
        passes.retain(|id, _| schedules.iter().any(|(_, schedule)| schedule.id == *id));
        for (version, schedule) in schedules {
            if !schedule.is_active() {
                passes.remove(&schedule.id);
                continue;
            }
            let last = passes.get(&schedule.id);
            if !last.is_none_or(|last| last.is_over(version, buckets, now)) {
                continue;
            }
            self.statsd.gauge("mimo.scheduler.workers.active.count", 1, &[]);
            let passed = self.pass(&schedule, buckets, now).await;
            self.statsd.gauge("mimo.scheduler.workers.active.count", 0, &[]);
            passed?;
            let again = self.settings.schedule_again.mul_f64(1.0 + self.random.unit());
            passes.insert(schedule.id.clone(), LastPass { version, buckets, at: now, again });
        }
        Ok(())
    }

    /// Works through one schedule for the clusters of those buckets.
    async fn pass(
        &self,
        schedule: &Arc<ScheduleDocument>,
        buckets: Buckets,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match pass::Pass::new(self, schedule, now) {
            Ok(pass) => pass.run(buckets).await,
            Err(problem) => {
                // Written before the rules of today, or by another release.
                tracing::error!(document = schedule.id, error = %problem, "a schedule cannot be used");
                Ok(())
            }
        }
    }

    /// Cancels what schedules planned that are disabled, stopped or gone (`contract/mimo.md` "Do better" 12).
    async fn take_back_orphans(&self, buckets: Buckets, now: Timestamp) -> Result<(), StoreError> {
        let orphans: Vec<_> = {
            let (open, clusters) = (self.caches.open.read(), self.caches.clusters.read());
            let schedules = self.caches.schedules.read();
            let active = |id: &str| schedules.get(id).is_some_and(|found| found.is_active());
            let own = |cluster: &str| buckets.contains(clusters.bucket(cluster));
            open.future(now).filter(|open| own(&open.cluster) && !active(&open.schedule)).cloned().collect()
        };
        let mut checked: HashMap<String, Option<&str>> = HashMap::new();
        for orphan in orphans {
            let why = match checked.get(&orphan.schedule) {
                Some(why) => *why,
                // The cache may be behind the one that another scheduler went by.
                None => {
                    let found = self.schedules.get(&orphan.schedule).await?;
                    let why = why_orphaned(found.map(|found| found.value).as_ref());
                    checked.insert(orphan.schedule.clone(), why);
                    why
                }
            };
            if let Some(why) = why
                && self.take_back(&orphan.id, why, now).await?
            {
                self.tell("mimo.scheduler.manifests.cancelled", "cancelled", &orphan.cluster, 1);
            }
        }
        Ok(())
    }

    fn tell(&self, name: &str, action: &'static str, cluster: &str, count: usize) {
        if count == 0 {
            return;
        }
        self.metrics.manifests.with(&ActionLabels { action }).add(u64::try_from(count).unwrap_or(u64::MAX));
        let part = |at: usize| cluster.split('/').nth(at).unwrap_or_default();
        let dimensions = [
            ("resourceId", cluster),
            ("subscriptionId", part(2)),
            ("resourceGroup", part(4)),
            ("resourceName", part(8)),
        ];
        self.statsd.gauge(name, i64::try_from(count).unwrap_or(i64::MAX), &dimensions);
    }
}

/// The text of manifests that their schedule does not want any more; `None`: it does.
fn why_orphaned(schedule: Option<&ScheduleDocument>) -> Option<&'static str> {
    match schedule {
        Some(found) if found.is_active() => None,
        Some(found) if found.rollout.has_stopped() => Some(STOPPED),
        Some(_) | None => Some(TAKEN_BACK),
    }
}

#[cfg(test)]
mod tests;
