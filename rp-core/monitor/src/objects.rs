//! The members of Kubernetes objects that collectors read, and no others: what a cluster says besides is skipped
//! while it is parsed. A member that is missing, null or of another type than it should be counts as not there; it
//! never makes a list unreadable.

mod azure;
mod lax;
mod network;
mod page;
mod platform;
mod workload;

use serde::Deserialize;

pub use azure::{Credentials, IngressController, MachineSet, RouterService};
pub use lax::{Int, Text};
pub use network::{Dns, Infrastructure, Network, Proxy};
pub(crate) use page::{Bare, Envelope, Whole};
pub use platform::{
    AroCluster, ClusterOperator, ClusterSync, ClusterVersion, HiveDeployment, Machine, Node, Pool, SyncSet,
};
pub use workload::{Alert, Container, DaemonSet, Deployment, Pod, SecretCertificate, VirtualMachine};

use lax::{list, picked};

/// Labels and annotations that somebody reads; the others are not kept.
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
pub struct Picked(Vec<(&'static str, Text<512>)>);

impl Picked {
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
    pub labels: Picked,
    #[serde(deserialize_with = "picked")]
    pub annotations: Picked,
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

/// A status that is read for its conditions alone.
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
