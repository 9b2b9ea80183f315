//! `/api/clusters`, `/api/{sub}/{rg}/{name}`, `/api/v1/clusters`.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use rp_base::Timestamp;
use rp_documents::ResourceId;
use serde::{Deserialize, Serialize};
use web::ListQuery;

use super::{Items, MOST};
use crate::fault::Fault;
use crate::index::{Entry, Selection, state_word};
use crate::state::PortalState;

fn instant(at: Option<Timestamp>) -> String {
    // The contract's instants have whole seconds.
    at.map_or_else(|| "Unknown".to_owned(), |at| Timestamp::from_seconds(at.seconds()).to_string())
}

/// §8.4; `failedProvisioningState` is the consistent name ("Do better" 28).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
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
    let mut listed: Vec<Listed> = ours.map(|entry| of(entry)).collect();
    listed.sort_by(|a, b| a.key.cmp(&b.key));
    super::json(&listed)
}

fn of(entry: &Entry) -> Listed {
    let original = entry.id.original();
    Listed {
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

/// §8.5: all values are strings.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
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
    super::json(&Detail {
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

/// Where in the list: `limit` rows from `continue` on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Window {
    limit: Option<usize>,
    #[serde(rename = "continue")]
    from: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    name: String,
    resource_id: String,
    source: &'static str,
    state: &'static str,
    provisioning_state: &'static str,
    failed_provisioning_state: &'static str,
    version: String,
    health: &'static str,
    wrong: String,
    infra_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<Timestamp>,
}

/// Search with the query of the page.
pub(crate) async fn search(
    State(state): State<PortalState>,
    Query(query): Query<ListQuery>,
    Query(window): Query<Window>,
) -> Result<Response, Fault> {
    let snapshot = state.0.index.snapshot();
    let found = Selection::new(&query, state.0.clock.now()).of(&snapshot);
    let limit = window.limit.unwrap_or(50).clamp(1, MOST);
    let from: usize = match window.from.as_deref() {
        None | Some("") => 0,
        Some(text) => text.parse().map_err(|_| Fault::bad_input("continue is not what an answer gave"))?,
    };
    let items: Vec<Found> = found.iter().skip(from).take(limit).map(|entry| row(entry)).collect();
    let end = from.saturating_add(items.len());
    let next = (end < found.len()).then(|| end.to_string());
    super::json(&Items { items, total: Some(found.len()), next })
}

fn row(entry: &Entry) -> Found {
    let state = entry.shown_state();
    Found {
        name: entry.id.name().to_owned(),
        resource_id: entry.id.to_string(),
        source: if entry.imported.is_some() { "imported" } else { "aro" },
        state: state_word(&state),
        provisioning_state: entry.state_name(),
        failed_provisioning_state: entry.failed_name(),
        version: entry.version.clone(),
        health: entry.health.as_ref().map_or("unknown", |health| {
            if !health.answers {
                "no answer"
            } else if health.is_degraded() {
                "degraded"
            } else {
                "ok"
            }
        }),
        wrong: entry.wrong(),
        infra_id: entry.infra_id.clone(),
        created_at: entry.created,
        last_modified: entry.modified,
    }
}
