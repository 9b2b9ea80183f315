//! Nodes, machines, operators, pods and the like of one cluster, as JSON: `GET /api/v1/clusters{RES}/{what}`.
//!
//! Served from the watches that pages share: a second request costs the cluster nothing. Lists are never null, and
//! `state` tells how current the list is.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use rp_base::Timestamp;
use rp_documents::{ResourceId, Side};
use rp_observe::{ClusterSnapshot, Kind, Slice, SliceState};
use rp_rows::Project;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Query;
use crate::prom::{ClusterPath, cluster};

/// How long a script waits for a cluster's first response.
const PATIENCE: Duration = Duration::from_secs(20);

/// The query of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ObjectsQuery {
    /// Only of this namespace.
    namespace: Option<String>,
    /// Only those whose name begins so.
    name: Option<String>,
    /// Rows at most.
    limit: Option<usize>,
}

/// A list and how well it is known.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Objects")]
pub struct ObjectsResponse<T = Value> {
    /// When the cluster last responded; `null`: never.
    as_of: Option<Timestamp>,
    /// `live`, `loading`, `stale`, `forbidden`, `missing` or `failed`.
    state: &'static str,
    /// Why it is not live.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Objects that are not in the list: beyond our bound, or beyond `limit`.
    left_out: usize,
    items: Vec<T>,
}

/// What each list has; the handler has the rows as JSON already.
pub type Nodes = ObjectsResponse<rp_rows::Node>;
pub type Machines = ObjectsResponse<rp_rows::Machine>;
pub type MachineSets = ObjectsResponse<rp_rows::MachineSet>;
pub type Operators = ObjectsResponse<rp_rows::Operator>;
pub type Pods = ObjectsResponse<rp_rows::Pod>;
pub type Events = ObjectsResponse<rp_rows::Event>;
pub type Workloads = ObjectsResponse<rp_rows::Workload>;

/// The list that the last segment of the path names.
pub async fn list(
    State(state): State<PortalState>,
    Path(path): ClusterPath,
    Query(asked): Query<ObjectsQuery>,
    uri: Uri,
) -> Result<Response, Fault> {
    let id = known_cluster(&state, &path)?;
    let what = uri.path().rsplit('/').next().unwrap_or_default();
    let kinds = kinds(what).ok_or_else(Fault::not_found)?;
    let viewing = state.model.clusters.observer.watch(&id, kinds);
    let snapshot = viewing.settled(PATIENCE).await;
    let answer = answer(&snapshot, kinds, &asked);
    if answer.as_of.is_none() {
        refuse(&answer)?;
    }
    json(&answer)
}

/// The cluster that a path names, if we have it.
pub fn known_cluster(state: &PortalState, path: &(String, String, String)) -> Result<ResourceId, Fault> {
    let id = cluster(path)?;
    let entry = state.model.index.snapshot().get(&id).cloned().ok_or_else(Fault::no_cluster)?;
    Ok(entry.id.clone())
}

fn kinds(what: &str) -> Option<&'static [Kind]> {
    Some(match what {
        "nodes" => &[Kind::Nodes],
        "machines" => &[Kind::Machines],
        "machinesets" => &[Kind::MachineSets],
        "operators" => &[Kind::Operators],
        "pods" => &[Kind::Pods],
        "events" => &[Kind::Events],
        "workloads" => &Kind::WORKLOADS,
        _ => return None,
    })
}

/// The error when there is no data to return.
fn refuse(answer: &ObjectsResponse) -> Result<(), Fault> {
    let why = answer.why.clone().unwrap_or_default();
    match answer.state {
        "loading" => Err(unavailable(StatusCode::GATEWAY_TIMEOUT, "The first list has not come yet.")),
        "failed" => Err(unavailable(StatusCode::BAD_GATEWAY, &why)),
        _ => Ok(()),
    }
}

/// The cluster did not answer.
pub fn unavailable(status: StatusCode, why: &str) -> Fault {
    Fault::new(status, "cluster_unreachable", Side::Cluster, "The cluster did not answer")
        .why(why)
        .action("Try again in a moment; the cluster's page shows what was last known.")
}

fn answer(snapshot: &ClusterSnapshot, kinds: &[Kind], asked: &ObjectsQuery) -> ObjectsResponse {
    let mut answer =
        ObjectsResponse { as_of: None, state: "live", why: None, left_out: 0, items: Vec::new() };
    for kind in kinds {
        match kind {
            Kind::Nodes => answer.add(&snapshot.nodes, asked),
            Kind::Machines => answer.add(&snapshot.machines, asked),
            Kind::MachineSets => answer.add(&snapshot.machine_sets, asked),
            Kind::Operators => answer.add(&snapshot.operators, asked),
            Kind::Pods => answer.add(&snapshot.pods, asked),
            Kind::Events => answer.add(&snapshot.events, asked),
            Kind::Deployments => answer.add(&snapshot.deployments, asked),
            Kind::DaemonSets => answer.add(&snapshot.daemon_sets, asked),
            Kind::StatefulSets => answer.add(&snapshot.stateful_sets, asked),
            _ => {}
        }
    }
    if let Some(limit) = asked.limit.filter(|limit| *limit < answer.items.len()) {
        answer.left_out += answer.items.len() - limit;
        answer.items.truncate(limit);
    }
    answer
}

impl ObjectsResponse {
    /// Of several kinds the worst state counts, and the oldest time of the cluster's responses.
    fn add<T: Project>(&mut self, slice: &Slice<T>, asked: &ObjectsQuery) {
        let first = self.as_of.is_none() && self.items.is_empty() && self.why.is_none();
        if first || (self.state == "live" && slice.state != SliceState::Live) {
            self.state = slice.state.word();
            self.why = slice.state.why().map(str::to_owned);
        }
        self.as_of = match (self.as_of, slice.as_of) {
            (Some(ours), Some(other)) => Some(ours.min(other)),
            (ours, other) => ours.or(other),
        };
        self.left_out += slice.left_out;
        let wanted = |item: &&T| {
            let (namespace, name) = item.key();
            asked.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
                && asked.name.as_deref().is_none_or(|wanted| name.starts_with(wanted))
        };
        let items = slice.iter().filter(wanted).filter_map(|item| serde_json::to_value(item).ok());
        self.items.extend(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rp_rows::{Node, Workload};
    use serde_json::json;

    fn node(name: &str) -> Node {
        Node::from_json(&json!({"metadata": {"name": name}})).unwrap()
    }

    #[test]
    fn a_list_says_how_well_it_is_known_and_is_never_null() {
        let at = Timestamp::from_seconds(1_700_000_000);
        let mut snapshot = ClusterSnapshot::empty(at);
        let asked = ObjectsQuery::default();
        let none = serde_json::to_value(answer(&snapshot, &[Kind::Nodes], &asked)).unwrap();
        assert_eq!(none, json!({"as_of": null, "state": "not_asked", "left_out": 0, "items": []}));
        snapshot.nodes = Slice::live(vec![node("a"), node("b")], at);
        let both = answer(&snapshot, &[Kind::Nodes], &asked);
        assert_eq!((both.state, both.items.len()), ("live", 2));
        let one =
            answer(&snapshot, &[Kind::Nodes], &ObjectsQuery { limit: Some(1), ..ObjectsQuery::default() });
        assert_eq!((one.items.len(), one.left_out), (1, 1));
        let named = answer(
            &snapshot,
            &[Kind::Nodes],
            &ObjectsQuery { name: Some("b".to_owned()), ..ObjectsQuery::default() },
        );
        assert_eq!(named.items[0]["name"], "b");
    }

    #[test]
    fn of_several_kinds_the_worst_is_said() {
        let at = Timestamp::from_seconds(1_700_000_000);
        let mut snapshot = ClusterSnapshot::empty(at);
        let object = json!({"metadata": {"name": "w", "namespace": "openshift-dns"}});
        snapshot.deployments = Slice::live(vec![Workload::from_json(&object).unwrap()], at);
        snapshot.daemon_sets = Slice::live(Vec::new(), at);
        snapshot.stateful_sets.state = SliceState::Missing;
        let all = answer(&snapshot, &Kind::WORKLOADS, &ObjectsQuery::default());
        assert_eq!((all.state, all.items.len()), ("missing", 1));
    }
}
