//! One pass of a schedule: what is planned for each cluster is compared with what should be.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use rp_base::Timestamp;
use rp_database::StoreError;
use rp_documents::maintenance::{Manifest, ManifestState, Plan, Problem, Rules, Turn, scheduled_id};
use rp_documents::{ManifestDocument, ScheduleDocument};
use rp_pool::Buckets;

use super::Scheduler;
use crate::ending::{self, TAKEN_BACK, is_own};

/// Clusters that are written for at once.
const PARALLEL: usize = 16;
/// Manifests of one turn that the scheduler itself took back and made again.
const MOST_REPEATS: u32 = 16;

/// One schedule at one moment.
pub(super) struct Pass<'a> {
    scheduler: &'a Scheduler,
    schedule: &'a Arc<ScheduleDocument>,
    rules: Rules,
    plan: Plan,
    now: Timestamp,
}

impl<'a> Pass<'a> {
    /// Reads the rules and plans the windows.
    ///
    /// # Errors
    /// The schedule is not valid.
    pub(super) fn new(
        scheduler: &'a Scheduler,
        schedule: &'a Arc<ScheduleDocument>,
        now: Timestamp,
    ) -> Result<Self, Problem> {
        let rules = schedule.maintenance_schedule.rules()?;
        let plan = Plan::new(&rules, now);
        if plan.is_empty() {
            tracing::info!(document = schedule.id, "the schedule has no window to come");
        }
        Ok(Self { scheduler, schedule, rules, plan, now })
    }

    /// Brings the manifests of the clusters of those buckets to what the schedule wants.
    ///
    /// # Errors
    /// The store's; what was written is written, and the next pass goes on.
    pub(super) async fn run(self, buckets: Buckets) -> Result<(), StoreError> {
        let clusters = self.clusters(buckets);
        let pass = &self;
        stream::iter(clusters)
            .map(Ok)
            .try_for_each_concurrent(PARALLEL, |(cluster, chosen)| async move {
                pass.cluster(&cluster, chosen).await
            })
            .await
    }

    /// Own clusters, each with whether the schedule chooses it. Those for which that cannot be said are left alone.
    fn clusters(&self, buckets: Buckets) -> Vec<(String, bool)> {
        let clusters = self.scheduler.caches.clusters.read();
        let subscriptions = self.scheduler.caches.subscriptions.read();
        let selectors = &self.schedule.maintenance_schedule.selectors;
        let mut chosen = Vec::new();
        for (key, cluster) in clusters.iter().filter(|(_, cluster)| buckets.contains(cluster.bucket)) {
            match cluster.is_chosen(selectors, &subscriptions) {
                Ok(matches) => chosen.push((key.clone(), matches)),
                Err(error) => {
                    tracing::error!(document = self.schedule.id, resource_id = key, error = %error, "a selector cannot be evaluated");
                }
            }
        }
        chosen
    }

    async fn cluster(&self, cluster: &str, chosen: bool) -> Result<(), StoreError> {
        let planned = self.scheduler.caches.open.read().future_of(cluster, &self.schedule.id, self.now);
        let turns: Vec<Turn> = if chosen { self.plan.turns(cluster).collect() } else { Vec::new() };
        let mut created = 0;
        for turn in turns.iter().filter(|turn| !planned.iter().any(|open| open.run_after == turn.at)) {
            let wanted = turn.is_new || self.was_stopped(cluster, *turn).await?;
            if wanted {
                created += usize::from(self.create(cluster, turn.at).await?);
            }
        }
        let mut cancelled = 0;
        for open in &planned {
            if !turns.iter().any(|turn| turn.at == open.run_after) {
                let taken = self.scheduler.take_back(&open.id, TAKEN_BACK, self.now).await?;
                cancelled += usize::from(taken);
            }
        }
        self.scheduler.tell("mimo.scheduler.manifests.created", "created", cluster, created);
        self.scheduler.tell("mimo.scheduler.manifests.cancelled", "cancelled", cluster, cancelled);
        Ok(())
    }

    /// Whether the turn was planned in a window that has begun, and was taken back because the schedule stopped then.
    async fn was_stopped(&self, cluster: &str, turn: Turn) -> Result<bool, StoreError> {
        if turn.window != self.schedule.rollout.window {
            return Ok(false);
        }
        let first =
            self.scheduler.manifests.get(&scheduled_id(&self.schedule.id, cluster, turn.at, 0)).await?;
        Ok(first.is_some_and(|found| is_own(&found.value.maintenance_manifest)))
    }

    /// Makes the manifest of a turn; `false`: it was decided already, by a run, or by a person who cancelled it.
    async fn create(&self, cluster: &str, turn: i64) -> Result<bool, StoreError> {
        let run_before =
            turn.saturating_add(i64::try_from(self.rules.start_within.as_secs()).unwrap_or(i64::MAX));
        for attempt in 0..MOST_REPEATS {
            let manifest = Manifest {
                maintenance_task_id: self.rules.task.id().to_owned(),
                created_by_schedule: self.schedule.id.clone(),
                run_after: turn,
                run_before,
                ..Manifest::default()
            };
            let id = scheduled_id(&self.schedule.id, cluster, turn, attempt);
            let document = ManifestDocument::new(id, cluster, manifest);
            match self.scheduler.manifests.create(document).await {
                Ok(made) => {
                    self.scheduler.caches.open.write().put(&made.value);
                    return Ok(true);
                }
                Err(StoreError::Exists { .. }) => {}
                Err(error) => return Err(error),
            }
            let id = scheduled_id(&self.schedule.id, cluster, turn, attempt);
            let found = self.scheduler.manifests.get(&id).await?;
            if !found.as_ref().is_some_and(|found| is_own(&found.value.maintenance_manifest)) {
                return Ok(false);
            }
        }
        Ok(false)
    }
}

impl Scheduler {
    /// Cancels a manifest that still waits for a time to come, with that text; whether it did.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn take_back(&self, id: &str, text: &str, now: Timestamp) -> Result<bool, StoreError> {
        let Some(found) = self.manifests.get(id).await? else { return Ok(false) };
        if found.value.maintenance_manifest.run_after <= now.seconds() {
            return Ok(false);
        }
        let ended = ending::end(&self.manifests, found, ManifestState::Cancelled, text, now).await?;
        if let Some(ended) = &ended {
            self.caches.open.write().put(ended);
        }
        Ok(ended.is_some())
    }
}
