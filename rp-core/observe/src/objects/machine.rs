//! Machines, machine sets, and machine config pools.

use rp_base::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{Condition, Meta, Project, read};

/// A machine of `machine.openshift.io/v1beta1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Machine {
    #[serde(flatten)]
    pub meta: Meta,
    /// `status.phase`; empty when unknown.
    pub phase: String,
    /// Name of its node; empty when it has none.
    pub node: String,
    /// Name of its machine set, or of the control plane machine set; empty when it stands alone.
    pub set: String,
    pub role: String,
    pub zone: String,
    pub vm_size: String,
    pub provider_id: String,
    /// What the provider says of the virtual machine, e.g. `Running`.
    pub vm_state: String,
    pub error_reason: String,
    pub error_message: String,
    pub updated: Option<Timestamp>,
    /// `status.lastOperation`: description and its instant.
    pub last_operation: String,
    pub last_operation_at: Option<Timestamp>,
    pub spot: bool,
    pub conditions: Vec<Condition>,
}

impl Project for Machine {
    fn project(object: &Value) -> Option<Self> {
        let meta = read::meta(object)?;
        let labels = object.pointer("/metadata/labels");
        let label = |name: &str| {
            let value = labels.and_then(|labels| labels.get(name)).and_then(Value::as_str);
            value.map(|value| read::clean_text(value, super::MOST_NAME)).unwrap_or_default()
        };
        let provider = provider_spec(object, "/spec/providerSpec/value");
        let owner = read::list(object, "/metadata/ownerReferences")
            .find(|owner| matches!(owner["kind"].as_str(), Some("MachineSet" | "ControlPlaneMachineSet")))
            .map(|owner| read::short_text(owner, "/name"));
        Some(Self {
            phase: read::short_text(object, "/status/phase"),
            node: read::short_text(object, "/status/nodeRef/name"),
            set: owner.unwrap_or_else(|| label("machine.openshift.io/cluster-api-machineset")),
            role: label("machine.openshift.io/cluster-api-machine-role"),
            zone: Some(label("machine.openshift.io/zone"))
                .filter(|zone| !zone.is_empty())
                .unwrap_or_else(|| provider.text("zone")),
            vm_size: Some(label("machine.openshift.io/instance-type"))
                .filter(|size| !size.is_empty())
                .unwrap_or_else(|| provider.text("vmSize")),
            provider_id: read::text(object, "/spec/providerID", 500),
            vm_state: read::short_text(object, "/status/providerStatus/vmState"),
            error_reason: read::short_text(object, "/status/errorReason"),
            error_message: read::message(object, "/status/errorMessage"),
            updated: read::time(object, "/status/lastUpdated"),
            last_operation: read::message(object, "/status/lastOperation/description"),
            last_operation_at: read::time(object, "/status/lastOperation/lastUpdated"),
            spot: provider.has("spotVMOptions"),
            conditions: read::conditions(object, "/status/conditions"),
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }
}

impl Machine {
    pub fn is_running(&self) -> bool {
        self.phase == "Running"
    }

    /// The name of its virtual machine: of the provider id, else its own.
    pub fn vm(&self) -> &str {
        self.provider_id.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&self.meta.name)
    }
}

/// A machine set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MachineSet {
    #[serde(flatten)]
    pub meta: Meta,
    /// Label `machine.openshift.io/cluster-api-machine-type`, mostly `worker` or `infra`.
    pub role: String,
    /// `spec.replicas`; unset means one (`machine.openshift.io/v1beta1`).
    pub desired: i64,
    pub replicas: i64,
    pub ready: i64,
    pub available: i64,
    pub vm_size: String,
    pub zone: String,
    pub vnet: String,
    pub subnet: String,
    pub disk_type: String,
    pub disk_gb: Option<i64>,
    pub public_load_balancer: String,
    pub error_reason: String,
    pub error_message: String,
    pub spot: bool,
    /// Annotations of the cluster autoscaler: least and most.
    pub autoscaled: Option<(i64, i64)>,
}

impl Project for MachineSet {
    fn project(object: &Value) -> Option<Self> {
        let meta = read::meta(object)?;
        let provider = provider_spec(object, "/spec/template/spec/providerSpec/value");
        let annotations = object.pointer("/metadata/annotations");
        let bound = |name: &str| {
            let value = annotations.and_then(|all| all.get(name)).and_then(Value::as_str);
            value.and_then(|value| value.parse().ok())
        };
        let least = bound("machine.openshift.io/cluster-api-autoscaler-node-group-min-size");
        let most = bound("machine.openshift.io/cluster-api-autoscaler-node-group-max-size");
        let count = |at: &str| read::number(object, at);
        Some(Self {
            role: role(object),
            desired: count("/spec/replicas").unwrap_or(1),
            replicas: count("/status/replicas").unwrap_or(0),
            ready: count("/status/readyReplicas").unwrap_or(0),
            available: count("/status/availableReplicas").unwrap_or(0),
            vm_size: provider.text("vmSize"),
            zone: provider.text("zone"),
            vnet: provider.text("vnet"),
            subnet: provider.text("subnet"),
            disk_type: provider.disk("storageAccountType"),
            disk_gb: provider.get("osDisk").and_then(|disk| get(disk, "diskSizeGB")).and_then(Value::as_i64),
            public_load_balancer: provider.text("publicLoadBalancer"),
            error_reason: read::short_text(object, "/status/errorReason"),
            error_message: read::message(object, "/status/errorMessage"),
            spot: provider.has("spotVMOptions"),
            autoscaled: least.zip(most),
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }
}

fn role(object: &Value) -> String {
    let name = "machine.openshift.io/cluster-api-machine-type";
    let places = ["/metadata/labels", "/spec/template/metadata/labels"];
    let found = places.iter().find_map(|at| object.pointer(at)?.get(name)?.as_str());
    found.map(|role| read::clean_text(role, super::MOST_NAME)).unwrap_or_default()
}

/// The set of machines of the control plane, `machine.openshift.io/v1`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ControlPlaneMachineSet {
    #[serde(flatten)]
    pub meta: Meta,
    /// `Active` or `Inactive`.
    pub state: String,
    pub strategy: String,
    pub desired: i64,
    pub replicas: i64,
    pub ready: i64,
    pub updated: i64,
    pub unavailable: i64,
    pub vm_size: String,
    pub zones: Vec<String>,
    pub conditions: Vec<Condition>,
}

impl Project for ControlPlaneMachineSet {
    fn project(object: &Value) -> Option<Self> {
        const TEMPLATE: &str = "/spec/template/machines_v1beta1_machine_openshift_io";
        let meta = read::meta(object)?;
        let provider = provider_spec(object, &format!("{TEMPLATE}/spec/providerSpec/value"));
        let count = |at: &str| read::number(object, at).unwrap_or(0);
        Some(Self {
            state: read::short_text(object, "/spec/state"),
            strategy: read::short_text(object, "/spec/strategy/type"),
            desired: count("/spec/replicas"),
            replicas: count("/status/replicas"),
            ready: count("/status/readyReplicas"),
            updated: count("/status/updatedReplicas"),
            unavailable: count("/status/unavailableReplicas"),
            vm_size: provider.text("vmSize"),
            zones: read::list(object, &format!("{TEMPLATE}/failureDomains/azure"))
                .map(|domain| read::short_text(domain, "/zone"))
                .collect(),
            conditions: read::conditions(object, "/status/conditions"),
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }
}

/// A machine config pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pool {
    #[serde(flatten)]
    pub meta: Meta,
    pub paused: bool,
    pub machines: i64,
    pub ready: i64,
    pub updated: i64,
    pub unavailable: i64,
    pub degraded: i64,
    /// Name of the rendered configuration.
    pub configuration: String,
    pub wanted: String,
    pub conditions: Vec<Condition>,
}

impl Project for Pool {
    fn project(object: &Value) -> Option<Self> {
        let meta = read::meta(object)?;
        let count = |at: &str| read::number(object, at).unwrap_or(0);
        Some(Self {
            paused: read::flag(object, "/spec/paused"),
            machines: count("/status/machineCount"),
            ready: count("/status/readyMachineCount"),
            updated: count("/status/updatedMachineCount"),
            unavailable: count("/status/unavailableMachineCount"),
            degraded: count("/status/degradedMachineCount"),
            configuration: read::short_text(object, "/status/configuration/name"),
            wanted: read::short_text(object, "/spec/configuration/name"),
            conditions: read::conditions(object, "/status/conditions"),
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

/// A provider spec, whose keys are matched without regard to case (`contract/portal.md` §8.9).
struct ProviderSpec<'a>(Option<&'a Value>);

fn provider_spec<'a>(object: &'a Value, at: &str) -> ProviderSpec<'a> {
    ProviderSpec(object.pointer(at))
}

fn get<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let map = value.as_object()?;
    map.get(key)
        .or_else(|| map.iter().find(|(each, _)| each.eq_ignore_ascii_case(key)).map(|(_, value)| value))
}

impl ProviderSpec<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        get(self.0?, key)
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> String {
        let text = self.get(key).and_then(Value::as_str);
        text.map(|text| read::clean_text(text, super::MOST_NAME)).unwrap_or_default()
    }

    fn disk(&self, key: &str) -> String {
        let disk = self.get("osDisk").and_then(|disk| get(disk, "managedDisk"));
        let text = disk.and_then(|disk| get(disk, key)).and_then(Value::as_str);
        text.map(|text| read::clean_text(text, super::MOST_NAME)).unwrap_or_default()
    }
}
