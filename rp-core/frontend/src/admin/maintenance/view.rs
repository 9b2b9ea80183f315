//! Manifests and schedules as administrators see them: zero values are left out (`contract/mimo.md` §7).

use rp_documents::ManifestDocument;
use rp_documents::maintenance::{ManifestStep, Resize, Rollout, Schedule, ScheduleDocument, Selector};
use serde::Serialize;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListView<T> {
    pub(super) value: Vec<T>,
    /// Empty at the end.
    pub(super) next_link: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ManifestView {
    id: String,
    /// Only in the list of all clusters.
    #[serde(rename = "clusterResourceID", skip_serializing_if = "String::is_empty")]
    cluster_resource_id: String,
    state: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    status_text: String,
    #[serde(rename = "maintenanceTaskID", skip_serializing_if = "String::is_empty")]
    maintenance_task_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    created_by_schedule: String,
    #[serde(skip_serializing_if = "is_zero")]
    priority: i64,
    #[serde(skip_serializing_if = "is_zero")]
    run_after: i64,
    #[serde(skip_serializing_if = "is_zero")]
    run_before: i64,
    /// Steps that ended, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<ManifestStep>,
    /// The order of a resize of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    resize: Option<Resize>,
    /// The machine that the task is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    machine: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    force: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScheduleView {
    id: String,
    state: rp_documents::maintenance::ScheduleState,
    #[serde(rename = "maintenanceTaskID", skip_serializing_if = "String::is_empty")]
    maintenance_task_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    schedule: String,
    #[serde(skip_serializing_if = "is_zero")]
    look_forward_count: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    schedule_across: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    start_within: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waves: Vec<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    wave_every: String,
    #[serde(skip_serializing_if = "is_zero")]
    stop_at_percent: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    selectors: Vec<Selector>,
    /// The latest window in which the task failed.
    #[serde(skip_serializing_if = "Rollout::is_empty")]
    rollout: Rollout,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// A manifest of a known cluster.
pub(super) fn manifest(document: ManifestDocument) -> ManifestView {
    ManifestView { cluster_resource_id: String::new(), ..manifest_of_any(document) }
}

/// A manifest with its cluster.
pub(super) fn manifest_of_any(document: ManifestDocument) -> ManifestView {
    let manifest = document.maintenance_manifest;
    ManifestView {
        id: document.id,
        cluster_resource_id: document.cluster_resource_id,
        state: manifest.state.name(),
        status_text: manifest.status_text,
        maintenance_task_id: manifest.maintenance_task_id,
        created_by_schedule: manifest.created_by_schedule,
        priority: manifest.priority,
        run_after: manifest.run_after,
        run_before: manifest.run_before,
        steps: manifest.steps,
        resize: manifest.resize,
        machine: manifest.machine,
        force: manifest.force,
    }
}

pub(super) fn schedule(document: ScheduleDocument) -> ScheduleView {
    let Schedule {
        state,
        maintenance_task_id,
        schedule,
        look_forward_count,
        schedule_across,
        start_within,
        waves,
        wave_every,
        stop_at_percent,
        selectors,
        ..
    } = document.maintenance_schedule;
    ScheduleView {
        id: document.id,
        state,
        maintenance_task_id,
        schedule,
        look_forward_count,
        schedule_across,
        start_within,
        waves,
        wave_every,
        stop_at_percent,
        selectors,
        rollout: document.rollout,
    }
}
