//! Nodes.

use std::collections::BTreeMap;

use rp_base::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{Condition, Meta, Project, Status, condition_state, read};

/// A node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    #[serde(flatten)]
    pub meta: Meta,
    /// Status of the condition of type `Ready`, wherever it stands in the list.
    pub ready: Status,
    pub ready_since: Option<Timestamp>,
    pub ready_reason: String,
    pub ready_message: String,
    /// Not cordoned: `spec.unschedulable` is not true.
    pub schedulable: bool,
    /// Conditions other than `Ready` that are true, e.g. `MemoryPressure`.
    pub pressures: Vec<Condition>,
    /// From the labels `node-role.kubernetes.io/…`.
    pub roles: Vec<String>,
    pub instance_type: String,
    pub zone: String,
    /// The kubelet's.
    pub version: String,
    pub os: String,
    pub kernel: String,
    pub runtime: String,
    /// Namespace and name of its machine, from the annotation `machine.openshift.io/machine`.
    pub machine: String,
    pub provider_id: String,
    pub taints: Vec<Taint>,
    pub conditions: Vec<Condition>,
    pub capacity: Amounts,
    pub allocatable: Amounts,
    /// Type and address.
    pub addresses: Vec<(String, String)>,
    /// `machineconfiguration.openshift.io/state`: `Done`, `Working`, `Degraded`; empty when unknown.
    pub config_state: String,
    pub config_reason: String,
    pub volumes_attached: usize,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// A taint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
    pub added: Option<Timestamp>,
}

/// What a node has or can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Amounts {
    pub cpu_millis: Option<i64>,
    /// Bytes.
    pub memory: Option<i64>,
    /// Ephemeral storage, bytes.
    pub storage: Option<i64>,
    pub pods: Option<i64>,
}

const ROLE: &str = "node-role.kubernetes.io/";

impl Project for Node {
    fn project(object: &Value) -> Option<Self> {
        let meta = read::meta(object)?;
        let labels = read::map(object, "/metadata/labels");
        let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
        let or =
            |name: &str, old: &str| Some(label(name)).filter(|l| !l.is_empty()).unwrap_or_else(|| label(old));
        let conditions = read::conditions(object, "/status/conditions");
        let ready = condition_state(&conditions, "Ready");
        let pressures =
            conditions.iter().filter(|c| c.kind != "Ready" && c.status.is_true()).cloned().collect();
        let annotation = |name: &str| {
            let all = object.pointer("/metadata/annotations");
            let value = all.and_then(|all| all.get(name)).and_then(Value::as_str);
            value.map(|value| read::clean_text(value, super::MOST_MESSAGE)).unwrap_or_default()
        };
        Some(Self {
            meta,
            ready: ready.status,
            ready_since: ready.since,
            ready_reason: ready.reason,
            ready_message: ready.message,
            schedulable: !read::flag(object, "/spec/unschedulable"),
            pressures,
            roles: labels.keys().filter_map(|key| key.strip_prefix(ROLE)).map(str::to_owned).collect(),
            instance_type: or("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"),
            zone: or("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
            version: read::short_text(object, "/status/nodeInfo/kubeletVersion"),
            os: read::short_text(object, "/status/nodeInfo/osImage"),
            kernel: read::short_text(object, "/status/nodeInfo/kernelVersion"),
            runtime: read::short_text(object, "/status/nodeInfo/containerRuntimeVersion"),
            machine: annotation("machine.openshift.io/machine"),
            provider_id: read::text(object, "/spec/providerID", 500),
            taints: read::list(object, "/spec/taints").map(taint).collect(),
            conditions,
            capacity: amounts(object, "/status/capacity"),
            allocatable: amounts(object, "/status/allocatable"),
            addresses: read::list(object, "/status/addresses")
                .map(|address| (read::short_text(address, "/type"), read::short_text(address, "/address")))
                .collect(),
            config_state: annotation("machineconfiguration.openshift.io/state"),
            config_reason: annotation("machineconfiguration.openshift.io/reason"),
            volumes_attached: object
                .pointer("/status/volumesAttached")
                .and_then(Value::as_array)
                .map_or(0, Vec::len),
            labels,
            annotations: read::map(object, "/metadata/annotations"),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

fn taint(value: &Value) -> Taint {
    Taint {
        key: read::text(value, "/key", 317),
        value: read::short_text(value, "/value"),
        effect: read::short_text(value, "/effect"),
        added: read::time(value, "/timeAdded"),
    }
}

fn amounts(object: &Value, at: &str) -> Amounts {
    let of = |name: &str| format!("{at}/{name}");
    Amounts {
        cpu_millis: read::millis(object, &of("cpu")),
        memory: read::quantity_units(object, &of("memory")),
        storage: read::quantity_units(object, &of("ephemeral-storage")),
        pods: read::quantity_units(object, &of("pods")),
    }
}

impl Node {
    /// Ready and not cordoned, without pressure.
    pub fn is_well(&self) -> bool {
        self.ready.is_true() && self.schedulable && self.pressures.is_empty()
    }

    /// The name of its machine, without the namespace.
    pub fn machine_name(&self) -> &str {
        self.machine.rsplit('/').next().unwrap_or_default()
    }

    /// The name of its virtual machine, from the provider id.
    pub fn vm(&self) -> &str {
        self.provider_id.rsplit('/').next().unwrap_or_default()
    }
}
