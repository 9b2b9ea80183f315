//! `/api/v1/clusters{RES}/…`: what a person does with objects of a cluster (`contract/frontend.md` §11.1).

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
pub use portal_model::actions::ActionResult;
use portal_model::actions::{Action, ActionOrder, Decision, MOST_WAIT, WorkloadKind, act};
use portal_model::saved::invalid;
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::body;
use crate::prom::cluster;

/// How long a drain waits when nothing is said, in seconds.
const WAIT: u64 = 10;

/// An action that needs nothing but a reason.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({"reason": "INC-1234 the node's disk fails"}))]
pub struct ActionRequest {
    /// Why, for the record; a dry run needs none.
    #[serde(default)]
    reason: String,
    /// Only checked by the cluster: nothing is changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({"reason": "INC-1234 the node's disk fails", "waitSeconds": 10}))]
pub struct DrainRequest {
    /// Why, for the record; a dry run needs none.
    #[serde(default)]
    reason: String,
    /// Asks for each pod whether it could be moved now: nothing is changed.
    #[serde(default)]
    dry_run: bool,
    /// Deletes the pods instead of evicting them: budgets of disruption are not honoured.
    #[serde(default)]
    force: bool,
    /// How long to wait for pods to leave, in seconds, 0 to 15; without it 10. What is left then is in the answer: the same
    /// request goes on with it.
    #[serde(default)]
    wait_seconds: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({"reason": "INC-1234 the pod hangs in its termination"}))]
pub struct DeletePodRequest {
    /// Why, for the record; a dry run needs none.
    #[serde(default)]
    reason: String,
    /// Only checked by the cluster: nothing is changed.
    #[serde(default)]
    dry_run: bool,
    /// At once, without waiting for its kubelet.
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({"reason": "INC-1234 more load than two can take", "replicas": 3, "from": 2}))]
pub struct ScaleRequest {
    /// Why, for the record; a dry run needs none.
    #[serde(default)]
    reason: String,
    /// Only checked by the cluster: nothing is changed.
    #[serde(default)]
    dry_run: bool,
    /// 0 to 1000.
    replicas: u32,
    /// Refused when the workload has another number now; without it any.
    #[serde(default)]
    from: Option<u32>,
}

type ObjectPath = Path<(String, String, String, String)>;
type PodPath = Path<(String, String, String, String, String)>;
type WorkloadPath = Path<(String, String, String, String, String, String)>;

async fn done(
    state: &PortalState,
    user: &CurrentUser,
    path: (String, String, String),
    order: ActionOrder,
) -> Result<Response, Fault> {
    json(&act(state, user, &cluster(&path)?, order).await.map_err(Fault::from)?)
}

fn order(action: Action, reason: String, dry_run: bool) -> ActionOrder {
    ActionOrder { action, reason, dry_run, wait: Duration::ZERO }
}

/// An action on an object that its name is enough for.
async fn done_by_name(
    state: &PortalState,
    user: &CurrentUser,
    Path((sub, group, cluster, name)): ObjectPath,
    bytes: &Bytes,
    action: impl FnOnce(String) -> Action,
) -> Result<Response, Fault> {
    let ActionRequest { reason, dry_run } = body(bytes)?;
    done(state, user, (sub, group, cluster), order(action(name), reason, dry_run)).await
}

/// Keeps new pods away from a node.
pub async fn cordon(
    State(state): State<PortalState>,
    user: CurrentUser,
    path: ObjectPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    done_by_name(&state, &user, path, &bytes, |node| Action::Cordon { node }).await
}

/// Lets a node take pods again.
pub async fn uncordon(
    State(state): State<PortalState>,
    user: CurrentUser,
    path: ObjectPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    done_by_name(&state, &user, path, &bytes, |node| Action::Uncordon { node }).await
}

/// Cordons a node and moves its pods away, for as long as is waited.
pub async fn drain(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path((sub, group, name, node)): ObjectPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let DrainRequest { reason, dry_run, force, wait_seconds } = body(&bytes)?;
    let wait = Duration::from_secs(wait_seconds.unwrap_or(WAIT));
    if wait > MOST_WAIT {
        return Err(invalid(format!("waitSeconds: 0 to {}", MOST_WAIT.as_secs())));
    }
    let action = Action::Drain { node, force };
    done(&state, &user, (sub, group, name), ActionOrder { action, reason, dry_run, wait }).await
}

/// Approves a certificate signing request.
pub async fn approve_csr(
    State(state): State<PortalState>,
    user: CurrentUser,
    path: ObjectPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    done_by_name(&state, &user, path, &bytes, |csr| Action::Decide { csr, decision: Decision::Approve }).await
}

/// Denies a certificate signing request.
pub async fn deny_csr(
    State(state): State<PortalState>,
    user: CurrentUser,
    path: ObjectPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    done_by_name(&state, &user, path, &bytes, |csr| Action::Decide { csr, decision: Decision::Deny }).await
}

/// Deletes a pod of the platform.
pub async fn delete_pod(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path((sub, group, cluster, namespace, name)): PodPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let DeletePodRequest { reason, dry_run, force } = body(&bytes)?;
    let action = Action::DeletePod { namespace, name, force };
    done(&state, &user, (sub, group, cluster), order(action, reason, dry_run)).await
}

/// The kind of a workload in a path.
fn kind(text: &str) -> Result<WorkloadKind, Fault> {
    WorkloadKind::named(text).ok_or_else(Fault::not_found)
}

/// Makes the pods of a workload of the platform anew.
pub async fn restart(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path((sub, group, cluster, kind_name, namespace, name)): WorkloadPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let ActionRequest { reason, dry_run } = body(&bytes)?;
    let action = Action::Restart { kind: kind(&kind_name)?, namespace, name };
    done(&state, &user, (sub, group, cluster), order(action, reason, dry_run)).await
}

/// Asks a workload of the platform for another number of replicas.
pub async fn scale(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path((sub, group, cluster, kind_name, namespace, name)): WorkloadPath,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let ScaleRequest { reason, dry_run, replicas: to, from } = body(&bytes)?;
    let action = Action::Scale { kind: kind(&kind_name)?, namespace, name, from, to };
    done(&state, &user, (sub, group, cluster), order(action, reason, dry_run)).await
}
