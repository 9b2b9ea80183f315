//! Nodes: three masters, and workers over three zones.

use std::time::Duration;

use serde_json::{Value, json};

use super::{AGE, Cell, Column, Kind, NAME, View, column, instant, metadata, wide};
use crate::fleet::{ClusterShape, TransientFault};

pub(super) const NODES: Kind = Kind {
    group: "",
    version: "v1",
    plural: "nodes",
    singular: "node",
    kind: "Node",
    namespaced: false,
    short: &["no"],
    categories: &[],
    list,
    columns: COLUMNS,
};

const COLUMNS: &[Column] = &[
    NAME,
    column("Status", Cell::Of(ready)),
    column("Roles", Cell::Of(roles)),
    AGE,
    column("Version", Cell::At("/status/nodeInfo/kubeletVersion")),
    wide("Internal-IP", Cell::At("/status/addresses/0/address")),
    wide("OS-Image", Cell::At("/status/nodeInfo/osImage")),
    wide("Kernel-Version", Cell::At("/status/nodeInfo/kernelVersion")),
    wide("Container-Runtime", Cell::At("/status/nodeInfo/containerRuntimeVersion")),
];

fn ready(node: &Value) -> Value {
    let mut text = match super::status_of(node, "Ready").as_str() {
        Some("True") => "Ready".to_owned(),
        _ => "NotReady".to_owned(),
    };
    if node["spec"]["unschedulable"] == true {
        text.push_str(",SchedulingDisabled");
    }
    json!(text)
}

fn roles(node: &Value) -> Value {
    let master = node["metadata"]["labels"].get("node-role.kubernetes.io/master").is_some();
    json!(if master { "control-plane,master" } else { "worker" })
}

/// One node, before it is JSON.
#[derive(Debug, Clone)]
pub struct Node {
    pub name: String,
    pub master: bool,
    pub zone: usize,
    pub ready: bool,
    /// Being drained or restarted by an upgrade.
    pub cordoned: bool,
    /// Already on the new version of an upgrade.
    pub updated: bool,
    pub ip: String,
}

/// Every node of a cluster.
pub fn nodes(view: &View<'_>) -> Vec<Node> {
    let cluster = view.cluster;
    let workers = match cluster.shape {
        // Workers come in the second half.
        _ if cluster.installed.is_some() => {
            cluster.workers * usize::from(cluster.rolled.saturating_sub(50)).min(40) / 40
        }
        ClusterShape::Finishing => cluster.workers / 2,
        _ => cluster.workers,
    };
    let total = 3 + workers;
    let mut dice = cluster.dice("nodes");
    let down = cluster.nodes_down();
    let upgraded = if cluster.shape == ClusterShape::Upgrading { dice.below(total) } else { total };
    (0..total)
        .map(|number| {
            let zone = number % 3 + 1;
            let master = number < 3;
            let name = if master {
                format!("{}-master-{number}", cluster.infra_id)
            } else {
                format!("{}-worker-{}{zone}-{}", cluster.infra_id, cluster.location, dice.letters(5))
            };
            Node {
                name,
                master,
                zone,
                // The last master, then the last worker.
                ready: !(down > 0 && number == 2 || down > 1 && number + 1 == total),
                cordoned: cluster.shape == ClusterShape::Upgrading && number == upgraded,
                updated: number < upgraded,
                ip: format!("10.0.{}.{}", if master { 0 } else { 2 }, number + 5),
            }
        })
        .collect()
}

fn list(view: &View<'_>) -> Vec<Value> {
    nodes(view).iter().map(|node| object(view, node)).collect()
}

fn object(view: &View<'_>, node: &Node) -> Value {
    let location = &view.cluster.location;
    let size = if node.master { "Standard_D8s_v5" } else { "Standard_D4s_v5" };
    let mut labels = json!({
        "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": node.name,
        "node.kubernetes.io/instance-type": size, "beta.kubernetes.io/instance-type": size,
        "node.openshift.io/os_id": "rhel",
        "topology.kubernetes.io/region": location,
        "topology.kubernetes.io/zone": format!("{location}-{}", node.zone),
    });
    if node.master {
        labels["node-role.kubernetes.io/master"] = json!("");
        labels["node-role.kubernetes.io/control-plane"] = json!("");
    } else {
        labels["node-role.kubernetes.io/worker"] = json!("");
    }
    let mut taints = Vec::new();
    if node.master {
        taints.push(json!({"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}));
    }
    if !node.ready {
        let since = instant(view.cluster.troubled_since());
        taints.push(
            json!({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": since}),
        );
    }
    let mut spec = json!({
        "providerID": format!("azure:///subscriptions/{}/resourceGroups/aro-{}/providers/Microsoft.Compute/virtualMachines/{}",
            view.cluster.subscription, view.cluster.infra_id, node.name)});
    if node.cordoned {
        spec["unschedulable"] = json!(true);
    }
    if !taints.is_empty() {
        spec["taints"] = json!(taints);
    }
    let mut metadata = metadata(view, "nodes", None, &node.name, &labels);
    // Machines are named like their nodes.
    metadata["annotations"] =
        json!({"machine.openshift.io/machine": format!("openshift-machine-api/{}", node.name)});
    json!({"kind": "Node", "apiVersion": "v1", "metadata": metadata,
        "spec": spec, "status": status(view, node)})
}

fn status(view: &View<'_>, node: &Node) -> Value {
    let (cpu, memory) = if node.master { ("8", "32855328Ki") } else { ("4", "16393216Ki") };
    let kubelet = view.cluster.kubernetes;
    json!({
        "addresses": [{"type": "InternalIP", "address": node.ip}, {"type": "Hostname", "address": node.name}],
        "capacity": {"cpu": cpu, "memory": memory, "pods": "250", "ephemeral-storage": "133659628Ki"},
        "allocatable": {"cpu": if node.master { "7500m" } else { "3500m" }, "memory": memory, "pods": "250",
            "ephemeral-storage": "122106995712"},
        "conditions": conditions(view, node),
        "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": kubelet,
            "kubeProxyVersion": kubelet, "containerRuntimeVersion": "cri-o://1.31.5-simulated",
            "kernelVersion": "5.14.0-427.simulated.el9.x86_64", "machineID": "", "bootID": "", "systemUUID": "",
            "osImage": format!("Red Hat Enterprise Linux CoreOS {} (simulated)",
                if node.updated { &view.cluster.wanted } else { &view.cluster.version })},
        "volumesAttached": [],
    })
}

fn conditions(view: &View<'_>, node: &Node) -> Value {
    let heart = if node.ready {
        view.now - Duration::from_secs(view.now.seconds().unsigned_abs() % 40)
    } else {
        view.cluster.troubled_since()
    };
    // The last master is the first that fails.
    let came_back = view.cluster.healed(TransientFault::Nodes).filter(|_| node.name.ends_with("-master-2"));
    let since = match node.ready {
        true => came_back.unwrap_or(view.cluster.created),
        false => view.cluster.troubled_since(),
    };
    let one = |kind: &str, good: (&str, &str), value: &str| {
        let (reason, message, status) = if node.ready {
            (good.0, good.1, value)
        } else {
            ("NodeStatusUnknown", "Kubelet stopped posting node status.", "Unknown")
        };
        json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": instant(heart), "lastTransitionTime": instant(since)})
    };
    json!([
        one(
            "MemoryPressure",
            ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
            "False"
        ),
        one("DiskPressure", ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"), "False"),
        one("PIDPressure", ("KubeletHasSufficientPID", "kubelet has sufficient PID available"), "False"),
        one("Ready", ("KubeletReady", "kubelet is posting ready status"), "True"),
    ])
}
