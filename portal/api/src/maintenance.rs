//! `/api/v1/clusters{RES}/maintenance`, `/api/v1/maintenance`: what is planned for clusters, what runs and what has
//! ended (`contract/mimo.md`); a person orders a task, or cancels what waits.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::maintenance::{Order, cancel as cancel_manifest, of_cluster, open_page, order, task_name};
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use rp_base::Timestamp;
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{Build, TASKS, Task, Times};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Items, MOST, Query, ReasonRequest, body, created};
use crate::prom::{ClusterPath, cluster};

/// One task for one cluster within a time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Manifest")]
pub struct ManifestView {
    id: String,
    /// Of the cluster, in lower case.
    resource_id: String,
    task_id: String,
    /// Name of the task.
    task: String,
    #[schemars(extend("enum" = ["Pending", "InProgress", "Completed", "Failed", "RetriesExceeded", "TimedOut", "Cancelled"]))]
    state: &'static str,
    /// The result, or why it waits or failed.
    text: String,
    /// Id of the schedule that made it; empty: a person did.
    schedule: String,
    /// The machine that the task is about; empty: it is about none.
    machine: String,
    /// Skips the steps in the cluster.
    force: bool,
    /// 0 (first) to 1000 (last), among those of the cluster that are due.
    priority: i64,
    run_after: Option<Timestamp>,
    /// It does not start after this.
    run_before: Option<Timestamp>,
    /// After a failure that may pass it does not start again before this.
    retry_after: Option<Timestamp>,
    started: Option<Timestamp>,
    ended: Option<Timestamp>,
}

impl From<ManifestDocument> for ManifestView {
    fn from(document: ManifestDocument) -> Self {
        let manifest = document.maintenance_manifest;
        let time = |seconds: i64| (seconds != 0).then(|| Timestamp::from_seconds(seconds));
        let text = manifest.status().into_owned();
        Self {
            id: document.id,
            resource_id: document.cluster_resource_id,
            task: task_name(&manifest.maintenance_task_id).to_owned(),
            task_id: manifest.maintenance_task_id,
            state: manifest.state.name(),
            text,
            schedule: manifest.created_by_schedule,
            machine: manifest.machine,
            force: manifest.force,
            priority: manifest.priority,
            run_after: time(manifest.run_after),
            run_before: time(manifest.run_before),
            retry_after: time(manifest.retry_after),
            started: time(manifest.started),
            ended: time(manifest.ended),
        }
    }
}

fn views(all: Vec<ManifestDocument>) -> Vec<ManifestView> {
    all.into_iter().map(ManifestView::from).collect()
}

/// What runs, what waits, and the newest of what is over.
pub async fn list(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    if state.model.index.snapshot().get(&id).is_none() {
        return Err(Fault::no_cluster());
    }
    let all = of_cluster(&state.session.store, id.key()).await.map_err(|error| Fault::store(&error))?;
    json(&Items { total: Some(all.len()), items: views(all), next: None })
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ManifestsQuery {
    /// Rows, 1 to 500.
    limit: Option<usize>,
    /// Where the answer before ended.
    #[serde(rename = "continue")]
    next: Option<String>,
}

/// What runs and what waits on all clusters, by the cluster.
pub async fn fleet(
    State(state): State<PortalState>,
    Query(query): Query<ManifestsQuery>,
) -> Result<Response, Fault> {
    let limit = u32::try_from(query.limit.unwrap_or(MOST).clamp(1, MOST)).unwrap_or(1);
    let cursor = query.next.as_deref().filter(|next| !next.is_empty());
    let page = open_page(&state.session.store, cursor, limit).await?;
    json(&Items { total: None, items: views(page.items), next: page.next })
}

/// What can be done with clusters.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MaintenanceTask")]
pub struct TaskView {
    id: &'static str,
    name: &'static str,
    /// What it does.
    about: &'static str,
    /// Empty: it can be ordered; else what is missing.
    missing: &'static str,
    /// It is about a machine, which the order names.
    needs_machine: bool,
}

impl From<Task> for TaskView {
    fn from(task: Task) -> Self {
        let missing = match task.build() {
            Build::Ready => "",
            Build::Missing(what) | Build::Ordered(what) => what,
        };
        let needs_machine = task.needs_machine();
        Self { id: task.id(), name: task.name(), about: task.about(), missing, needs_machine }
    }
}

/// Every task.
pub async fn tasks() -> Result<Response, Fault> {
    let items: Vec<TaskView> = TASKS.into_iter().map(TaskView::from).collect();
    json(&Items { total: Some(items.len()), items, next: None })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({"task": "fix SSH", "reason": "SSH to master-1 times out", "priority": 10}))]
pub struct NewManifest {
    /// Name or id of the task.
    task: String,
    /// Why, for the record.
    reason: String,
    /// 0 (first) to 1000 (last), among those of the cluster that are due.
    #[serde(default)]
    priority: i64,
    /// It starts after this; now without.
    run_after: Option<Timestamp>,
    /// It does not start after this; a week after its start without.
    run_before: Option<Timestamp>,
    /// The machine that the task is about.
    #[serde(default)]
    machine: String,
    /// Skips the steps in the cluster: check of the control plane, cordon, drain, the wait for the node.
    #[serde(default)]
    force: bool,
}

/// Orders a task on a cluster: 201 and the manifest.
pub async fn create(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(path): ClusterPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    let asked: NewManifest = body(&bytes)?;
    let seconds = |time: Option<Timestamp>| time.map_or(0, Timestamp::seconds);
    let times = Times { run_after: seconds(asked.run_after), run_before: seconds(asked.run_before) };
    let NewManifest { task, reason, priority, machine, force, .. } = asked;
    let wanted = Order { task, reason, times, priority, machine, force };
    created(&ManifestView::from(order(&state, &user, &id, wanted).await?))
}

/// Cancels a manifest that waits.
pub async fn cancel(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path((sub, group, name, manifest)): Path<(String, String, String, String)>,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let id = cluster(&(sub, group, name))?;
    let asked: ReasonRequest = body(&bytes)?;
    let why = asked.why.unwrap_or_default();
    json(&ManifestView::from(cancel_manifest(&state, &user, &id, &manifest, &why).await?))
}
