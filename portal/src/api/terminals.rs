//! Terminals in the browser that are open in a cluster, for whoever may look on.

use axum::extract::{Path, State};
use axum::response::Response;
use proxy::terminal::OpenTerminal;
use rp_base::{Id, Timestamp};
use serde::Serialize;

use super::Items;
use super::cluster_objects::known;
use super::prom::ClusterPath;
use crate::fault::Fault;
use crate::state::PortalState;

#[derive(Serialize)]
struct Shown {
    id: Id,
    grant: Id,
    /// Who types.
    person: String,
    /// `namespace/pod/container`, or the machine.
    place: String,
    began: Timestamp,
    /// Who looks on.
    watchers: Vec<String>,
}

impl From<OpenTerminal> for Shown {
    fn from(open: OpenTerminal) -> Self {
        let OpenTerminal { id, grant, person, place, began, watchers } = open;
        Self { id, grant, person, place, began, watchers }
    }
}

/// Those of this replica, the oldest first; none where the settings let nobody look on.
pub(crate) async fn list(
    State(state): State<PortalState>,
    Path(path): ClusterPath,
) -> Result<Response, Fault> {
    let id = known(&state, &path)?;
    let items: Vec<Shown> = state.0.clusters.terminals.open_in(&id).into_iter().map(Shown::from).collect();
    super::json(&Items { total: Some(items.len()), items, next: None })
}
