//! What tasks that take machines away do with nodes: cordon and drain them, and wait until they serve again.

use std::time::Duration;

use rp_actions::control_plane::{ETCD, MACHINES, Operator};
use rp_actions::{DrainOptions, DrainPod, DrainReport, Mode};
use rp_openshift::{ClusterOperator, MainRole, Node, Whole};
use serde_json::Value;

use crate::context::Context;
use crate::errors::StepError;
use crate::kube_api::{Kube, Tries, retry};
use crate::step::ConditionStatus;

/// Limit of a step that only reads and writes objects.
pub(super) const SHORT: Duration = Duration::from_mins(2);
/// For what Azure does with a machine.
pub(super) const MACHINE: Duration = Duration::from_mins(10);
pub(super) const DRAIN: Duration = Duration::from_mins(11);
/// Attempts of a call of a step.
const TRIES: u32 = 3;
/// How long evictions are waited for in one attempt.
const EVICTIONS: Duration = Duration::from_mins(3);
/// Pods that a line names.
const NAMED: usize = 10;

/// Makes a call to the cluster again while it fails.
pub(super) async fn again<F: Future<Output = Result<(), StepError>>>(
    context: &Context,
    attempt: impl Fn() -> F,
) -> Result<(), StepError> {
    retry(context, Tries { most: TRIES, pause: Duration::from_secs(1) }, is_failure, attempt).await
}

/// Makes a call to Azure again while it fails.
pub(super) async fn azure_again<F: Future<Output = Result<(), StepError>>>(
    context: &Context,
    attempt: impl Fn() -> F,
) -> Result<(), StepError> {
    retry(context, Tries { most: TRIES, pause: Duration::from_secs(5) }, is_failure, attempt).await
}

fn is_failure(error: &StepError) -> bool {
    !error.is_interruption()
}

/// What happens to pods that budgets of disruption hold back to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastResort {
    /// They are deleted in the last attempt (`contract/frontend.md` "Do better" 29).
    Delete,
    /// They stay, and the drain fails.
    Fail,
}

/// Moves the pods away by evictions, which honour the budgets of disruption. An API server that does not answer is no
/// reason for the last resort.
pub(super) async fn drain(context: &Context, node: &str, last: LastResort) -> Result<(), StepError> {
    let (mut held_back, mut errors) = (0, 0);
    loop {
        let is_last = held_back + 1 == TRIES;
        let failed = match drain_once(context, node, is_last && last == LastResort::Delete).await {
            Ok(None) => return Ok(()),
            Ok(Some(left)) if is_last => return Err(left),
            Ok(Some(left)) => {
                held_back += 1;
                left
            }
            Err(error) if error.is_interruption() || errors + 1 == TRIES => return Err(error),
            Err(error) => {
                errors += 1;
                error
            }
        };
        context.waiting(&failed.to_string());
        context.sleep(Duration::from_secs(2).min(context.env.periods.poll)).await?;
    }
}

/// One attempt. Gives the pods that are left as an error when its time is over.
async fn drain_once(context: &Context, node: &str, force: bool) -> Result<Option<StepError>, StepError> {
    let options = DrainOptions { force, mode: Mode::Change, wait: patience(context) };
    let mut report = DrainReport::default();
    let drained = async {
        let kube = Kube::connect(context)?;
        rp_actions::drain(&kube, node, options, &mut report).await.map_err(StepError::from)
    };
    let drained = context.unless_stopping(drained).await;
    if force && !report.moved.is_empty() {
        let names = names(report.moved.iter().cloned());
        tracing::warn!(
            resource_id = context.document().cluster_id(),
            node,
            pods = names,
            "pods were deleted that could not be evicted"
        );
        context.record_line("warning", &format!("{node}: not evicted in time, deleted: {names}"));
    }
    drained??;
    let left = || names(report.left.iter().map(DrainPod::place));
    Ok((!report.done).then(|| StepError::other(format!("node {node} has pods left: {}", left()))))
}

/// How long one attempt waits: where a region bounds its steps, a part of that, so that all attempts fit in.
fn patience(context: &Context) -> Duration {
    context.env.periods.longest.map_or(EVICTIONS, |longest| EVICTIONS.min(longest / 4))
}

fn names(all: impl Iterator<Item = String>) -> String {
    all.take(NAMED).collect::<Vec<_>>().join(", ")
}

pub(super) async fn control_plane_nodes(kube: &Kube) -> Result<Vec<Node<Whole>>, StepError> {
    let label = format!("node-role.kubernetes.io/{}=", MainRole::Master.as_str());
    kube.list("/api/v1/nodes", &label).await
}

pub(super) async fn check_operator(kube: &Kube, rule: Operator) -> Result<(), StepError> {
    rule.check(&kube.get_required(&rule.path()).await?).map_err(StepError::other)
}

/// The name of the node of the order's machine: the machine's own where the cluster names none.
pub(super) async fn node_name(context: &Context, kube: &Kube) -> Result<String, StepError> {
    let name = &context.order().machine;
    let machine: Option<Value> = kube.get(&format!("{MACHINES}/{name}")).await?;
    let node = machine.as_ref().and_then(|machine| machine["status"]["nodeRef"]["name"].as_str());
    let node = node.unwrap_or(name);
    match rp_actions::rules::is_name(node) {
        true => Ok(node.to_owned()),
        false => Err(StepError::other(format!("Machine {name} names a node that has no valid name."))),
    }
}

pub(super) fn node_path(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

pub(super) async fn is_ready(context: &Context, name: &str) -> Result<ConditionStatus, StepError> {
    let node = Kube::connect(context)?.get_required(&node_path(name)).await?;
    Ok(readiness(&node, name))
}

pub(super) fn readiness(node: &Node<Whole>, name: &str) -> ConditionStatus {
    match node.ready().is_true() {
        true => ConditionStatus::Yes,
        false => ConditionStatus::not_yet(format!("node {name} is not Ready")),
    }
}

pub(super) async fn is_etcd_healthy(context: &Context) -> Result<ConditionStatus, StepError> {
    let etcd: ClusterOperator<Whole> = Kube::connect(context)?.get_required(&ETCD.path()).await?;
    Ok(etcd.unsettled(ETCD.name).map_or(ConditionStatus::Yes, ConditionStatus::NotYet))
}

/// The API server may be away while a machine is.
pub(super) fn unread_is_not_yet(looked: Result<ConditionStatus, StepError>) -> ConditionStatus {
    looked.unwrap_or_else(|error| ConditionStatus::not_yet(error.to_string()))
}
