//! Machines, machine sets, and machine config pools.

use rp_base::Timestamp;
use rp_openshift::{self as openshift, MACHINE_SIZE, ProviderSpec, Whole, WholeText};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Condition, Meta, Project, read};

/// A machine of `machine.openshift.io/v1beta1`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
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
    type Object = openshift::Machine<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        let (spec, status) = (&object.spec, &object.status);
        let provider = spec.provider_spec.value.as_ref();
        // What the machine controller found is a label; what was wanted stands in the provider spec.
        let found = |name: &str, wanted: fn(&ProviderSpec<Whole>) -> &WholeText| {
            let label = object.metadata.labels.get(name).filter(|label| !label.is_empty());
            let wanted = || provider.map(|provider| wanted(provider).as_str());
            label.or_else(wanted).map(read::short_text).unwrap_or_default()
        };
        Some(Self {
            phase: read::short(&status.phase),
            node: read::short(&status.node_ref.name),
            set: read::short_text(object.set()),
            role: read::short_text(object.role()),
            zone: found("machine.openshift.io/zone", |provider| &provider.zone),
            vm_size: found(MACHINE_SIZE, |provider| &provider.vm_size),
            provider_id: read::text(&spec.provider_id, 500),
            vm_state: read::short(&status.provider_status.vm_state),
            error_reason: read::short(&status.error_reason),
            error_message: read::message(&status.error_message),
            updated: status.last_updated.0,
            last_operation: read::message(&status.last_operation.description),
            last_operation_at: status.last_operation.last_updated.0,
            spot: provider.is_some_and(|provider| provider.spot.0),
            conditions: read::conditions(&status.conditions),
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
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
    type Object = openshift::MachineSet<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        let status = &object.status;
        let provider = object.spec.template.spec.provider_spec.value.clone().unwrap_or_default();
        Some(Self {
            role: read::short_text(object.role()),
            desired: object.desired(),
            replicas: status.replicas.or_zero(),
            ready: status.ready_replicas.or_zero(),
            available: status.available_replicas.or_zero(),
            vm_size: read::short(&provider.vm_size),
            zone: read::short(&provider.zone),
            vnet: read::short(&provider.vnet),
            subnet: read::short(&provider.subnet),
            disk_type: read::short(&provider.os_disk.managed_disk.storage_account_type),
            disk_gb: provider.os_disk.size_gb.0,
            public_load_balancer: read::short(&provider.public_load_balancer),
            error_reason: read::short(&status.error_reason),
            error_message: read::message(&status.error_message),
            spot: provider.spot.0,
            autoscaled: object.autoscaled(),
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }
}

/// The set of machines of the control plane, `machine.openshift.io/v1`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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
    type Object = openshift::ControlPlaneMachineSet<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        let (spec, status) = (&object.spec, &object.status);
        let template = &spec.template.machines;
        let provider = template.spec.provider_spec.value.as_ref();
        Some(Self {
            state: read::short(&spec.state),
            strategy: read::short(&spec.strategy.kind),
            desired: spec.replicas.or_zero(),
            replicas: status.replicas.or_zero(),
            ready: status.ready_replicas.or_zero(),
            updated: status.updated_replicas.or_zero(),
            unavailable: status.unavailable_replicas.or_zero(),
            vm_size: provider.map(|provider| read::short(&provider.vm_size)).unwrap_or_default(),
            zones: read::list(&template.failure_domains.azure, |domain| read::short(&domain.zone)),
            conditions: read::conditions(&status.conditions),
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        (&self.meta.namespace, &self.meta.name)
    }
}

/// A machine config pool.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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
    type Object = openshift::Pool<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        let (spec, status) = (&object.spec, &object.status);
        Some(Self {
            paused: spec.paused,
            machines: status.machine_count.or_zero(),
            ready: status.ready_machine_count.or_zero(),
            updated: status.updated_machine_count.or_zero(),
            unavailable: status.unavailable_machine_count.or_zero(),
            degraded: status.degraded_machine_count.or_zero(),
            configuration: read::short(&status.configuration.name),
            wanted: read::short(&spec.configuration.name),
            conditions: read::conditions(&status.conditions),
            meta,
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}
