//! Machines and their sets.

use serde::Deserialize;

use crate::lenient::{Int, Time, member, object};
use crate::meta::{Condition, Labels, Meta, NameOnly};
use crate::node::NodeAddress;
use crate::provider::Provider;
use crate::reader::{Reader, Whole};

/// The label of a Machine with its size.
pub const MACHINE_SIZE: &str = "machine.openshift.io/instance-type";

/// `machines.machine.openshift.io`, v1beta1.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Machine<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: MachineSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: MachineStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct MachineSpec<R: Reader> {
    #[serde(rename = "providerID", deserialize_with = "member")]
    pub provider_id: R::More<R::Text<512>>,
    #[serde(deserialize_with = "object")]
    pub provider_spec: Provider<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct MachineStatus<R: Reader> {
    pub phase: R::Text<64>,
    #[serde(deserialize_with = "object")]
    pub node_ref: NameOnly<R>,
    #[serde(deserialize_with = "object")]
    pub provider_status: ProviderStatus<R>,
    #[serde(deserialize_with = "member")]
    pub error_reason: R::More<R::Text<253>>,
    #[serde(deserialize_with = "member")]
    pub error_message: R::More<R::Text<1024>>,
    #[serde(deserialize_with = "member")]
    pub last_updated: R::More<Time>,
    #[serde(deserialize_with = "object")]
    pub last_operation: LastOperation<R>,
    #[serde(deserialize_with = "member")]
    pub addresses: R::More<Vec<NodeAddress<R>>>,
    #[serde(deserialize_with = "member")]
    pub conditions: R::More<Vec<Condition<R>>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct ProviderStatus<R: Reader> {
    /// What the provider says of the virtual machine, e.g. `Running`.
    #[serde(deserialize_with = "member")]
    pub vm_state: R::More<R::Text<64>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct LastOperation<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub description: R::More<R::Text<1024>>,
    #[serde(deserialize_with = "member")]
    pub last_updated: R::More<Time>,
}

const ROLE: &str = "machine.openshift.io/cluster-api-machine-role";
const SET: &str = "machine.openshift.io/cluster-api-machineset";
const TYPE: &str = "machine.openshift.io/cluster-api-machine-type";

impl<R: Reader> Machine<R> {
    /// Its role, by its label; empty when it has none.
    pub fn role(&self) -> &str {
        self.metadata.labels.get(ROLE).unwrap_or_default()
    }

    /// The machine set that its label names; empty when it names none.
    pub fn labelled_set(&self) -> &str {
        self.metadata.labels.get(SET).unwrap_or_default()
    }
}

impl Machine<Whole> {
    /// The machine set or control plane machine set that owns it, else the one that its label names; empty when it
    /// stands alone.
    pub fn set(&self) -> &str {
        let is_set = |kind: &str| matches!(kind, "MachineSet" | "ControlPlaneMachineSet");
        let owner = self.metadata.owner_references.iter().find(|owner| is_set(owner.kind.as_str()));
        owner.map_or_else(|| self.labelled_set(), |owner| owner.name.as_str())
    }
}

/// `machinesets.machine.openshift.io`, v1beta1.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct MachineSet<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: MachineSetSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: MachineSetStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct MachineSetSpec<R: Reader> {
    pub replicas: Int,
    #[serde(deserialize_with = "object")]
    pub template: MachineTemplate<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct MachineTemplate<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: TemplateMeta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: MachineSpec<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct TemplateMeta<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub labels: R::More<Labels<R>>,
}

/// Counts of a set's status, and what is wrong with it.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct MachineSetStatus<R: Reader> {
    pub replicas: Int,
    pub ready_replicas: Int,
    pub available_replicas: Int,
    pub updated_replicas: Int,
    pub unavailable_replicas: Int,
    #[serde(deserialize_with = "member")]
    pub error_reason: R::More<R::Text<253>>,
    #[serde(deserialize_with = "member")]
    pub error_message: R::More<R::Text<1024>>,
    #[serde(deserialize_with = "member")]
    pub conditions: R::More<Vec<Condition<R>>>,
}

impl<R: Reader> MachineSet<R> {
    /// Desired machines; unset means one.
    pub fn desired(&self) -> i64 {
        self.spec.replicas.0.unwrap_or(1)
    }
}

impl MachineSet<Whole> {
    /// The role of its machines, mostly `worker` or `infra`: its own label, else that of its template.
    pub fn role(&self) -> &str {
        let own = self.metadata.labels.get(TYPE).filter(|role| !role.is_empty());
        own.or_else(|| self.spec.template.metadata.labels.get(TYPE)).unwrap_or_default()
    }

    /// Least and most machines, when the cluster autoscaler scales it.
    pub fn autoscaled(&self) -> Option<(i64, i64)> {
        let bound = |which: &str| {
            let name = format!("machine.openshift.io/cluster-api-autoscaler-node-group-{which}-size");
            self.metadata.annotations.get(&name).and_then(|value| value.parse().ok())
        };
        bound("min").zip(bound("max"))
    }
}

/// `controlplanemachinesets.machine.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ControlPlaneMachineSet<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: ControlPlaneSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: MachineSetStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ControlPlaneSpec<R: Reader> {
    /// `Active` or `Inactive`.
    pub state: R::Text<64>,
    pub replicas: Int,
    #[serde(deserialize_with = "object")]
    pub strategy: UpdateStrategy<R>,
    #[serde(deserialize_with = "object")]
    pub template: SetTemplate<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct UpdateStrategy<R: Reader> {
    #[serde(rename = "type")]
    pub kind: R::Text<64>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct SetTemplate<R: Reader> {
    #[serde(rename = "machines_v1beta1_machine_openshift_io", deserialize_with = "object")]
    pub machines: SetTemplateSpec<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct SetTemplateSpec<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub failure_domains: FailureDomains<R>,
    #[serde(deserialize_with = "object")]
    pub spec: MachineSpec<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct FailureDomains<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub azure: Vec<FailureDomain<R>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct FailureDomain<R: Reader> {
    pub zone: R::Text<64>,
}
