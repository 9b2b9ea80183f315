//! Schedules that stop: a failure of what a schedule made is added to it, and of one that stopped nothing begins.

use rp_base::Timestamp;
use rp_database::{StoreError, Versioned, update_if};
use rp_documents::maintenance::{ClusterFailure, ManifestState};
use rp_documents::{ManifestDocument, ScheduleDocument};

use super::Shared;
/// Adds a failure to the schedule that made the manifest, if it has one that stops at failures. A process that dies after
/// this and runs the task again adds nothing twice.
///
/// # Errors
/// The store's.
pub(super) async fn add_failure(shared: &Shared, document: &ManifestDocument) -> Result<(), StoreError> {
    let manifest = &document.maintenance_manifest;
    let (id, cluster) = (manifest.created_by_schedule.as_str(), document.cluster_resource_id.as_str());
    if id.is_empty() {
        return Ok(());
    }
    let now = shared.store.now().await?;
    let add = |mut found: Versioned<ScheduleDocument>| {
        let schedule = &found.value.maintenance_schedule;
        let rules = schedule.rules().ok()?;
        let stop_at = rules.stop_at?;
        let window = Timestamp::from_seconds(manifest.run_after) - rules.spread.offset(cluster);
        let of = shared.caches.begun(schedule, &rules.spread, now.since(window));
        let failure = ClusterFailure { cluster, window: window.seconds(), of };
        found.value.rollout.add(failure, stop_at, now).then_some(found)
    };
    match update_if(&shared.schedules, id, add).await {
        Ok(Some(added)) if added.value.rollout.has_stopped() => {
            shared.metrics.schedules_stopped.inc();
            tracing::error!(
                document = id,
                failed = added.value.rollout.failed.len(),
                of = added.value.rollout.of,
                "a schedule stopped: its task failed on too many clusters"
            );
            Ok(())
        }
        Ok(_) | Err(StoreError::Gone { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether a schedule that stopped made the manifest, and it has not begun.
pub(super) fn is_held_back(shared: &Shared, document: &ManifestDocument) -> bool {
    let manifest = &document.maintenance_manifest;
    let schedules = shared.caches.schedules.read();
    manifest.state == ManifestState::Pending
        && manifest.started == 0
        && schedules.get(&manifest.created_by_schedule).is_some_and(|found| found.rollout.has_stopped())
}
