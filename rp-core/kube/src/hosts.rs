//! The machines of a cluster as its API lists them: nodes, and the Machine objects behind them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::client::Client;
use serde_json::Value;

/// Maximum number of nodes, and of machines, that are read.
const MOST: usize = 5000;
/// Page size.
const PAGE: u32 = 500;
const MACHINE_NAMESPACE: &str = "openshift-machine-api";
const MACHINE_OF_NODE: &str = "machine.openshift.io/machine";
const ROLE_OF_MACHINE: &str = "machine.openshift.io/cluster-api-machine-role";

/// One machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    /// The node's name; the machine's while it has no node.
    pub name: String,
    /// The Machine's uid, else the Node's: a replaced machine has a different one.
    pub uid: String,
    pub control_plane: bool,
    /// Its node is ready.
    pub ready: bool,
    /// Inside the cluster's network.
    pub address: Option<String>,
    /// The Machine's name, where there is one: its network card is named after it.
    pub machine: Option<String>,
}

/// Every node, and every machine that has no node yet, ordered by name. A cluster without machines, or that does not
/// let us read them, has nodes only.
///
/// # Errors
/// The cluster refuses, or cannot be reached: see [`crate::connect::dial_error`].
pub async fn hosts(client: &Client) -> Result<Vec<Host>, kube::Error> {
    let nodes: Api<Node> = Api::all(client.clone());
    let kind = GroupVersionKind::gvk("machine.openshift.io", "v1beta1", "Machine");
    let resource = ApiResource::from_gvk_with_plural(&kind, "machines");
    let machines: Api<DynamicObject> = Api::namespaced_with(client.clone(), MACHINE_NAMESPACE, &resource);
    let (nodes, machines) = tokio::join!(listed(&nodes), listed(&machines));
    let machines = match machines {
        Err(error) if matches!(crate::api_status(&error), Some(403 | 404)) => Vec::new(),
        read => read?,
    };
    Ok(join_nodes_and_machines(nodes?, machines))
}

async fn listed<K>(api: &Api<K>) -> Result<Vec<K>, kube::Error>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let (mut all, mut at) = (Vec::new(), None::<String>);
    loop {
        let mut asked = ListParams::default().limit(PAGE);
        asked.continue_token = at;
        let page = api.list(&asked).await?;
        all.extend(page.items);
        at = page.metadata.continue_.filter(|token| !token.is_empty());
        if at.is_none() || all.len() >= MOST {
            all.truncate(MOST);
            return Ok(all);
        }
    }
}

fn join_nodes_and_machines(nodes: Vec<Node>, machines: Vec<DynamicObject>) -> Vec<Host> {
    let mut by_name: BTreeMap<String, DynamicObject> =
        machines.into_iter().filter_map(|machine| Some((machine.metadata.name.clone()?, machine))).collect();
    let of_node: BTreeMap<String, String> = by_name
        .iter()
        .filter_map(|(name, machine)| {
            let node = machine.data.pointer("/status/nodeRef/name")?.as_str()?;
            Some((node.to_owned(), name.clone()))
        })
        .collect();
    let mut hosts: Vec<Host> = Vec::new();
    for node in nodes {
        let Some(mut host) = from_node(&node) else { continue };
        let named = host.machine.take().or_else(|| of_node.get(&host.name).cloned());
        if let Some(machine) = named.and_then(|name| by_name.remove(&name)) {
            if let Some(uid) = machine.metadata.uid.clone() {
                host.uid = uid;
            }
            host.machine = machine.metadata.name;
        }
        hosts.push(host);
    }
    hosts.extend(by_name.into_values().filter_map(without_node));
    hosts.sort_by(|a, b| a.name.cmp(&b.name));
    hosts
}

fn from_node(node: &Node) -> Option<Host> {
    let metadata = &node.metadata;
    let has = |label: &str| metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(label));
    let annotation = metadata.annotations.as_ref().and_then(|all| all.get(MACHINE_OF_NODE));
    let status = node.status.as_ref();
    let ready = status.and_then(|status| status.conditions.as_ref()).is_some_and(|conditions| {
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    });
    let address = status.and_then(|status| status.addresses.as_ref()).and_then(|all| {
        all.iter().find(|address| address.type_ == "InternalIP").map(|address| address.address.clone())
    });
    Some(Host {
        name: metadata.name.clone()?,
        uid: metadata.uid.clone()?,
        control_plane: has("node-role.kubernetes.io/master") || has("node-role.kubernetes.io/control-plane"),
        ready,
        address,
        machine: annotation.and_then(|at| at.strip_prefix("openshift-machine-api/")).map(str::to_owned),
    })
}

/// A machine that has not joined the cluster, or has left it: SSH is most useful there.
fn without_node(machine: DynamicObject) -> Option<Host> {
    let addresses = machine.data.pointer("/status/addresses").and_then(Value::as_array)?;
    let internal = addresses.iter().find(|address| address["type"] == "InternalIP")?;
    let role = machine.metadata.labels.as_ref().and_then(|labels| labels.get(ROLE_OF_MACHINE));
    let name = machine.metadata.name?;
    Some(Host {
        uid: machine.metadata.uid?,
        control_plane: role.is_some_and(|role| role == "master"),
        ready: false,
        address: internal["address"].as_str().map(str::to_owned),
        machine: Some(name.clone()),
        name,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, annotation: Option<&str>) -> Node {
        let mut node = json!({
            "metadata": {"name": name, "uid": format!("node-{name}"), "labels": {"node-role.kubernetes.io/worker": ""}},
            "status": {"addresses": [{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": "10.0.0.9"}],
                "conditions": [{"type": "Ready", "status": "True"}]},
        });
        if let Some(machine) = annotation {
            node["metadata"]["annotations"] = json!({ MACHINE_OF_NODE: machine });
        }
        serde_json::from_value(node).unwrap()
    }

    fn machine(name: &str, node: Option<&str>) -> DynamicObject {
        let object = json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": {"name": name, "uid": format!("machine-{name}"), "labels": {ROLE_OF_MACHINE: "master"}},
            "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.7"}],
                "nodeRef": node.map(|node| json!({"name": node}))},
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn nodes_take_the_uid_of_their_machine() {
        let nodes =
            vec![node("b", None), node("a", Some("openshift-machine-api/machine-a")), node("c", None)];
        let machines =
            vec![machine("machine-a", None), machine("machine-b", Some("b")), machine("late", None)];
        let found = join_nodes_and_machines(nodes, machines);
        let told: Vec<_> = found.iter().map(|host| (host.name.as_str(), host.uid.as_str())).collect();
        assert_eq!(
            told,
            [
                ("a", "machine-machine-a"),
                ("b", "machine-machine-b"),
                ("c", "node-c"),
                ("late", "machine-late")
            ]
        );
        assert!(found[0].ready && !found[0].control_plane && found[3].control_plane && !found[3].ready);
        assert_eq!(found[3].address.as_deref(), Some("10.0.0.7"));
    }

    #[test]
    fn what_lacks_a_name_or_an_address_is_left_out() {
        let mut nameless = node("x", None);
        nameless.metadata.name = None;
        let mut lost = machine("lost", None);
        lost.data = json!({"status": {"addresses": "none"}});
        assert!(join_nodes_and_machines(vec![nameless], vec![lost]).is_empty());
    }
}
