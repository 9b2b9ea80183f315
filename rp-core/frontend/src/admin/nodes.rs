//! Nodes of a cluster: cordoned and drained (`contract/frontend.md` §11.1).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::{Method, StatusCode};
use rp_api::CloudError;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::cluster_api::AdminApi;
use super::context::{ActionContext, within};
use super::failed;
use super::kubernetes::Resource;
use super::object_writes::flag;
use super::rules::{self, Use};
use crate::fault::Fault;
use crate::response::{Change, HttpResponse, empty};

/// Time limit of cordoning.
const CORDON: Duration = Duration::from_secs(60);
/// Time limit of draining.
const DRAIN: Duration = Duration::from_mins(3);
/// Between two looks at the pods of a node that is drained.
const PERIOD: Duration = Duration::from_secs(2);
/// Most pods of one node; OpenShift allows 2500 at most.
const MOST: usize = 2500;
/// Pods that an error names.
const NAMED: usize = 10;

/// Cordons a node (`shouldCordon=true`), or uncordons it.
pub(super) async fn cordon(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let node = node(&of)?;
    let wanted = of.text("shouldCordon") == "true";
    within(CORDON, async {
        let _signal = of.signal();
        let api = of.admin_api().await?;
        let before = set_unschedulable(&api, node, wanted).await?;
        let mut answer = empty(StatusCode::OK);
        answer.extensions_mut().insert(Change::new(schedulable(before), schedulable(wanted)));
        Ok(answer)
    })
    .await
}

fn schedulable(cordoned: bool) -> &'static str {
    if cordoned { "cordoned" } else { "schedulable" }
}

/// The node that `vmName` names, under the rules of objects.
fn node<'a>(of: &ActionContext<'a>) -> Result<&'a str, CloudError> {
    let node = of.text("vmName");
    rules::object(&Resource::core("nodes", "Node"), "", node, Use::Write)?;
    Ok(node)
}

/// Gives what it was before.
async fn set_unschedulable(api: &AdminApi, node: &str, wanted: bool) -> Result<bool, CloudError> {
    let place = format!("/api/v1/nodes/{node}");
    let before = api.call(Method::GET, &place, None).await?["spec"]["unschedulable"] == true;
    if before != wanted {
        let patch = json!({"spec": {"unschedulable": wanted}});
        api.call(Method::PATCH, &place, Some(&patch)).await?;
    }
    Ok(before)
}

/// Moves the pods of a node away. By default through evictions, which honour the budgets of disruption
/// (`contract/frontend.md` "Do better" 29); `force=true` deletes the pods, as the contract has it. Pods of daemon sets
/// and mirror pods stay; data in `emptyDir` is lost; pods without a controller are removed, too.
///
/// A call that ended early leaves the node cordoned and may be made again: it goes on with the pods that are left.
pub(super) async fn drain(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let node = node(&of)?;
    let force = flag(of.text("force"), "force")?;
    let _signal = of.signal();
    let api = of.admin_api().await?;
    let cordoned = within(CORDON, set_unschedulable(&api, node, true)).await?;
    let until = Instant::now() + DRAIN;
    let mut moved = 0;
    let mut asked = BTreeSet::new();
    loop {
        let left = pods(&api, node).await?;
        if left.is_empty() {
            break;
        }
        let mut refused = BTreeMap::new();
        for pod in &left {
            if asked.contains(&pod.uid) {
                continue;
            }
            match remove(&api, pod, force).await? {
                Removal::Begun => {
                    asked.insert(pod.uid.clone());
                    moved += 1;
                }
                Removal::Refused(why) => {
                    refused.insert(format!("{}/{}", pod.namespace, pod.name), why);
                }
            }
        }
        if Instant::now() + PERIOD > until {
            return Err(unfinished(node, &left, &refused).into());
        }
        tokio::time::sleep(PERIOD).await;
    }
    let mut answer = empty(StatusCode::OK);
    let after = format!("cordoned, {moved} pods removed");
    answer.extensions_mut().insert(Change::new(schedulable(cordoned), &after));
    Ok(answer)
}

/// What is left when the time is over, and what stands in its way.
fn unfinished(node: &str, left: &[DrainedPod], refused: &BTreeMap<String, String>) -> CloudError {
    let names = |all: &mut dyn Iterator<Item = String>| all.take(NAMED).collect::<Vec<_>>().join(", ");
    let mut waiting = left.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name));
    let mut message = format!(
        "Node '{node}' is cordoned, but {} pods are left after {} s: {}.",
        left.len(),
        DRAIN.as_secs(),
        names(&mut waiting)
    );
    if !refused.is_empty() {
        let mut why = refused.iter().map(|(pod, why)| format!("{pod}: {why}"));
        message.push_str(&format!(" Evictions that are refused: {}.", names(&mut why)));
    }
    failed(rp_base::text::clean(&message, 4096))
}

/// A pod that is to leave its node.
struct DrainedPod {
    namespace: String,
    name: String,
    uid: String,
}

async fn pods(api: &AdminApi, node: &str) -> Result<Vec<DrainedPod>, CloudError> {
    let place = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}&limit={MOST}");
    let list = api.call(Method::GET, &place, None).await?;
    let items = list["items"].as_array().into_iter().flatten();
    let all = items.filter(|pod| leaves(pod)).map(DrainedPod::new);
    // They become parts of paths, and the cluster is not trusted to name them well.
    Ok(all.filter(|pod| rules::is_name(&pod.namespace) && rules::is_name(&pod.name)).collect())
}

/// Whether a drain moves it: not pods of daemon sets, which would come back, nor those of the node itself, nor ended ones.
fn leaves(pod: &Value) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let mut owners = owners.filter(|owner| owner["controller"] == true);
    let daemon = owners.any(|owner| owner["kind"] == "DaemonSet");
    let mirror = pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_string();
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    !daemon && !mirror && !ended
}

impl DrainedPod {
    fn new(pod: &Value) -> Self {
        let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default().to_owned();
        Self { namespace: text("namespace"), name: text("name"), uid: text("uid") }
    }
}

enum Removal {
    /// Accepted, or the pod is gone.
    Begun,
    /// A budget does not allow it now.
    Refused(String),
}

async fn remove(api: &AdminApi, pod: &DrainedPod, force: bool) -> Result<Removal, CloudError> {
    let DrainedPod { namespace, name, uid } = pod;
    let place = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}});
    let done = if force {
        api.call(Method::DELETE, &place, Some(&options)).await
    } else {
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace}, "deleteOptions": options});
        api.call(Method::POST, &format!("{place}/eviction"), Some(&eviction)).await
    };
    match done {
        Ok(_) => Ok(Removal::Begun),
        // Gone, or another pod of that name.
        Err(error) if error.status == 404 || error.status == 409 => Ok(Removal::Begun),
        Err(error) if error.status == 429 => Ok(Removal::Refused(error.body.message)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_node_stays() {
        let pod = |owner: Value, annotations: Value, phase: &str| json!({"metadata": {"ownerReferences": owner, "annotations": annotations}, "status": {"phase": phase}});
        let owned = |kind: &str| json!([{"kind": kind, "controller": true}]);
        assert!(leaves(&pod(owned("ReplicaSet"), json!({}), "Running")));
        assert!(leaves(&pod(Value::Null, Value::Null, "Pending")));
        assert!(!leaves(&pod(owned("DaemonSet"), json!({}), "Running")));
        assert!(!leaves(&pod(Value::Null, json!({"kubernetes.io/config.mirror": "x"}), "Running")));
        assert!(!leaves(&pod(owned("Job"), json!({}), "Succeeded")));
    }

    #[test]
    fn an_unfinished_drain_names_what_is_left_and_why() {
        let pod = |n: usize| DrainedPod {
            namespace: "openshift-dns".to_owned(),
            name: format!("p{n}"),
            uid: n.to_string(),
        };
        let left: Vec<_> = (0..30).map(pod).collect();
        let refused = BTreeMap::from([("openshift-dns/p1".to_owned(), "budget".to_owned())]);
        let told = unfinished("n", &left, &refused).body.message;
        assert!(told.contains("30 pods are left") && told.contains("openshift-dns/p9"), "{told}");
        assert!(!told.contains("openshift-dns/p10,"), "{told}");
        assert!(told.ends_with("Evictions that are refused: openshift-dns/p1: budget."), "{told}");
    }
}
