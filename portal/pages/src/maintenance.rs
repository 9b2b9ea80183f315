//! `/maintenance`: the maintenance of all clusters, from what the portal keeps in memory of it.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::fleet_maintenance::LATELY;
use portal_model::fleet_schedules::{ScheduleStanding, next_window};
use portal_model::index::{Entry, Snapshot};
use portal_model::maintenance::task_name;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use rp_base::Timestamp;
use rp_documents::maintenance::{ManifestState, Rollout, Schedule};
use rp_documents::{ManifestDocument, ScheduleDocument};
use web::objects::{ManifestProgress, ManifestRow, ScheduleProgress, ScheduleRow};
use web::{MaintenancePage, ManifestList, NavItem};

use crate::answer::answer;
use crate::fleet_lists::{FleetListQuery, ROWS, cluster_link, name_of};
use crate::frame::frame;

/// Clusters that a schedule names of those that failed.
const NAMED: usize = 5;

/// The maintenance of all clusters.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Query(asked): Query<FleetListQuery>,
) -> Result<Response, Fault> {
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Maintenance;
    let words = asked.words();
    let found = state.model.maintenance.select(|one| words.iter().all(|word| has(one, word)));
    let snapshot = state.model.index.snapshot();
    let list = |all: &[Arc<ManifestDocument>]| ManifestList {
        rows: all.iter().take(ROWS).map(|one| fleet_row(one, &snapshot)).collect(),
        all: u64::try_from(all.len()).unwrap_or(u64::MAX),
    };
    let (schedules, all_read) = state.model.schedules.all();
    let now = Timestamp::from_seconds(frame.now);
    let page = MaintenancePage {
        running: list(&found.running),
        failed: list(&found.failed),
        waiting: list(&found.waiting),
        schedules: schedules.iter().map(|one| schedule_row(one, now)).collect(),
        days: LATELY.as_secs() / 86_400,
        incomplete: !found.complete || !all_read,
        failure: None,
        q: asked.text(),
        frame,
    };
    answer(&context, StatusCode::OK, &page)
}

/// Whether the name of the cluster or the task has a word; a part of a resource id is looked for in the whole id.
fn has(document: &ManifestDocument, word: &str) -> bool {
    let id = &document.cluster_resource_id;
    let cluster = if word.contains('/') { id } else { name_of(id) };
    let task = task_name(&document.maintenance_manifest.maintenance_task_id);
    cluster.contains(word) || task.to_lowercase().contains(word)
}

/// A row with its cluster, which leads to the operations of it.
fn fleet_row(document: &ManifestDocument, snapshot: &Snapshot) -> ManifestRow {
    let cluster = cluster_link(&document.cluster_resource_id, snapshot, operations_path);
    ManifestRow { cluster, ..row(document) }
}

/// A row of the manifest alone.
pub(crate) fn row(document: &ManifestDocument) -> ManifestRow {
    let manifest = &document.maintenance_manifest;
    let (progress, at) = match manifest.state {
        ManifestState::Pending => (ManifestProgress::Planned, manifest.starts_after()),
        ManifestState::InProgress => (ManifestProgress::Running, manifest.started),
        ManifestState::Completed => (ManifestProgress::Done, manifest.ended),
        ManifestState::Failed | ManifestState::RetriesExceeded => (ManifestProgress::Failed, manifest.ended),
        ManifestState::TimedOut => (ManifestProgress::Late, manifest.ended),
        ManifestState::Cancelled => (ManifestProgress::Cancelled, manifest.ended),
    };
    ManifestRow {
        task: format!("{} {}", task_name(&manifest.maintenance_task_id), manifest.machine).trim().to_owned(),
        progress,
        text: manifest.status().into_owned(),
        scheduled: !manifest.created_by_schedule.is_empty(),
        at,
        ..ManifestRow::default()
    }
}

/// A row of a schedule.
fn schedule_row(document: &ScheduleDocument, now: Timestamp) -> ScheduleRow {
    let schedule = &document.maintenance_schedule;
    let rollout = &document.rollout;
    let (progress, at) = match ScheduleStanding::of(document) {
        ScheduleStanding::Stopped => (ScheduleProgress::Stopped, rollout.stopped),
        ScheduleStanding::Disabled => (ScheduleProgress::Disabled, 0),
        ScheduleStanding::Enabled => {
            (ScheduleProgress::Enabled, next_window(document, now).map_or(0, Timestamp::seconds))
        }
    };
    ScheduleRow {
        task: task_name(&schedule.maintenance_task_id).to_owned(),
        progress,
        calendar: schedule.schedule.clone(),
        spread: spread(schedule),
        failed: failed(rollout),
        at,
    }
}

/// What failed in the latest window: how many, and the first by name.
fn failed(rollout: &Rollout) -> String {
    let count = rollout.failed.len();
    if count == 0 {
        return String::new();
    }
    let mut names: Vec<&str> = rollout.failed.iter().take(NAMED).map(|id| name_of(id)).collect();
    if count > NAMED {
        names.push("…");
    }
    format!("{count} of {} clusters failed: {}", rollout.of, names.join(", "))
}

/// How the clusters of a window are spread, in words.
fn spread(schedule: &Schedule) -> String {
    let across = &schedule.schedule_across;
    match schedule.waves.split_last() {
        None | Some((_, [])) => format!("over {across}"),
        Some((last, before)) => {
            let before: Vec<String> = before.iter().map(i64::to_string).collect();
            let (before, every) = (before.join(", "), &schedule.wave_every);
            format!(
                "in waves to {before} and {last} % of the clusters, one every {every}, each over {across}"
            )
        }
    }
}

/// Path of the tab of operations of a cluster.
pub(crate) fn operations_path(entry: &Entry) -> String {
    format!("{}/operations", entry.path())
}

#[cfg(test)]
mod tests {
    use rp_documents::maintenance::{Manifest, Task};

    use super::*;

    #[test]
    fn a_spread_is_told_in_words() {
        let mut schedule = Schedule { schedule_across: "2h".to_owned(), ..Schedule::default() };
        assert_eq!(spread(&schedule), "over 2h");
        schedule.waves = vec![100];
        assert_eq!(spread(&schedule), "over 2h");
        (schedule.waves, schedule.wave_every) = (vec![5, 25, 100], "24h".to_owned());
        let waves = "in waves to 5, 25 and 100 % of the clusters, one every 24h, each over 2h";
        assert_eq!(spread(&schedule), waves);
    }

    #[test]
    fn the_first_clusters_that_failed_are_named() {
        assert_eq!(failed(&Rollout::default()), "");
        let id = |n: usize| format!("/subscriptions/s/resourcegroups/g/providers/x/openshiftclusters/c{n}");
        let of =
            |count: usize| Rollout { failed: (0..count).map(id).collect(), of: 50, ..Rollout::default() };
        assert_eq!(failed(&of(2)), "2 of 50 clusters failed: c0, c1");
        assert_eq!(failed(&of(7)), "7 of 50 clusters failed: c0, c1, c2, c3, c4, …");
    }

    #[test]
    fn words_are_looked_for_in_names() {
        let id = "/subscriptions/s/resourcegroups/g/providers/x/openshiftclusters/harbor-01";
        let manifest = Manifest { maintenance_task_id: Task::FixSsh.id().to_owned(), ..Manifest::default() };
        let document = ManifestDocument::new("m", id, manifest);
        for word in ["harbor", "ssh", "/g/"] {
            assert!(has(&document, word), "{word}");
        }
        for word in ["openshiftclusters", "quay", "/h/"] {
            assert!(!has(&document, word), "{word}");
        }
    }
}
