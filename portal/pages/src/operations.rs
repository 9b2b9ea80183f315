//! `{RES}/operations`: what is done with a cluster, and what was.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::index::Entry;
use portal_model::maintenance::of_cluster;
use portal_model::operations::run;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_database::Typed;
use rp_documents::{ClusterDocument, ManifestDocument, Role};
use serde::Deserialize;
use serde_json::Value;
use web::objects::{
    ActionRow, ManifestProgress, ManifestRow, Operations, OrderPart, operations_board, run_board,
};
use web::{AuditResult, ClusterPage, ItemHead, Link, NavItem, Section, Tab};

use crate::answer::answer;
use crate::cluster_head;
use crate::cluster_head::state_badge;
use crate::cluster_path::ClusterPath;
use crate::frame::frame;
use crate::live::{Fragment, TabInput};
use crate::maintenance;
use crate::maintenance_cancel::cancel_path;
use crate::maintenance_form::{FilledOrder, order_part};
use crate::objects;
use crate::operations_board::put;

/// Entries of the audit trail.
const DONE: usize = 50;

#[derive(Debug, Deserialize)]
pub struct ItemPath {
    item: String,
}

/// The page.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    RawQuery(query): RawQuery,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let page = tab(&state, &context, &user, &entry, &query.unwrap_or_default(), None).await?;
    answer(&context, StatusCode::OK, &page)
}

/// The tab; `filled` is the form that orders maintenance, when it was sent.
pub(crate) async fn tab(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    entry: &Arc<Entry>,
    query: &str,
    filled: Option<FilledOrder>,
) -> Result<ClusterPage, Fault> {
    let mut page = objects::tab_page(state, context, user, entry, Tab::Operations, "", query).await.page;
    page.grants = Section::Rows(Vec::new(), cluster_head::active(state, user, entry).await);
    let version = page.board.side.pop();
    let mut operations = logs(state, entry, page.frame.now).await;
    about(&mut operations, entry, user);
    let document = document(state, entry).await.map_err(|error| Fault::store(&error))?;
    if let Some(document) = document {
        add(&mut operations, &document);
        operations.order = order_part(state, user, entry, query, filled).await;
        operations.manifests = manifests(state, entry, &operations.order).await?;
    }
    (operations.done, operations.done_hidden) = finished_actions(state, user, entry).await;
    page.board = operations_board(&operations);
    page.board.side.extend(version);
    Ok(page)
}

/// The cluster's manifests; those that wait have a way to be cancelled where the person may order too.
async fn manifests(state: &PortalState, entry: &Entry, order: &OrderPart) -> Result<Vec<ManifestRow>, Fault> {
    let all = of_cluster(&state.session.store, entry.id.key()).await;
    let may = matches!(order, OrderPart::Form(_));
    let row = |document: ManifestDocument| {
        let row = maintenance::row(&document);
        let waits =
            may && row.progress == ManifestProgress::Planned && !document.maintenance_manifest.must_end();
        ManifestRow { cancel: if waits { cancel_path(entry, &document.id) } else { String::new() }, ..row }
    };
    Ok(all.map_err(|error| Fault::store(&error))?.into_iter().map(row).collect())
}

/// One operation.
pub async fn one(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    ClusterPath(id): ClusterPath,
    Path(ItemPath { item }): Path<ItemPath>,
) -> Result<Response, Fault> {
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    let log = state.model.operations.one(id.key(), &item).await.map_err(|error| Fault::store(&error))?;
    let log = log.ok_or_else(Fault::not_found)?;
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Clusters;
    let list = Link::new("Operations", maintenance::operations_path(&entry));
    let page = ClusterPage {
        tab: Tab::Operations,
        cluster: cluster_head::cluster(&entry, &user),
        grants: Section::Rows(Vec::new(), cluster_head::active(&state, &user, &entry).await),
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
    match state.model.operations.all(entry.id.key()).await {
        Ok(logs) => put(&mut operations, &logs),
        Err(error) => operations.unknown = Fault::store(&error).message(),
    }
    operations
}

/// Version and operations follow the cluster.
pub fn fragments(input: &TabInput<'_>) -> Vec<Fragment> {
    objects::fragments(Tab::Operations, input)
}

async fn document(
    state: &PortalState,
    entry: &Entry,
) -> Result<Option<ClusterDocument>, rp_database::StoreError> {
    if entry.imported.is_some() {
        return Ok(None);
    }
    let documents = Typed::<ClusterDocument>::new(Arc::clone(&state.session.store));
    Ok(documents.get(&entry.document).await?.map(|document| document.value))
}

fn about(operations: &mut Operations, entry: &Entry, user: &CurrentUser) {
    let about = cluster_head::cluster(entry, user);
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
    match state.session.audit.search(&query).await {
        Ok(found) => {
            let rows = found.entries.iter().map(|entry| {
                let row = crate::rows::audit_row(entry);
                let failed = matches!(row.result, AuditResult::Failed | AuditResult::Refused);
                ActionRow { verb: row.verb, person: row.person, what: row.what, at: row.at, failed }
            });
            (rows.collect(), String::new())
        }
        Err(error) => (Vec::new(), Fault::audit(&error).message()),
    }
}
