//! `/api/clusters`, `/api/{sub}/{rg}/{name}`, `/api/v1/clusters`.

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderValue, header};
use rp_base::Timestamp;
use rp_documents::ResourceId;
use serde::{Deserialize, Serialize};
use web::ListQuery;

use super::MOST;
use crate::fault::Fault;
use crate::index::{BadCursor, BadFilter, Entry, Selection, state_word};
use crate::state::PortalState;

mod csv;

fn instant(at: Option<Timestamp>) -> String {
    // The contract's instants have whole seconds.
    at.map_or_else(|| "Unknown".to_owned(), |at| Timestamp::from_seconds(at.seconds()).to_string())
}

/// 400 that names the filter and says what would be right.
pub(crate) fn bad_filter(bad: &BadFilter) -> Fault {
    Fault::bad_input(format!("The filter “{}” cannot be read", web::filter_words(bad.field)))
        .why(bad.right)
        .link("Without filters", "/")
}

/// 400 for a cursor of another order, or one that this portal did not issue.
pub(crate) fn bad_place(_: BadCursor) -> Fault {
    Fault::bad_input("This page of the list cannot be found")
        .why("Its place is not one that this list gave in this order, or it was cut.")
        .action("Start at the first page.")
        .link("First page", "/")
}

/// `contract/portal.md` §8.4; `failedProvisioningState` is the consistent name
/// (`contract/portal.md` "Do better" 28).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterListItem {
    key: String,
    name: String,
    subscription: String,
    resource_group: String,
    resource_id: String,
    provisioning_state: &'static str,
    #[serde(rename = "failedprovisioningState")]
    failed_old: &'static str,
    failed_provisioning_state: &'static str,
    version: String,
    created_at: String,
    last_modified: String,
    provisioned_by: String,
}

/// Our clusters, by key.
pub(crate) async fn list(State(state): State<PortalState>) -> Result<Response, Fault> {
    let snapshot = state.0.index.snapshot();
    let ours = snapshot.entries.iter().filter(|entry| entry.imported.is_none());
    let mut listed: Vec<ClusterListItem> = ours.map(|entry| list_item(entry)).collect();
    listed.sort_by(|a, b| a.key.cmp(&b.key));
    super::json(&listed)
}

fn list_item(entry: &Entry) -> ClusterListItem {
    let original = entry.id.original();
    ClusterListItem {
        key: entry.document.clone(),
        name: entry.id.name().to_owned(),
        subscription: original.get(15..51).unwrap_or("Unknown").to_owned(),
        resource_group: entry.id.resource_group().to_owned(),
        resource_id: original.to_owned(),
        provisioning_state: entry.state_name(),
        failed_old: entry.failed_name(),
        failed_provisioning_state: entry.failed_name(),
        version: entry.version.clone(),
        created_at: instant(entry.created),
        last_modified: instant(entry.modified),
        provisioned_by: entry.provisioned_by.clone(),
    }
}

/// `contract/portal.md` §8.5: all values are strings.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterDetail {
    name: String,
    subscription: String,
    resource_group: String,
    resource_id: String,
    provisioning_state: &'static str,
    failed_provisioning_state: &'static str,
    last_provisioning_state: &'static str,
    version: String,
    created_at: String,
    provisioned_by: String,
    created_by: String,
    architecture_version: String,
    last_admin_update_error: String,
    infra_id: String,
    api_server_visibility: String,
    install_status: String,
}

/// One cluster.
pub(crate) async fn detail(
    State(state): State<PortalState>,
    Path((sub, group, name)): Path<(String, String, String)>,
) -> Result<Response, Fault> {
    // The contract answers 404 to any failure to read it.
    let id = ResourceId::from_parts(&sub, &group, &name).map_err(|_| Fault::no_cluster())?;
    let entry = state.0.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    super::json(&ClusterDetail {
        name: name.to_ascii_lowercase(),
        subscription: sub.to_ascii_lowercase(),
        resource_group: group.to_ascii_lowercase(),
        resource_id: id.key().to_owned(),
        provisioning_state: entry.state_name(),
        failed_provisioning_state: entry.failed_name(),
        last_provisioning_state: entry.last_state_name(),
        version: entry.version.clone(),
        created_at: instant(entry.created),
        provisioned_by: entry.provisioned_by.clone(),
        created_by: entry.created_by.clone(),
        architecture_version: entry.architecture.to_string(),
        last_admin_update_error: entry.admin_error.clone(),
        infra_id: entry.infra_id.clone(),
        api_server_visibility: entry.visibility.clone(),
        install_status: entry.install.clone().unwrap_or_else(|| "Installed".to_owned()),
    })
}

/// `GET /api/v1/clusters{RES}`: one cluster, as the list has it.
pub(crate) async fn one(
    State(state): State<PortalState>,
    Path((sub, group, name)): Path<(String, String, String)>,
) -> Result<Response, Fault> {
    let id = ResourceId::from_parts(&sub, &group, &name).map_err(|_| Fault::no_cluster())?;
    let entry = state.0.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    super::json(&row(&entry))
}

/// Where in the list: `limit` rows from `continue` on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PageQuery {
    limit: Option<usize>,
    #[serde(rename = "continue")]
    from: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterView {
    name: String,
    resource_id: String,
    subscription: String,
    resource_group: String,
    region: String,
    source: &'static str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    provisioning_state: &'static str,
    failed_provisioning_state: &'static str,
    install_phase: String,
    maintenance_state: String,
    version: String,
    updating_to: String,
    health: &'static str,
    wrong: String,
    operators_degraded: Vec<String>,
    alerts: Vec<String>,
    nodes: u32,
    nodes_not_ready: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_expiry: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_look: Option<LastCheck>,
    api_server_visibility: String,
    infra_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<Timestamp>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LastCheck {
    at: Timestamp,
    took_ms: u64,
    failed: Vec<FailedPart>,
}

#[derive(Serialize)]
struct FailedPart {
    name: String,
    error: String,
}

#[derive(Serialize)]
struct ClustersResponse {
    items: Vec<ClusterView>,
    /// All that match.
    total: usize,
    /// All that there are.
    of: usize,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Search with the query of the page.
pub(crate) async fn search(
    State(state): State<PortalState>,
    Query(mut query): Query<ListQuery>,
    Query(window): Query<PageQuery>,
) -> Result<Response, Fault> {
    let snapshot = state.0.index.snapshot();
    if let Some(from) = window.from.filter(|from| !from.is_empty()) {
        query.after = from;
    }
    let limit = window.limit.unwrap_or(50).clamp(1, MOST);
    let selection = Selection::new(&query, state.0.clock.now()).map_err(|bad| bad_filter(&bad))?;
    let page = selection.page(&snapshot, limit).map_err(bad_place)?;
    super::json(&ClustersResponse {
        items: page.rows.iter().map(|entry| row(entry)).collect(),
        total: page.matched,
        of: snapshot.entries.len(),
        next: page.next,
    })
}

fn row(entry: &Entry) -> ClusterView {
    let state = entry.shown_state();
    let health = entry.health.as_deref();
    ClusterView {
        name: entry.id.name().to_owned(),
        resource_id: entry.id.to_string(),
        subscription: entry.id.subscription().to_owned(),
        resource_group: entry.id.resource_group().to_owned(),
        region: entry.location.clone(),
        source: source(entry),
        state: state_word(&state),
        since: entry.since,
        provisioning_state: entry.state_name(),
        failed_provisioning_state: entry.failed_name(),
        install_phase: entry.install.clone().unwrap_or_default(),
        maintenance_state: entry.maintenance.clone(),
        version: entry.version.clone(),
        updating_to: health.map(|health| health.updating_to.clone()).unwrap_or_default(),
        health: health_word(entry),
        wrong: entry.wrong(),
        operators_degraded: health.map(|health| health.operators.clone()).unwrap_or_default(),
        alerts: health.map(|health| health.alert_names.clone()).unwrap_or_default(),
        nodes: health.map_or(0, |health| health.nodes),
        nodes_not_ready: health.map_or(0, |health| health.nodes_not_ready),
        certificate_expiry: health.and_then(|health| health.certificate),
        last_look: look(entry),
        api_server_visibility: entry.visibility.clone(),
        infra_id: entry.infra_id.clone(),
        created_at: entry.created,
        last_modified: entry.modified,
    }
}

fn look(entry: &Entry) -> Option<LastCheck> {
    let health = entry.health.as_deref();
    let failed = health.map(|health| health.failed.as_slice()).unwrap_or_default();
    Some(LastCheck {
        at: entry.looked_at()?,
        took_ms: entry.look.map(|look| look.took_ms).or(health.map(|health| health.took_ms)).unwrap_or(0),
        failed: failed
            .iter()
            .map(|(name, error)| FailedPart { name: name.clone(), error: error.clone() })
            .collect(),
    })
}

const fn source(entry: &Entry) -> &'static str {
    if entry.imported.is_some() { "imported" } else { "aro" }
}

fn health_word(entry: &Entry) -> &'static str {
    entry.health.as_ref().map_or("unknown", |health| {
        if !health.answers {
            "no answer"
        } else if health.is_degraded() {
            "degraded"
        } else {
            "ok"
        }
    })
}

/// All that match, as a file: `csv`, `json`, `names` or `ids`, one a line.
///
/// # Errors
/// A filter or the format cannot be read.
pub(crate) fn export(state: &PortalState, query: &ListQuery, format: &str) -> Result<Response, Fault> {
    let selection = Selection::new(query, state.0.clock.now()).map_err(|bad| bad_filter(&bad))?;
    let found = selection.matching(&state.0.index.snapshot());
    let lines = |text: fn(&Entry) -> String| found.iter().map(|entry| format!("{}\n", text(entry))).collect();
    let (text, kind, ending): (String, _, _) = match format {
        "csv" => (csv::table(&found), "text/csv; charset=utf-8", "csv"),
        "json" => {
            let rows: Vec<ClusterView> = found.iter().map(|entry| row(entry)).collect();
            (serde_json::to_string(&rows).map_err(|_| Fault::internal())?, "application/json", "json")
        }
        "names" => (lines(|entry| entry.id.name().to_owned()), "text/plain; charset=utf-8", "txt"),
        "ids" => (lines(|entry| entry.id.to_string()), "text/plain; charset=utf-8", "txt"),
        _ => {
            return Err(
                Fault::bad_input("This format is not known").why("There are csv, json, names and ids.")
            );
        }
    };
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let name = format!("attachment; filename=\"clusters.{ending}\"");
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_str(&name).map_err(|_| Fault::internal())?);
    Ok(response)
}
