//! `/maintenance`: the maintenance of all clusters, from what the portal keeps in memory of it.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::fleet_maintenance::LATELY;
use portal_model::index::{Entry, Snapshot};
use portal_model::maintenance::task_name;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use rp_documents::ManifestDocument;
use rp_documents::maintenance::ManifestState;
use web::objects::{ManifestProgress, ManifestRow};
use web::{MaintenancePage, ManifestList, NavItem};

use crate::answer::answer;
use crate::fleet_lists::{FleetListQuery, ROWS, cluster_link, name_of};
use crate::frame::frame;

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
    let page = MaintenancePage {
        running: list(&found.running),
        failed: list(&found.failed),
        waiting: list(&found.waiting),
        days: LATELY.as_secs() / 86_400,
        incomplete: !found.complete,
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

/// Path of the tab of operations of a cluster.
pub(crate) fn operations_path(entry: &Entry) -> String {
    format!("{}/operations", entry.path())
}

#[cfg(test)]
mod tests {
    use rp_documents::maintenance::{Manifest, Task};

    use super::*;

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
