//! The members of Kubernetes objects that collectors read; all other members are skipped
//! while parsing. A member that is missing, null or of the wrong type counts as absent; it
//! never makes a list unreadable.

mod azure;
mod lenient;
mod network;
mod page;
mod platform;
mod workload;

use serde::Deserialize;

pub use azure::{Credentials, IngressController, MachineSet, RouterService};
pub use lenient::{Int, Text};
pub use network::{Dns, Infrastructure, Network, Proxy};
pub(crate) use page::{ArrayBody, Envelope, ObjectBody};
pub use platform::{
    AroCluster, ClusterOperator, ClusterSync, ClusterVersion, HiveDeployment, Machine, Node, Pool, SyncSet,
};
pub use workload::{Alert, Container, DaemonSet, Deployment, Pod, SecretCertificate, VirtualMachine};

use lenient::{list, picked};

/// Labels and annotations that collectors read; others are not kept.
const KEPT: &[&str] = &[
    "aro.openshift.io/lastSubnetReconcileTimestamp",
    "flavor",
    "ingresscontroller.operator.openshift.io/owning-ingresscontroller",
    "machine.openshift.io/cluster-api-machine-role",
    "machine.openshift.io/cluster-api-machineset",
    "machine.openshift.io/machine",
    "node-role.kubernetes.io/infra",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
    "os",
    "version",
    "workload",
];

/// Some of an object's labels or annotations.
#[derive(Debug, Default, Clone)]
pub struct SelectedKeys(Vec<(&'static str, Text<512>)>);

impl SelectedKeys {
    /// The value of a key; `None` when it is not set.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, text)| text.as_str())
    }
}

/// `metadata`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Meta {
    pub name: Text<253>,
    pub namespace: Text<253>,
    pub generation: Int,
    #[serde(deserialize_with = "picked")]
    pub labels: SelectedKeys,
    #[serde(deserialize_with = "picked")]
    pub annotations: SelectedKeys,
}

/// One of `status.conditions`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: Text<253>,
    pub status: Text<64>,
    pub reason: Text<253>,
    pub message: Text<1024>,
}

/// A status of which only the conditions are read.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Conditions {
    #[serde(deserialize_with = "list")]
    pub conditions: Vec<Condition>,
}

/// The status of the condition of this type.
pub fn status_of<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a str> {
    conditions
        .iter()
        .find(|condition| condition.kind.as_str() == kind)
        .map(|condition| condition.status.as_str())
}

#[cfg(test)]
mod allocations;
#[cfg(test)]
mod tests;
