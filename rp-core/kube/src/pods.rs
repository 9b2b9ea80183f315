//! Pods found by their labels.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use kube::client::Client;

/// A pod that is ready, and its ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyPod {
    pub namespace: String,
    pub name: String,
    /// Ports of its containers, with their names where they have one.
    pub ports: Vec<(Option<String>, u16)>,
}

/// Maximum number of pods that are listed.
const MOST: u32 = 50;

/// Ready pods with these labels, in one namespace or in all.
///
/// # Errors
/// The cluster refuses, or cannot be reached: see [`crate::connect::dial_error`].
pub async fn ready_pods(
    client: &Client,
    namespace: Option<&str>,
    labels: &str,
) -> Result<Vec<ReadyPod>, kube::Error> {
    let pods: Api<Pod> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let found = pods.list(&ListParams::default().labels(labels).limit(MOST)).await?;
    Ok(found.items.into_iter().filter_map(ready).collect())
}

/// Ready pods with these labels on one node.
///
/// # Errors
/// As [`ready_pods`].
pub async fn pods_on(
    client: &Client,
    namespace: &str,
    labels: &str,
    node: &str,
) -> Result<Vec<ReadyPod>, kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let asked = ListParams::default().labels(labels).fields(&format!("spec.nodeName={node}")).limit(MOST);
    let found = pods.list(&asked).await?;
    // Checked here too, in case the server ignores the selector: a key read on another node would be wrong.
    let here = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(node);
    Ok(found.items.into_iter().filter(here).filter_map(ready).collect())
}

fn ready(pod: Pod) -> Option<ReadyPod> {
    let conditions = pod.status?.conditions?;
    let is = |condition: &k8s_openapi::api::core::v1::PodCondition| {
        condition.type_ == "Ready" && condition.status == "True"
    };
    conditions.iter().any(is).then_some(())?;
    let containers = pod.spec.map(|spec| spec.containers).unwrap_or_default();
    let ports = containers.into_iter().flat_map(|container| container.ports.unwrap_or_default());
    Some(ReadyPod {
        namespace: pod.metadata.namespace?,
        name: pod.metadata.name?,
        ports: ports.filter_map(|port| Some((port.name, u16::try_from(port.container_port).ok()?))).collect(),
    })
}
