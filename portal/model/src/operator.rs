//! What the operator inside a cluster reports, and its flags (`contract/operator.md` §2 to §4), for pages and JSON alike.

mod flags;
mod set;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use portal_session::fault::Fault;
use rp_base::Timestamp;
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::{ClusterDocument, ResourceId, Side};
use rp_observe::{ClusterSnapshot, Kind, SliceState};
pub use rp_operator_api::conditions::Health;
use rp_operator_api::conditions::{Advice, advice};
use rp_rows::AroCluster;
use schemars::JsonSchema;
use serde::Serialize;

pub use flags::{FlagReport, FlagSource, flag_reports};
pub use set::{FlagChanges, FlagsSet, set_flags};

use crate::state::PortalState;

/// A condition, with what it means and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "OperatorCondition")]
pub struct ConditionReport {
    #[serde(rename = "type")]
    pub kind: String,
    #[schemars(extend("enum" = ["True", "False", "Unknown"]))]
    pub status: &'static str,
    pub health: Health,
    pub reason: String,
    pub message: String,
    /// Since when it has this status.
    pub since: Option<Timestamp>,
    /// What the condition is about.
    pub meaning: String,
    /// What to do; empty: nothing.
    pub action: String,
}

/// The operator of a cluster.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OperatorStatus")]
pub struct OperatorReport {
    /// When the cluster last responded.
    pub as_of: Timestamp,
    /// `stale`: the cluster does not respond any more; this is what was last seen.
    #[schemars(extend("enum" = ["live", "stale"]))]
    pub state: &'static str,
    /// Why it is stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The build that reports; empty: it has not reported yet.
    pub operator_version: String,
    /// The worst first.
    pub conditions: Vec<ConditionReport>,
    /// Every flag, then those that are not known.
    pub flags: Vec<FlagReport>,
}

/// The conditions of the `Cluster`, the worst first.
pub fn condition_reports(cluster: &AroCluster) -> Vec<ConditionReport> {
    let report = |condition: &rp_rows::Condition| {
        let status = condition.status.as_str();
        let Advice { health, meaning, action } = advice(&condition.kind, status, &condition.reason);
        ConditionReport {
            kind: condition.kind.clone(),
            status,
            health,
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            since: condition.since,
            meaning,
            action,
        }
    };
    let mut all: Vec<ConditionReport> = cluster.conditions.iter().map(report).collect();
    all.sort_by(|a, b| a.health.cmp(&b.health).then_with(|| a.kind.cmp(&b.kind)));
    all
}

/// The operator of a cluster, from the watch that pages share; waits so long for the cluster's first response.
///
/// # Errors
/// There is no such cluster, the cluster does not respond or lets nobody read it, it has no operator, or the store's.
pub async fn report(
    state: &PortalState,
    id: &ResourceId,
    patience: Duration,
) -> Result<OperatorReport, Fault> {
    let entry = state.model.index.snapshot().get(id).cloned().ok_or_else(Fault::no_cluster)?;
    let document =
        document_flags(&state.session.store, &entry.id).await.map_err(|error| Fault::store(&error))?;
    let viewing = state.model.clusters.observer.watch(&entry.id, &[Kind::AroCluster]);
    let snapshot = viewing.settled(patience).await;
    let (cluster, as_of) = seen(&snapshot)?;
    Ok(OperatorReport {
        as_of,
        state: if matches!(snapshot.aro_cluster.state, SliceState::Live) { "live" } else { "stale" },
        why: snapshot.aro_cluster.state.why().map(str::to_owned),
        operator_version: cluster.operator_version.clone(),
        conditions: condition_reports(cluster),
        flags: flag_reports(&document.unwrap_or_default(), Some(cluster)),
    })
}

/// The flags in the document of a cluster; `None`: it is no cluster of ours.
///
/// # Errors
/// The store did not answer.
pub async fn document_flags(
    store: &SharedStore,
    id: &ResourceId,
) -> Result<Option<BTreeMap<String, String>>, StoreError> {
    let documents = Typed::<ClusterDocument>::new(Arc::clone(store));
    let found = documents.get_by_key(id.key()).await?;
    Ok(found.map(|found| {
        let set = found.value.cluster.properties.operator_flags.iter();
        set.filter_map(|(name, value)| Some((name.clone(), value.get()?.clone()))).collect()
    }))
}

/// The `Cluster` as it was last seen, and when.
fn seen(snapshot: &ClusterSnapshot) -> Result<(&AroCluster, Timestamp), Fault> {
    let slice = &snapshot.aro_cluster;
    let cluster = slice.items.iter().find(|one| one.meta.name == rp_operator_api::SINGLETON);
    if let (Some(cluster), Some(as_of)) = (cluster, slice.as_of) {
        return Ok((cluster, as_of));
    }
    let away = |status, why: &str| {
        Fault::new(status, "cluster_unreachable", Side::Cluster, "The cluster did not answer")
            .why(why)
            .action("Try again in a moment; the cluster's page shows what was last known.")
    };
    Err(match &slice.state {
        SliceState::NotAsked | SliceState::Loading => {
            away(StatusCode::GATEWAY_TIMEOUT, "The first response has not come yet.")
        }
        SliceState::Failed(why) | SliceState::Stale { why, .. } => {
            away(StatusCode::BAD_GATEWAY, why.as_str())
        }
        SliceState::Forbidden(why) => {
            let what = "The cluster does not let this service read the operator's Cluster object";
            Fault::new(StatusCode::BAD_GATEWAY, "cluster_forbids", Side::Cluster, what).why(why.as_str())
        }
        SliceState::Missing | SliceState::Live => no_operator(),
    })
}

fn no_operator() -> Fault {
    Fault::new(StatusCode::NOT_FOUND, "no_operator", Side::Cluster, "The cluster has no ARO operator")
        .why("The object clusters.aro.openshift.io/cluster is not there.")
        .action("Order the maintenance task operator update, unless the cluster is imported.")
}

#[cfg(test)]
mod tests {
    use rp_observe::Slice;
    use rp_rows::Project as _;
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_700_000_000);

    fn cluster() -> AroCluster {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "message": "m"});
        let conditions = [
            condition("MachineValid", "True"),
            condition("PullSecretControllerDegraded", "True"),
            condition("DefaultClusterDNS", "Unknown"),
            condition("ServicePrincipalValid", "False"),
        ];
        AroCluster::from_json(&json!({"metadata": {"name": "cluster"}, "status": {"conditions": conditions}}))
            .unwrap()
    }

    #[test]
    fn conditions_come_worst_first_with_what_to_do() {
        let all = condition_reports(&cluster());
        let order: Vec<_> = all.iter().map(|one| (one.kind.as_str(), one.action.is_empty())).collect();
        assert_eq!(
            order,
            [
                ("PullSecretControllerDegraded", false),
                ("ServicePrincipalValid", false),
                ("DefaultClusterDNS", false),
                ("MachineValid", true),
            ]
        );
    }

    #[test]
    fn a_cluster_that_is_away_and_one_without_an_operator_differ() {
        let code = |state: SliceState, items: Vec<AroCluster>| {
            let mut snapshot = ClusterSnapshot::empty(NOW);
            let as_of = (!items.is_empty()).then_some(NOW);
            snapshot.aro_cluster = Slice { state, as_of, ..Slice::live(items, NOW) };
            seen(&snapshot).map(|_| ()).map_err(|fault| (fault.status.as_u16(), fault.code))
        };
        let why = rp_observe::DisplayText::new("no route");
        assert_eq!(code(SliceState::Loading, vec![]), Err((504, "cluster_unreachable")));
        assert_eq!(code(SliceState::Failed(why.clone()), vec![]), Err((502, "cluster_unreachable")));
        assert_eq!(code(SliceState::Forbidden(why.clone()), vec![]), Err((502, "cluster_forbids")));
        assert_eq!(code(SliceState::Missing, vec![]), Err((404, "no_operator")));
        assert_eq!(code(SliceState::Live, vec![]), Err((404, "no_operator")));
        assert_eq!(code(SliceState::Stale { since: NOW, why }, vec![cluster()]), Ok(()));
    }
}
