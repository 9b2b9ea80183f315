//! `/api/v1/clusters{RES}/operations[/{id}]`: what is done with a cluster, step by step.

use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::operations::run;
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use rp_base::Timestamp;
use rp_documents::operation_log::{Diagnostic, LogLine, StepRecord};
use rp_documents::{OperationLog, ResourceId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::prom::{ClusterPath, cluster};

/// One operation; the list leaves the last three out.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Operation")]
pub struct OperationView<'a> {
    id: &'a str,
    /// `Creating`, `Updating`, `AdminUpdating`, `Deleting`.
    kind: &'a str,
    /// Of an installation its phase, of maintenance its task; else empty.
    phase: &'a str,
    #[schemars(extend("enum" = ["running", "succeeded", "failed"]))]
    state: &'static str,
    started: Timestamp,
    ended: Option<Timestamp>,
    /// The state that it left the cluster in, once ended.
    result: &'a str,
    /// Why it failed.
    error: &'a str,
    /// How often a worker took it.
    attempt: u32,
    /// Place of the last step in the plan of its phase, from 1; 0: none has begun.
    step: u32,
    /// Steps of that plan; 0: not known.
    planned: u32,
    /// The step that runs, or the one that failed.
    current: Option<&'a StepRecord>,
    asked_by: &'a str,
    /// The ids that ARM sent with the request.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    correlation: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<&'a [StepRecord]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<&'a [LogLine]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<&'a [Diagnostic]>,
}

fn to_view(log: &OperationLog, whole: bool) -> OperationView<'_> {
    let seen = run(log);
    OperationView {
        id: &log.id,
        kind: &log.kind,
        phase: &log.phase,
        state: match (log.ended, seen.failed()) {
            (None, _) => "running",
            (_, true) => "failed",
            _ => "succeeded",
        },
        started: log.started,
        ended: log.ended,
        result: &log.result,
        error: &log.error,
        attempt: log.attempt,
        step: seen.place(),
        planned: log.planned,
        current: log.steps.last().filter(|step| step.took_ms.is_none() || step.failed),
        asked_by: &log.asked_by,
        correlation: log.correlation.as_ref(),
        steps: whole.then_some(&log.steps),
        lines: whole.then_some(&log.lines),
        diagnostics: whole.then_some(&log.diagnostics),
    }
}

/// A cluster that was deleted has its logs for a while.
fn check_exists(state: &PortalState, id: &ResourceId, logs: bool) -> Result<(), Fault> {
    let listed = state.model.index.snapshot().get(id).is_some();
    if listed || logs { Ok(()) } else { Err(Fault::no_cluster()) }
}

/// Newest first; the last thirty.
pub async fn list(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    let id = cluster(&path)?;
    let logs = state.model.operations.all(id.key()).await.map_err(|error| Fault::store(&error))?;
    check_exists(&state, &id, !logs.is_empty())?;
    let items = logs.iter().map(|log| to_view(log, false)).collect();
    json(&crate::answer::Items { items, total: Some(logs.len()), next: None })
}

/// One, with its steps, log and diagnostics.
pub async fn get(
    State(state): State<PortalState>,
    Path((sub, group, name, operation)): Path<(String, String, String, String)>,
) -> Result<Response, Fault> {
    let id = cluster(&(sub, group, name))?;
    let log = state.model.operations.one(id.key(), &operation).await.map_err(|error| Fault::store(&error))?;
    check_exists(&state, &id, log.is_some())?;
    let log = log.ok_or_else(Fault::not_found)?;
    json(&to_view(&log, true))
}
