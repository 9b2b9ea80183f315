//! Machines and machine sets of the nodes.

use serde_json::{Value, json};

use super::nodes::nodes;
use super::{AGE, Cell, Kind, NAME, View, column, metadata, wide};

const MASTER_SIZE: &str = "Standard_D8s_v5";
const NAMESPACE: &str = "openshift-machine-api";

pub(super) const MACHINES: Kind = Kind {
    group: "machine.openshift.io",
    version: "v1beta1",
    plural: "machines",
    singular: "machine",
    kind: "Machine",
    namespaced: true,
    short: &[],
    categories: &[],
    list: machines,
    columns: &[
        NAME,
        column("Phase", Cell::At("/status/phase")),
        column("Type", Cell::At("/metadata/labels/machine.openshift.io~1instance-type")),
        column("Region", Cell::At("/metadata/labels/machine.openshift.io~1region")),
        column("Zone", Cell::At("/metadata/labels/machine.openshift.io~1zone")),
        AGE,
        wide("Node", Cell::At("/status/nodeRef/name")),
    ],
};

pub(super) const MACHINESETS: Kind = Kind {
    group: "machine.openshift.io",
    version: "v1beta1",
    plural: "machinesets",
    singular: "machineset",
    kind: "MachineSet",
    namespaced: true,
    short: &[],
    categories: &[],
    list: machinesets,
    columns: &[
        NAME,
        column("Desired", Cell::Of(|set| text(&set["spec"]["replicas"]))),
        column("Current", Cell::Of(|set| text(&set["status"]["replicas"]))),
        column("Ready", Cell::Of(|set| text(&set["status"]["readyReplicas"]))),
        column("Available", Cell::Of(|set| text(&set["status"]["availableReplicas"]))),
        AGE,
    ],
};

fn text(number: &Value) -> Value {
    json!(number.as_u64().map(|n| n.to_string()).unwrap_or_default())
}

fn machines(view: &View<'_>) -> Vec<Value> {
    let cluster = view.cluster;
    let object = |node: super::nodes::Node| {
        let role = if node.master { "master" } else { "worker" };
        let size = if node.master { MASTER_SIZE } else { "Standard_D4s_v5" };
        let mut labels = json!({
            "machine.openshift.io/cluster-api-cluster": cluster.infra_id,
            "machine.openshift.io/cluster-api-machine-role": role,
            "machine.openshift.io/cluster-api-machine-type": role,
            "machine.openshift.io/instance-type": size,
            "machine.openshift.io/region": cluster.location, "machine.openshift.io/zone": node.zone.to_string(),
        });
        if !node.master {
            labels["machine.openshift.io/cluster-api-machineset"] = json!(set_name(view, node.zone));
        }
        json!({
            "kind": "Machine", "apiVersion": "machine.openshift.io/v1beta1",
            "metadata": metadata(view, "machines", Some(NAMESPACE), &node.name, &labels),
            "spec": {"providerSpec": {"value": provider(view, size, node.zone)}},
            "status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": node.name},
                "addresses": [{"type": "InternalIP", "address": node.ip}],
                "providerStatus": {"vmState": if node.ready { "Running" } else { "Deallocated" }}},
        })
    };
    nodes(view).into_iter().map(object).collect()
}

fn provider(view: &View<'_>, size: &str, zone: usize) -> Value {
    let network = network(view, size == MASTER_SIZE);
    json!({
        "kind": "AzureMachineProviderSpec", "apiVersion": "machine.openshift.io/v1beta1",
        "vmSize": size, "zone": zone.to_string(), "location": view.cluster.location,
        "osDisk": {"diskSizeGB": 128, "osType": "Linux"},
        "networkResourceGroup": network.group, "vnet": network.network, "subnet": network.subnet,
        "resourceGroup": format!("aro-{}", view.cluster.infra_id),
    })
}

/// Where machines are in the customer's network.
struct Network {
    group: String,
    network: String,
    subnet: String,
}

fn network(view: &View<'_>, master: bool) -> Network {
    let cluster = view.cluster;
    let asked = cluster.installed.as_ref().map(|installed| &installed.about.subnets);
    let id: Vec<&str> =
        asked.map_or("", |[masters, workers]| if master { masters } else { workers }).split('/').collect();
    // /subscriptions/S/resourceGroups/GROUP/providers/Microsoft.Network/virtualNetworks/NETWORK/subnets/SUBNET
    match id.as_slice() {
        [_, _, _, _, group, _, _, _, network, _, subnet] => {
            let own = |text: &&str| (**text).to_owned();
            Network { group: own(group), network: own(network), subnet: own(subnet) }
        }
        _ => Network {
            group: cluster.resource_group.clone(),
            network: format!("{}-vnet", cluster.name),
            subnet: if master { "master" } else { "worker" }.to_owned(),
        },
    }
}

fn set_name(view: &View<'_>, zone: usize) -> String {
    format!("{}-worker-{}{zone}", view.cluster.infra_id, view.cluster.location)
}

fn machinesets(view: &View<'_>) -> Vec<Value> {
    let cluster = view.cluster;
    let all = nodes(view);
    (1..=3)
        .map(|zone| {
            let members: Vec<_> = all.iter().filter(|node| !node.master && node.zone == zone).collect();
            let ready = members.iter().filter(|node| node.ready).count();
            let name = set_name(view, zone);
            let labels = json!({"machine.openshift.io/cluster-api-cluster": cluster.infra_id});
            json!({
                "kind": "MachineSet", "apiVersion": "machine.openshift.io/v1beta1",
                "metadata": metadata(view, "machinesets", Some(NAMESPACE), &name, &labels),
                "spec": {"replicas": members.len(), "template": {"spec": {"providerSpec": {"value":
                    provider(view, "Standard_D4s_v5", zone)}}}},
                "status": {"replicas": members.len(), "readyReplicas": ready, "availableReplicas": ready},
            })
        })
        .collect()
}
