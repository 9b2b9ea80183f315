//! The machines of a cluster as its API lists them: nodes, and the Machine objects behind them.

use std::collections::BTreeMap;

use kube::api::ListParams;
use kube::client::Client;
use rp_openshift::{List, Machine, Node, NodeAddress, Whole};
use serde::de::DeserializeOwned;

use crate::list::page;

/// Maximum number of nodes, and of machines, that are read.
const MOST: usize = 5000;
/// Page size.
const PAGE: u32 = 500;
const NODES: &str = "/api/v1/nodes";
const MACHINES: &str = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machines";

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
    let (nodes, machines) =
        tokio::join!(listed::<Node<Whole>>(client, NODES), listed::<Machine<Whole>>(client, MACHINES));
    let machines = match machines {
        Err(error) if matches!(crate::api_status(&error), Some(403 | 404)) => Vec::new(),
        read => read?,
    };
    Ok(join_nodes_and_machines(&nodes?, &machines))
}

async fn listed<T: DeserializeOwned>(client: &Client, path: &str) -> Result<Vec<T>, kube::Error> {
    let (mut all, mut at) = (Vec::new(), None::<String>);
    loop {
        let mut asked = ListParams::default().limit(PAGE);
        asked.continue_token = at;
        let page: List<T> = page(client, path, &asked).await?;
        all.extend(page.items);
        let token = page.metadata.token.as_str();
        if token.is_empty() || all.len() >= MOST {
            all.truncate(MOST);
            return Ok(all);
        }
        at = Some(token.to_owned());
    }
}

fn join_nodes_and_machines(nodes: &[Node<Whole>], machines: &[Machine<Whole>]) -> Vec<Host> {
    let named = machines.iter().filter(|machine| !machine.metadata.name.is_empty());
    let mut by_name: BTreeMap<&str, &Machine<Whole>> =
        named.map(|machine| (machine.metadata.name.as_str(), machine)).collect();
    let with_node = by_name.iter().filter(|(_, machine)| !machine.status.node_ref.name.is_empty());
    let of_node: BTreeMap<&str, &str> =
        with_node.map(|(name, machine)| (machine.status.node_ref.name.as_str(), *name)).collect();
    let mut hosts: Vec<Host> = Vec::new();
    for node in nodes {
        let Some(mut host) = from_node(node) else { continue };
        let named = machine_of(node).or_else(|| of_node.get(host.name.as_str()).copied());
        if let Some(machine) = named.and_then(|name| by_name.remove(name)) {
            if let Some(uid) = text(machine.metadata.uid.as_str()) {
                host.uid = uid;
            }
            host.machine = text(machine.metadata.name.as_str());
        }
        hosts.push(host);
    }
    hosts.extend(by_name.into_values().filter_map(without_node));
    hosts.sort_by(|a, b| a.name.cmp(&b.name));
    hosts
}

/// A text, unless it is empty.
fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The address inside the cluster's network.
fn internal(addresses: &[NodeAddress<Whole>]) -> Option<&NodeAddress<Whole>> {
    addresses.iter().find(|address| address.kind.as_str() == "InternalIP")
}

/// The name of the machine that a node names.
fn machine_of(node: &Node<Whole>) -> Option<&str> {
    node.machine()?.strip_prefix("openshift-machine-api/")
}

fn from_node(node: &Node<Whole>) -> Option<Host> {
    Some(Host {
        name: text(node.metadata.name.as_str())?,
        uid: text(node.metadata.uid.as_str())?,
        control_plane: node.roles().any(|role| matches!(role, "master" | "control-plane")),
        ready: node.ready().is_true(),
        address: internal(&node.status.addresses).and_then(|address| text(address.address.as_str())),
        machine: None,
    })
}

/// A machine that has not joined the cluster, or has left it: SSH is most useful there.
fn without_node(machine: &Machine<Whole>) -> Option<Host> {
    let internal = internal(&machine.status.addresses)?;
    let name = text(machine.metadata.name.as_str())?;
    Some(Host {
        uid: text(machine.metadata.uid.as_str())?,
        control_plane: machine.role() == "master",
        ready: false,
        address: text(internal.address.as_str()),
        machine: Some(name.clone()),
        name,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MACHINE_OF_NODE: &str = "machine.openshift.io/machine";
    const ROLE_OF_MACHINE: &str = "machine.openshift.io/cluster-api-machine-role";

    fn node(name: &str, annotation: Option<&str>) -> Node<Whole> {
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

    fn machine(name: &str, node: Option<&str>) -> Machine<Whole> {
        let object = json!({
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
        let found = join_nodes_and_machines(&nodes, &machines);
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
        let nameless = node("", None);
        let mut lost = machine("lost", None);
        lost.status.addresses.clear();
        assert!(join_nodes_and_machines(&[nameless], &[lost]).is_empty());
    }
}
