//! Nodes.

use std::collections::BTreeMap;

use rp_base::Timestamp;
use rp_openshift::{self as openshift, NODE_SIZES, Quantity, Whole, WholeText};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Condition, Meta, Project, Status, condition_state, read, reason_text};

/// A node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
    pub added: Option<Timestamp>,
}

/// What a node has or can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(rename = "NodeAmounts")]
pub struct Amounts {
    pub cpu_millis: Option<i64>,
    /// Bytes.
    pub memory: Option<i64>,
    /// Ephemeral storage, bytes.
    pub storage: Option<i64>,
    pub pods: Option<i64>,
}

impl Project for Node {
    type Object = openshift::Node<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        let (spec, status) = (&object.spec, &object.status);
        let labels = read::map(object.metadata.labels.iter());
        let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
        let or =
            |name: &str, old: &str| Some(label(name)).filter(|l| !l.is_empty()).unwrap_or_else(|| label(old));
        let conditions = read::conditions(&status.conditions);
        let ready = condition_state(&conditions, "Ready");
        let annotation = |name: &str| {
            let value = object.metadata.annotations.get(name);
            value.map(|value| read::clean_text(value, super::MOST_MESSAGE)).unwrap_or_default()
        };
        Some(Self {
            meta,
            ready: ready.status,
            ready_since: ready.since,
            ready_reason: ready.reason,
            ready_message: ready.message,
            schedulable: !spec.unschedulable,
            pressures: object.pressures().take(super::MOST_CONDITIONS).filter_map(read::condition).collect(),
            roles: roles(object),
            instance_type: or(NODE_SIZES[0], NODE_SIZES[1]),
            zone: or("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
            version: read::short(&status.node_info.kubelet_version),
            os: read::short(&status.node_info.os_image),
            kernel: read::short(&status.node_info.kernel_version),
            runtime: read::short(&status.node_info.container_runtime_version),
            machine: read::clean_text(object.machine().unwrap_or_default(), super::MOST_MESSAGE),
            provider_id: read::text(&spec.provider_id, 500),
            taints: read::list(&spec.taints, taint),
            conditions,
            capacity: amounts(&status.capacity),
            allocatable: amounts(&status.allocatable),
            addresses: read::list(&status.addresses, |address| {
                (read::short(&address.kind), read::short(&address.address))
            }),
            config_state: annotation("machineconfiguration.openshift.io/state"),
            config_reason: annotation("machineconfiguration.openshift.io/reason"),
            volumes_attached: status.volumes_attached.len(),
            labels,
            annotations: read::map(object.metadata.annotations.iter()),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

/// In order, as the labels that are kept.
fn roles(object: &openshift::Node<Whole>) -> Vec<String> {
    let mut roles = read::list(&object.roles().collect::<Vec<_>>(), |role| read::clean_text(role, 317));
    roles.sort_unstable();
    roles
}

fn taint(taint: &openshift::Taint<Whole>) -> Taint {
    Taint {
        key: read::text(&taint.key, 317),
        value: read::short(&taint.value),
        effect: read::short(&taint.effect),
        added: taint.time_added.0,
    }
}

fn amounts(capacity: &openshift::Capacity<Whole>) -> Amounts {
    let of = |text: &WholeText| Quantity::parse(text.as_str());
    Amounts {
        cpu_millis: of(&capacity.cpu).millis,
        memory: of(&capacity.memory).units,
        storage: of(&capacity.ephemeral_storage).units,
        pods: of(&capacity.pods).units,
    }
}

impl Node {
    /// Reason and message of the condition `Ready`.
    pub fn ready_why(&self) -> String {
        reason_text(&self.ready_reason, &self.ready_message)
    }

    /// The roles, with commas.
    pub fn role(&self) -> String {
        self.roles.join(", ")
    }

    /// The name of its machine, without the namespace.
    pub fn machine_name(&self) -> &str {
        self.machine.rsplit('/').next().unwrap_or_default()
    }
}
