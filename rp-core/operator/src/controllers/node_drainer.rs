//! Nodes whose drain does not end (`contract/operator.md` §8.23): after an hour their pods are deleted, so that an upgrade
//! goes on although a disruption budget blocks it.

mod state;

use std::time::Duration;

use rp_base::Timestamp;
use rp_openshift::{Node, Whole};
use rp_operator_api::conditions::State;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use self::state::{DRAIN_START, Drain, drain_of};
use crate::api::Api;
use crate::controller::{Outcome, ReconcileError, Reconciled, Run};
use crate::kinds::{NODE, ObjectName, POD};

/// How long a drain may take.
const PATIENCE: Duration = Duration::from_secs(3600);
/// How long deleted pods may take to end.
const DELETION: Duration = Duration::from_secs(60);
/// How often it is checked whether they ended.
const POLL: Duration = Duration::from_secs(5);
/// A node is cordoned some time after its state changes, and nothing of its metadata changes then.
const SOON: Duration = Duration::from_secs(300);
/// Pods that are read of all nodes.
const MOST_PODS: usize = 50_000;

pub(super) async fn reconcile(run: &Run<'_>) -> Reconciled {
    let name = ObjectName::of_cluster(&NODE, run.key);
    let Some(object) = run.api().get(name).await? else { return Ok(Outcome::clear().gone()) };
    let node = Node::<Whole>::deserialize(&object);
    let node = node.map_err(|_| ReconcileError::invalid(format!("node {} cannot be read", run.key)))?;
    let started = node.metadata.annotations.get(DRAIN_START);
    match drain_of(&node) {
        Drain::ControlPlane => Ok(Outcome::clear()),
        Drain::None | Drain::Announced if started.is_some() => {
            set_start(run.api(), name, &Value::Null).await?;
            Ok(Outcome::clear())
        }
        Drain::None => Ok(Outcome::clear()),
        Drain::Announced => Ok(Outcome { requeue: Some(SOON), ..Outcome::clear() }),
        Drain::Running => draining(run, name, started).await,
    }
}

async fn draining(run: &Run<'_>, name: ObjectName<'_>, started: Option<&str>) -> Reconciled {
    let now = run.context.clock.now();
    let Some(began) = started.and_then(|text| Timestamp::parse(text).ok()) else {
        let whole = Timestamp::from_seconds(now.seconds());
        set_start(run.api(), name, &json!(whole.to_string())).await?;
        return Ok(progressing(run.key, PATIENCE));
    };
    let left = PATIENCE.saturating_sub(now.since(began));
    if !left.is_zero() {
        return Ok(progressing(run.key, left));
    }
    tracing::warn!(machine = run.key, "the drain takes too long: deleting pods");
    delete_pods(run.api(), run.key).await?;
    set_start(run.api(), name, &Value::Null).await?;
    Ok(Outcome::clear())
}

fn progressing(node: &str, left: Duration) -> Outcome {
    let state = Some(State::Progressing(format!("Draining node {node}")));
    Outcome { state, requeue: Some(left), ..Outcome::default() }
}

async fn set_start(api: &Api, name: ObjectName<'_>, value: &Value) -> Result<(), ReconcileError> {
    api.merge(name, &json!({ "metadata": { "annotations": { DRAIN_START: value } } })).await?;
    Ok(())
}

/// Deletes the pods of a node, with their own grace periods, and waits until they ended. Pods of DaemonSets stay, and so
/// do those that the kubelet makes itself.
async fn delete_pods(api: &Api, node: &str) -> Result<(), ReconcileError> {
    let began = Instant::now();
    let mut first = true;
    loop {
        let pods = api.list_where(&POD, "", &format!("spec.nodeName={node}"), MOST_PODS).await?;
        let movable: Vec<_> = pods.iter().filter(|pod| state::is_movable(pod)).collect();
        if movable.is_empty() {
            return Ok(());
        }
        if began.elapsed() >= DELETION {
            let left = movable.len();
            return Err(ReconcileError::invalid(format!(
                "{left} pods of node {node} have not ended in time"
            )));
        }
        for pod in movable.iter().filter(|_| first) {
            let Some(name) = ObjectName::of(pod) else { continue };
            // The same pod, not one of the same name that came after it.
            let uid = pod.pointer("/metadata/uid").cloned().unwrap_or_default();
            api.delete_with(name, &json!({ "preconditions": { "uid": uid } })).await?;
        }
        first = false;
        sleep(POLL).await;
    }
}
