//! Nodes.

use serde::Deserialize;
use serde::de::Deserializer;

use crate::lenient::{Time, member, object};
use crate::meta::{Condition, Meta, Status, status_of};
use crate::reader::{Member, Reader};

/// The labels of a node with its size: today's, and that of old clients.
pub const NODE_SIZES: [&str; 2] = ["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"];

/// `nodes`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Node<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub spec: NodeSpec<R>,
    #[serde(deserialize_with = "object")]
    pub status: NodeStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct NodeSpec<R: Reader> {
    /// Cordoned.
    #[serde(deserialize_with = "member")]
    pub unschedulable: R::More<bool>,
    #[serde(deserialize_with = "member")]
    pub taints: R::More<Vec<Taint<R>>>,
    #[serde(rename = "providerID", deserialize_with = "member")]
    pub provider_id: R::More<R::Text<512>>,
}

/// One of `spec.taints`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct Taint<R: Reader> {
    pub key: R::Text<317>,
    pub value: R::Text<253>,
    pub effect: R::Text<64>,
    #[serde(deserialize_with = "member")]
    pub time_added: R::More<Time>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct NodeStatus<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub conditions: Vec<Condition<R>>,
    #[serde(deserialize_with = "object")]
    pub node_info: NodeInfo<R>,
    #[serde(deserialize_with = "member")]
    pub capacity: R::More<Capacity<R>>,
    #[serde(deserialize_with = "member")]
    pub allocatable: R::More<Capacity<R>>,
    #[serde(deserialize_with = "member")]
    pub addresses: R::More<Vec<NodeAddress<R>>>,
    #[serde(deserialize_with = "member")]
    pub volumes_attached: R::More<Vec<AttachedVolume<R>>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct NodeInfo<R: Reader> {
    pub kubelet_version: R::Text<253>,
    #[serde(deserialize_with = "member")]
    pub os_image: R::More<R::Text<253>>,
    #[serde(deserialize_with = "member")]
    pub kernel_version: R::More<R::Text<253>>,
    #[serde(deserialize_with = "member")]
    pub container_runtime_version: R::More<R::Text<253>>,
}

/// What a node has or can give: quantities, as they are written ([`crate::Quantity::parse`]).
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Capacity<R: Reader> {
    pub cpu: R::Text<64>,
    pub memory: R::Text<64>,
    #[serde(rename = "ephemeral-storage")]
    pub ephemeral_storage: R::Text<64>,
    pub pods: R::Text<64>,
}

impl<R: Reader> Member for Capacity<R> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer)
    }
}

/// One of `status.volumesAttached`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct AttachedVolume<R: Reader> {
    pub name: R::Text<512>,
    pub device_path: R::Text<512>,
}

/// One of `status.addresses`, of a node or a machine.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct NodeAddress<R: Reader> {
    #[serde(rename = "type")]
    pub kind: R::Text<64>,
    pub address: R::Text<253>,
}

/// The roles under which nodes are counted. Of several the first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainRole {
    Master,
    Worker,
    Infra,
}

impl MainRole {
    /// In the order in which they count.
    pub const ALL: [Self; 3] = [Self::Master, Self::Worker, Self::Infra];

    /// The end of its label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Worker => "worker",
            Self::Infra => "infra",
        }
    }
}

const ROLE: &str = "node-role.kubernetes.io/";
const MACHINE: &str = "machine.openshift.io/machine";

impl<R: Reader> Node<R> {
    /// The status of the condition of type `Ready`.
    pub fn ready(&self) -> Status {
        status_of(&self.status.conditions, "Ready")
    }

    /// Its roles, from the labels `node-role.kubernetes.io/…`, of those labels that the reader keeps.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.metadata.labels.iter().filter_map(|(key, _)| key.strip_prefix(ROLE))
    }

    /// The role under which it is counted; `None`: it has none of these.
    pub fn main_role(&self) -> Option<MainRole> {
        let has = |role: MainRole| self.roles().any(|each| each == role.as_str());
        MainRole::ALL.into_iter().find(|role| has(*role))
    }

    /// Namespace and name of its machine, `NAMESPACE/NAME`.
    pub fn machine(&self) -> Option<&str> {
        self.metadata.annotations.get(MACHINE)
    }

    /// Conditions other than `Ready` that are true, e.g. `MemoryPressure`.
    pub fn pressures(&self) -> impl Iterator<Item = &Condition<R>> {
        use crate::reader::TextValue as _;
        let is_pressure = |condition: &&Condition<R>| {
            condition.kind.as_str() != "Ready" && condition.status.as_str() == Status::True.as_str()
        };
        self.status.conditions.iter().filter(is_pressure)
    }
}
