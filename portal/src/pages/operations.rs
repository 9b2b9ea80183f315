//! `{RES}/operations`: what is done with a cluster, and what was.

use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use rp_database::Typed;
use rp_documents::{ClusterDocument, OperationLog, Role};
use serde::Deserialize;
use serde_json::Value;
use web::objects::{ActionRow, Board, Operations, Run, followed, operations_board, run_board};
use web::{AuditResult, ClusterPage, ItemHead, Link, NavItem, Section, Tab};

use super::cluster::{self, state_badge};
use super::{ClusterPath, answer, frame, objects};
use crate::context::Ctx;
use crate::fault::Fault;
use crate::index::Entry;
use crate::live::{Fragment, TabInput};
use crate::operations::run;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// Entries of the audit trail.
const DONE: usize = 50;

#[derive(Debug, Deserialize)]
pub(crate) struct ItemPath {
    item: String,
}

/// The page.
pub(crate) async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let entry = state.0.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let query = query.unwrap_or_default();
    let (mut page, _) = objects::tab_page(&state, &context, &user, &entry, Tab::Operations, "", &query).await;
    page.grants = Section::Rows(Vec::new(), cluster::active(&state, &user, &entry).await);
    let version = page.board.side.pop();
    let mut operations = logs(&state, &entry, page.frame.now).await;
    about(&mut operations, &entry, &user);
    let document = document(&state, &entry).await.map_err(|error| Fault::store(&error))?;
    if let Some(document) = document {
        add(&mut operations, &document);
    }
    (operations.done, operations.done_hidden) = finished_actions(&state, &user, &entry).await;
    page.board = operations_board(&operations);
    page.board.side.extend(version);
    answer(&context, StatusCode::OK, &page)
}

/// One operation.
pub(crate) async fn one(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Path(ItemPath { item }): Path<ItemPath>,
) -> Result<Response, Fault> {
    let entry = state.0.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let log = state.0.operations.one(id.key(), &item).await.map_err(|error| Fault::store(&error))?;
    let log = log.ok_or_else(Fault::not_found)?;
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Clusters;
    let list = Link::new("Operations", format!("{}/operations", entry.path()));
    let page = ClusterPage {
        tab: Tab::Operations,
        cluster: cluster::cluster(&entry, &user),
        grants: Section::Rows(Vec::new(), cluster::active(&state, &user, &entry).await),
        board: run_board(&run(&log), frame.now),
        item: Some(ItemHead { list, name: log.id, badges: Vec::new() }),
        frame,
        ..ClusterPage::default()
    };
    answer(&context, StatusCode::OK, &page)
}

/// What the logs say, read now.
async fn logs(state: &PortalState, entry: &Entry, now: i64) -> Operations {
    let mut operations = Operations { base: entry.path(), now, ..Operations::default() };
    if entry.imported.is_some() {
        return operations;
    }
    match state.0.operations.all(entry.id.key()).await {
        Ok(logs) => put(&mut operations, &logs),
        Err(error) => operations.unknown = Fault::store(&error).message(),
    }
    operations
}

fn put(operations: &mut Operations, logs: &[OperationLog]) {
    let mut runs = logs.iter().map(run);
    operations.run = runs.next();
    operations.earlier = runs.collect();
}

/// The panels that follow the operations.
pub(super) fn live_board(input: &TabInput<'_>) -> Board {
    let mut operations = Operations {
        base: input.entry.path(),
        now: input.frame.now,
        imported: input.entry.imported.is_some(),
        ..Operations::default()
    };
    match input.state.0.operations.logs(input.entry.id.key()) {
        Some(logs) => put(&mut operations, &logs),
        None => "They could not be read.".clone_into(&mut operations.unknown),
    }
    Board { main: followed(&operations), ..Board::default() }
}

/// The operation that runs; else the last, where the cluster's document says that it failed.
pub(super) fn overview_run(input: &TabInput<'_>) -> Option<Run> {
    let logs = input.state.0.operations.logs(input.entry.id.key())?;
    let last = logs.first()?;
    let failed = matches!(input.entry.shown_state(), web::State::Failed(_));
    (last.ended.is_none() || failed).then(|| run(last)).filter(|run| run.ended.is_none() || run.failed())
}

/// Version and operations follow the cluster.
pub(crate) fn fragments(input: &TabInput<'_>) -> Vec<Fragment> {
    objects::fragments(Tab::Operations, input)
}

async fn document(
    state: &PortalState,
    entry: &Entry,
) -> Result<Option<ClusterDocument>, rp_database::StoreError> {
    if entry.imported.is_some() {
        return Ok(None);
    }
    let documents = Typed::<ClusterDocument>::new(std::sync::Arc::clone(&state.0.store));
    Ok(documents.get(&entry.document).await?.map(|document| document.value))
}

fn about(operations: &mut Operations, entry: &Entry, user: &CurrentUser) {
    let about = cluster::cluster(entry, user);
    operations.state = state_badge(entry);
    operations.since = about.since;
    operations.provisioning = about.provisioning_state;
    operations.last = about.last_provisioning_state;
    operations.failed = about.failed_provisioning_state;
    operations.admin_error = about.last_admin_update_error;
    operations.by = about.last_modified_by;
    operations.provisioned_by = about.provisioned_by;
    operations.install = about.install;
    operations.maintenance = about.maintenance_state;
    operations.imported = entry.imported.is_some();
}

/// What only the document says.
fn add(operations: &mut Operations, document: &ClusterDocument) {
    operations.operation = document.async_operation_id.to_string();
    let properties = &document.cluster.properties;
    let phase = properties.unknown.get("adminUpdatePhase").and_then(Value::as_str).unwrap_or_default();
    for (label, value) in [("Task", &*properties.maintenance_task), ("Admin update phase", phase)] {
        if !value.is_empty() {
            operations.more.push((label.to_owned(), value.to_owned()));
        }
    }
}

/// What people did through this portal, for those who may read the audit.
async fn finished_actions(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
) -> (Vec<ActionRow>, String) {
    if !user.has(Role::Auditor) {
        return (Vec::new(), "Auditors see what was done with a cluster.".to_owned());
    }
    let query = rp_audit::Query { target: Some(entry.id.clone()), limit: DONE, ..rp_audit::Query::default() };
    match state.0.audit.search(&query).await {
        Ok(found) => {
            let rows = found.entries.iter().map(|entry| {
                let row = super::rows::audit_row(entry);
                let failed = matches!(row.result, AuditResult::Failed | AuditResult::Refused);
                ActionRow { verb: row.verb, person: row.person, what: row.what, at: row.at, failed }
            });
            (rows.collect(), String::new())
        }
        Err(error) => (Vec::new(), Fault::audit(&error).message()),
    }
}
