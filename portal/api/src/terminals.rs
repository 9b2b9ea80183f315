//! Browser terminals that are open in a cluster, for people who may watch them.

use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use proxy::terminal::OpenTerminal;
use rp_base::{Id, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Items;
use crate::cluster_objects::known_cluster;
use crate::prom::ClusterPath;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OpenTerminal")]
pub struct TerminalView {
    id: Id,
    grant: Id,
    /// The person who types.
    person: String,
    /// `namespace/pod/container`, or the machine.
    place: String,
    began: Timestamp,
    /// The people who watch.
    watchers: Vec<String>,
}

impl From<OpenTerminal> for TerminalView {
    fn from(open: OpenTerminal) -> Self {
        let OpenTerminal { id, grant, person, place, began, watchers } = open;
        Self { id, grant, person, place, began, watchers }
    }
}

/// The terminals of this replica, oldest first; none where the settings forbid watching.
pub async fn list(State(state): State<PortalState>, Path(path): ClusterPath) -> Result<Response, Fault> {
    let id = known_cluster(&state, &path)?;
    let items: Vec<TerminalView> =
        state.model.clusters.terminals.open_in(&id).into_iter().map(TerminalView::from).collect();
    json(&Items { total: Some(items.len()), items, next: None })
}
