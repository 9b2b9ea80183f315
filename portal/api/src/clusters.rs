//! `/api/clusters`, `/api/{sub}/{rg}/{name}`, `/api/v1/clusters`.

use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::cluster_list::{ClusterView, bad_filter, bad_place, row};
use portal_model::index::{Entry, Selection};
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use rp_base::Timestamp;
use rp_documents::ResourceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use web::{Column, ListQuery, ListView};

use crate::answer::{MOST, Query};

fn instant(at: Option<Timestamp>) -> String {
    // The contract's instants have whole seconds.
    at.map_or_else(|| "Unknown".to_owned(), |at| Timestamp::from_seconds(at.seconds()).to_string())
}

/// `contract/portal.md` §8.4; `failedProvisioningState` is the consistent name
/// (`contract/portal.md` "Do better" 28).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ListedCluster")]
pub struct ClusterListItem {
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
pub async fn list(State(state): State<PortalState>) -> Result<Response, Fault> {
    let snapshot = state.model.index.snapshot();
    let ours = snapshot.entries.iter().filter(|entry| entry.imported.is_none());
    let mut listed: Vec<ClusterListItem> = ours.map(|entry| list_item(entry)).collect();
    listed.sort_by(|a, b| a.key.cmp(&b.key));
    json(&listed)
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
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDetail {
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
pub async fn detail(
    State(state): State<PortalState>,
    Path((sub, group, name)): Path<(String, String, String)>,
) -> Result<Response, Fault> {
    // The contract answers 404 to any failure to read it.
    let id = ResourceId::from_parts(&sub, &group, &name).map_err(|_| Fault::no_cluster())?;
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    json(&ClusterDetail {
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
pub async fn one(
    State(state): State<PortalState>,
    Path((sub, group, name)): Path<(String, String, String)>,
) -> Result<Response, Fault> {
    let id = ResourceId::from_parts(&sub, &group, &name).map_err(|_| Fault::no_cluster())?;
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    json(&row(&entry))
}

/// The part of the list: `limit` rows from `continue` on.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PageQuery {
    /// Rows, 1 to 500; 50 without.
    limit: Option<usize>,
    /// The member `continue` of the answer before; of another order it is refused with 400.
    #[serde(rename = "continue")]
    from: Option<String>,
}

/// Order and view as they were sent. Pages show the whole list in the usual order when they do not know a word; scripts
/// are told.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct OrderQuery {
    sort: String,
    view: String,
}

impl OrderQuery {
    /// Refuses an order or a view that there is not.
    fn check(&self) -> Result<(), Fault> {
        let orders = std::iter::once(Column::Name).chain(Column::EVERY).map(Column::name);
        known("sort", &self.sort, orders)?;
        let views = ListView::EVERY.iter().map(ListView::name).filter(|name| !name.is_empty());
        known("view", &self.view, views.chain(["all"]))
    }
}

fn known(
    parameter: &str,
    sent: &str,
    words: impl Iterator<Item = &'static str> + Clone,
) -> Result<(), Fault> {
    if sent.is_empty() || words.clone().any(|word| word == sent) {
        return Ok(());
    }
    let words: Vec<&str> = words.collect();
    Err(Fault::bad_input(format!("{parameter} has a value that is not known"))
        .why(format!("There are {}.", words.join(", "))))
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ClusterPage")]
pub struct ClustersResponse {
    items: Vec<ClusterView>,
    /// All that match.
    total: usize,
    /// All that there are.
    of: usize,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Search with the query of the page.
pub async fn search(
    State(state): State<PortalState>,
    Query(mut query): Query<ListQuery>,
    Query(window): Query<PageQuery>,
    Query(order): Query<OrderQuery>,
) -> Result<Response, Fault> {
    order.check()?;
    let snapshot = state.model.index.snapshot();
    if let Some(from) = window.from.filter(|from| !from.is_empty()) {
        query.after = from;
    }
    let limit = window.limit.unwrap_or(50).clamp(1, MOST);
    let selection = Selection::new(&query, state.session.clock.now()).map_err(|bad| bad_filter(&bad))?;
    let page = selection.page(&snapshot, limit).map_err(bad_place)?;
    json(&ClustersResponse {
        items: page.rows.iter().map(|entry| row(entry)).collect(),
        total: page.matched,
        of: snapshot.entries.len(),
        next: page.next,
    })
}
