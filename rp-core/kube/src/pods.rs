//! Pods found by their labels.

use kube::api::ListParams;
use kube::client::Client;
use rp_openshift::{ContainerPort, Pod, Whole};

use crate::list::page;

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
    let asked = ListParams::default().labels(labels).limit(MOST);
    let found = page(client, &path(namespace), &asked).await?;
    Ok(found.items.iter().filter_map(ready).collect())
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
    let asked = ListParams::default().labels(labels).fields(&format!("spec.nodeName={node}")).limit(MOST);
    let found = page(client, &path(Some(namespace)), &asked).await?;
    // Checked here too, in case the server ignores the selector: a key read on another node would be wrong.
    let here = |pod: &&Pod<Whole>| pod.spec.node_name.as_str() == node;
    Ok(found.items.iter().filter(here).filter_map(ready).collect())
}

fn path(namespace: Option<&str>) -> String {
    namespace
        .map_or_else(|| "/api/v1/pods".to_owned(), |namespace| format!("/api/v1/namespaces/{namespace}/pods"))
}

fn ready(pod: &Pod<Whole>) -> Option<ReadyPod> {
    let (namespace, name) = (pod.metadata.namespace.as_str(), pod.metadata.name.as_str());
    if !pod.ready().is_true() || namespace.is_empty() || name.is_empty() {
        return None;
    }
    let ports = pod.spec.containers.iter().flat_map(|container| &container.ports);
    Some(ReadyPod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ports: ports.filter_map(port).collect(),
    })
}

fn port(port: &ContainerPort<Whole>) -> Option<(Option<String>, u16)> {
    let name = Some(port.name.as_str()).filter(|name| !name.is_empty()).map(str::to_owned);
    Some((name, u16::try_from(port.container_port.0?).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(pod: Value) -> Option<ReadyPod> {
        ready(&serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn a_ready_pod_has_the_ports_of_its_containers() {
        let pod = |status: &str| {
            json!({"metadata": {"namespace": "n", "name": "p"},
                "spec": {"containers": [{"ports": [{"name": "web", "containerPort": 9091}, {"containerPort": 70_000}]},
                    {"ports": [{"containerPort": 8080}]}]},
                "status": {"conditions": [{"type": "Ready", "status": status}]}})
        };
        let ports = vec![(Some("web".to_owned()), 9091), (None, 8080)];
        assert_eq!(
            read(pod("True")),
            Some(ReadyPod { namespace: "n".to_owned(), name: "p".to_owned(), ports })
        );
        assert_eq!(read(pod("False")), None);
        assert_eq!(read(json!({"metadata": {"namespace": "n", "name": "p"}})), None);
    }
}
