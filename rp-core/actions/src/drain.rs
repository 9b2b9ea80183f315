//! Nodes that are emptied: their pods are moved away by evictions, which honour the budgets of disruption.
//!
//! Pods of daemon sets and mirror pods stay, for they would come back; so do pods that have ended. Data in `emptyDir` is
//! lost, and a pod without a controller is not made anew elsewhere: a dry run names both.

use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::nodes::{schedulable, set_unschedulable};
use crate::{ActionError, ClusterApi, Mode, controller, rules, text_at};

/// Between two looks at the pods of a node that is drained.
const PERIOD: Duration = Duration::from_secs(2);
/// Most pods of one node; OpenShift allows 2500 at most.
const MOST: usize = 2500;
/// Characters of a refusal.
const MOST_WHY: usize = 500;

/// How a node is drained.
#[derive(Debug, Clone, Copy)]
pub struct DrainOptions {
    /// Deletes the pods instead of evicting them: budgets are not honoured.
    pub force: bool,
    pub mode: Mode,
    /// How long to wait for pods to leave. The last look begins within it.
    pub wait: Duration,
}

/// How a pod stands in a drain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PodState {
    /// Only tried: it could be moved now.
    Movable,
    /// A budget does not allow it now.
    Blocked,
    /// It is being stopped.
    Leaving,
    /// It was not asked to leave yet.
    #[default]
    Waiting,
}

/// A pod that a drain moves away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrainPod {
    pub namespace: String,
    pub name: String,
    /// `Kind/name`, as of `ReplicaSet/web-5d9f`; empty: nothing makes the pod anew elsewhere.
    pub controller: String,
    /// It keeps data in `emptyDir` volumes, which is lost.
    pub local_data: bool,
    pub state: PodState,
    /// What the API server said where the pod is blocked.
    pub why: String,
    /// Names this pod and no other of its name.
    #[serde(skip)]
    pub uid: String,
}

/// What a drain did so far. A drain that was not finished goes on with what is left when it is called again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DrainReport {
    /// Whether the node was cordoned before.
    pub cordoned_before: bool,
    /// Whether the node is cordoned now.
    pub cordoned: bool,
    /// Pods that were asked to leave by this call, `namespace/name`.
    pub moved: Vec<String>,
    /// Pods that are still on the node.
    pub left: Vec<DrainPod>,
    /// Whether no pod is left that a drain moves.
    pub done: bool,
}

/// Cordons a node and moves its pods away, and fills in what it did; the report is right whether it ends well or not.
/// Without an error and not `done`: the time is over.
///
/// # Errors
/// The name is none, or the API server's: what was done until then stands in the report.
pub async fn drain<A: ClusterApi>(
    api: &A,
    node: &str,
    options: DrainOptions,
    report: &mut DrainReport,
) -> Result<(), ActionError<A::Error>> {
    let until = Instant::now() + options.wait;
    let change = set_unschedulable(api, node, true, options.mode).await?;
    report.cordoned_before = !change.changes();
    report.cordoned = options.mode == Mode::Change || report.cordoned_before;
    let mut asked = BTreeSet::new();
    loop {
        report.left = pods(api, node, &asked).await?;
        for pod in report.left.iter_mut().filter(|pod| pod.state == PodState::Waiting) {
            let told = remove(api, pod, options).await?;
            pod.state = told.0;
            pod.why = told.1;
            if told.0 == PodState::Leaving {
                asked.insert(pod.uid.clone());
                report.moved.push(pod.place());
            }
        }
        report.done = report.left.is_empty();
        if report.done || options.mode == Mode::DryRun || Instant::now() + PERIOD > until {
            return Ok(());
        }
        tokio::time::sleep(PERIOD).await;
    }
}

/// The pods that a drain moves. `asked`: those that were asked to leave.
async fn pods<A: ClusterApi>(
    api: &A,
    node: &str,
    asked: &BTreeSet<String>,
) -> Result<Vec<DrainPod>, ActionError<A::Error>> {
    let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}&limit={MOST}");
    let list = api.call(Method::GET, &path, None).await?;
    let items = list["items"].as_array().into_iter().flatten();
    let all = items.filter(|pod| leaves(pod)).map(|pod| DrainPod::new(pod, asked));
    // They become parts of paths, and the cluster is not trusted to name them well.
    Ok(all.filter(|pod| rules::is_name(&pod.namespace) && rules::is_name(&pod.name)).collect())
}

/// Whether a drain moves it: not pods of daemon sets, which would come back, nor those of the node itself, nor ended ones.
fn leaves(pod: &Value) -> bool {
    let daemon = controller(pod).starts_with("DaemonSet/");
    let mirror = pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_string();
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    !daemon && !mirror && !ended
}

impl DrainReport {
    /// The word of the node's state before.
    pub const fn before(&self) -> &'static str {
        schedulable(self.cordoned_before)
    }

    /// The word of the node's state now.
    pub const fn after(&self) -> &'static str {
        schedulable(self.cordoned)
    }
}

impl DrainPod {
    /// `namespace/name`.
    pub fn place(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    fn new(pod: &Value, asked: &BTreeSet<String>) -> Self {
        let uid = text_at(pod, "/metadata/uid").to_owned();
        let going = pod["metadata"]["deletionTimestamp"].is_string() || asked.contains(&uid);
        let mut volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        Self {
            namespace: text_at(pod, "/metadata/namespace").to_owned(),
            name: text_at(pod, "/metadata/name").to_owned(),
            controller: controller(pod),
            local_data: volumes.any(|volume| volume["emptyDir"].is_object()),
            state: if going { PodState::Leaving } else { PodState::Waiting },
            why: String::new(),
            uid,
        }
    }
}

/// Asks a pod to leave. The pod that is meant is named by its uid, so that its successor of the same name stays.
async fn remove<A: ClusterApi>(
    api: &A,
    pod: &DrainPod,
    options: DrainOptions,
) -> Result<(PodState, String), ActionError<A::Error>> {
    let DrainPod { namespace, name, uid, .. } = pod;
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    let done = if options.force {
        api.call(Method::DELETE, &path, Some(&options.mode.delete_options(uid))).await
    } else {
        // Of an eviction the API server reads the query, and passes the dry run on.
        let delete = Mode::Change.delete_options(uid);
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace}, "deleteOptions": delete});
        api.call(Method::POST, &options.mode.path(&format!("{path}/eviction")), Some(&eviction)).await
    };
    let good = if options.mode == Mode::DryRun { PodState::Movable } else { PodState::Leaving };
    match done {
        Ok(_) => Ok((good, String::new())),
        // Gone, or another pod of that name.
        Err(error) if matches!(error.status, Some(404 | 409)) => Ok((good, String::new())),
        Err(error) if error.status == Some(429) => {
            Ok((PodState::Blocked, rp_base::text::clean(&error.message, MOST_WHY)))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_api::TestApi;

    const PODS: &str = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn&limit=2500";
    const WAIT: DrainOptions =
        DrainOptions { force: false, mode: Mode::Change, wait: Duration::from_secs(10) };

    fn pod(name: &str, kind: &str) -> Value {
        let owners = if kind.is_empty() {
            json!([])
        } else {
            json!([{"kind": kind, "name": "o", "controller": true}])
        };
        json!({"metadata": {"name": name, "namespace": "openshift-dns", "uid": format!("uid-{name}"), "ownerReferences": owners},
            "spec": {"volumes": [{"emptyDir": {}}]}, "status": {"phase": "Running"}})
    }

    fn node() -> TestApi {
        TestApi::new().with("/api/v1/nodes/n", json!({"spec": {}}))
    }

    fn eviction(name: &str) -> String {
        format!("POST /api/v1/namespaces/openshift-dns/pods/{name}/eviction")
    }

    #[test]
    fn what_belongs_to_the_node_stays() {
        let with = |kind: &str, annotations: Value, phase: &str| {
            let mut pod = pod("p", kind);
            pod["metadata"]["annotations"] = annotations;
            pod["status"]["phase"] = json!(phase);
            leaves(&pod)
        };
        assert!(with("ReplicaSet", json!({}), "Running"));
        assert!(with("", Value::Null, "Pending"));
        assert!(!with("DaemonSet", json!({}), "Running"));
        assert!(!with("", json!({"kubernetes.io/config.mirror": "x"}), "Running"));
        assert!(!with("Job", json!({}), "Succeeded"));
    }

    #[tokio::test(start_paused = true)]
    async fn pods_are_evicted_once_and_waited_for() {
        let list = |pods: &[Value]| json!({"items": pods});
        let api = node().with(PODS, list(&[pod("a", "ReplicaSet"), pod("d", "DaemonSet"), pod("../x", "")]));
        let api = api.then(PODS, list(&[pod("a", "ReplicaSet")])).then(PODS, list(&[]));
        let mut report = DrainReport::default();
        drain(&api, "n", WAIT, &mut report).await.unwrap();
        assert!(report.done && report.cordoned && !report.cordoned_before, "{report:?}");
        assert_eq!(report.moved, ["openshift-dns/a"]);
        assert_eq!(api.writes(), ["PATCH /api/v1/nodes/n".to_owned(), eviction("a")]);
        assert_eq!(api.bodies()[1]["deleteOptions"]["preconditions"]["uid"], "uid-a");
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_budget_blocks_is_named_and_left() {
        let api = node().with(PODS, json!({"items": [pod("a", ""), pod("b", "ReplicaSet")]}));
        let api = api.refuses(&eviction("a"), 429, "needs 1 healthy pods");
        let mut report = DrainReport::default();
        drain(&api, "n", WAIT, &mut report).await.unwrap();
        assert!(!report.done);
        let left = &report.left;
        assert_eq!((left[0].state, left[0].why.as_str()), (PodState::Blocked, "needs 1 healthy pods"));
        assert_eq!((left[1].state, left[0].local_data), (PodState::Leaving, true));
        assert_eq!((left[0].controller.as_str(), left[1].controller.as_str()), ("", "ReplicaSet/o"));
        let asked = |name: &str| api.writes().iter().filter(|one| **one == eviction(name)).count();
        assert!(asked("a") > 1 && asked("b") == 1, "{:?}", api.writes());
    }

    #[tokio::test(start_paused = true)]
    async fn a_dry_run_changes_nothing_and_force_deletes() {
        let api = node().with(PODS, json!({"items": [pod("a", ""), pod("b", "")]}));
        let api = api.refuses(&format!("{}?dryRun=All", eviction("b")), 429, "no");
        let mut report = DrainReport::default();
        drain(&api, "n", DrainOptions { mode: Mode::DryRun, ..WAIT }, &mut report).await.unwrap();
        let states: Vec<_> = report.left.iter().map(|pod| pod.state).collect();
        assert_eq!(states, [PodState::Movable, PodState::Blocked]);
        assert!(!report.cordoned && report.moved.is_empty() && !report.done, "{report:?}");
        assert!(api.writes().iter().all(|one| one.ends_with("?dryRun=All")), "{:?}", api.writes());

        let api = node().with(PODS, json!({"items": [pod("a", "")]})).then(PODS, json!({"items": []}));
        let mut report = DrainReport::default();
        drain(&api, "n", DrainOptions { force: true, ..WAIT }, &mut report).await.unwrap();
        assert!(report.done);
        assert_eq!(api.writes()[1], "DELETE /api/v1/namespaces/openshift-dns/pods/a");

        let api = node().with(PODS, json!({"items": [pod("a", "")]}));
        let tried = DrainOptions { force: true, mode: Mode::DryRun, ..WAIT };
        drain(&api, "n", tried, &mut DrainReport::default()).await.unwrap();
        assert_eq!(api.bodies()[1]["dryRun"], json!(["All"]), "{:?}", api.writes());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_keeps_what_was_done() {
        let api = node().with(PODS, json!({"items": [pod("a", ""), pod("b", "")]}));
        let api = api.refuses(&eviction("b"), 500, "etcd leader changed");
        let mut report = DrainReport::default();
        let told = drain(&api, "n", WAIT, &mut report).await;
        assert!(matches!(told, Err(ActionError::Call(error)) if error.status == Some(500)));
        assert_eq!(report.moved, ["openshift-dns/a"]);
    }
}
