//! The list of clusters as scripts and files have it.

mod csv;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};
use portal_session::fault::Fault;
use rp_base::Timestamp;
use rp_documents::Standing;
use schemars::JsonSchema;
use serde::Serialize;
use web::ListQuery;

use crate::index::{BadCursor, BadFilter, Entry, Selection, state_word};
use crate::state::PortalState;

/// 400 that names the filter and says what would be right.
pub fn bad_filter(bad: &BadFilter) -> Fault {
    Fault::bad_input(format!("The filter “{}” cannot be read", web::filter_words(bad.field)))
        .why(bad.right)
        .link("Without filters", "/")
}

/// 400 for a cursor of another order, or one that this portal did not issue.
pub fn bad_place(_: BadCursor) -> Fault {
    Fault::bad_input("This page of the list cannot be found")
        .why("Its place is not one that this list gave in this order, or it was cut.")
        .action("Start at the first page.")
        .link("First page", "/")
}

/// A cluster as the list has it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Cluster")]
pub struct ClusterView {
    name: String,
    resource_id: String,
    subscription: String,
    resource_group: String,
    region: String,
    #[schemars(extend("enum" = ["aro", "imported"]))]
    source: &'static str,
    /// The worst that is known.
    #[schemars(extend("enum" = [
        "healthy", "succeeded", "degraded", "failed", "noanswer", "creating", "updating", "adminupdating", "deleting",
        "canceled", "maintenance", "imported", "unknown"
    ]))]
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    provisioning_state: &'static str,
    failed_provisioning_state: &'static str,
    install_phase: String,
    maintenance_state: String,
    version: String,
    updating_to: String,
    #[schemars(extend("enum" = ["ok", "degraded", "no answer", "unknown"]))]
    health: &'static str,
    /// What is wrong, as a sentence; empty when nothing is.
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

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LastCheck {
    at: Timestamp,
    took_ms: u64,
    failed: Vec<FailedPart>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FailedPart {
    name: String,
    error: String,
}

/// A cluster as scripts see it.
pub fn row(entry: &Entry) -> ClusterView {
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
    entry.health.as_ref().map_or("unknown", |health| match health.standing {
        Standing::NoAnswer => "no answer",
        Standing::Degraded => "degraded",
        Standing::Healthy => "ok",
    })
}

/// All that match, as a file: `csv`, `json`, `names` or `ids`, one a line.
///
/// # Errors
/// A filter or the format cannot be read.
pub fn export(state: &PortalState, query: &ListQuery, format: &str) -> Result<Response, Fault> {
    let selection = Selection::new(query, state.session.clock.now()).map_err(|bad| bad_filter(&bad))?;
    let found = selection.matching(&state.model.index.snapshot());
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
