//! The objects that collectors read: the types of `rp_openshift`, of which a look keeps what collectors read, with
//! every text cut. All other members are skipped while parsing.

mod alert;
mod page;

use rp_openshift as openshift;
use rp_openshift::{Member, Reader, Skipped};

pub use alert::Alert;
pub(crate) use openshift::List;
pub use openshift::{Credentials, Dns, Int, Text};
pub(crate) use page::{ArrayBody, ObjectBody, next_page};

/// Labels and annotations that collectors read, in order; others are not kept.
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

/// Keeps what collectors read in every look.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LookReader;

impl Reader for LookReader {
    const LABELS: Option<&'static [&'static str]> = Some(KEPT);
    type Text<const MOST: usize> = Text<MOST>;
    type More<T: Member> = Skipped;
}

/// Keeps all members: for the objects of which the API of the resource provider shows details (`contract/api.md` §14).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct MirrorReader;

impl Reader for MirrorReader {
    const LABELS: Option<&'static [&'static str]> = Some(KEPT);
    type Text<const MOST: usize> = Text<MOST>;
    type More<T: Member> = T;
}

pub type AroCluster = openshift::AroCluster<LookReader>;
pub type ClusterOperator = openshift::ClusterOperator<LookReader>;
pub type ClusterSync = openshift::ClusterSync<LookReader>;
pub type ClusterVersion = openshift::ClusterVersion<LookReader>;
pub type Condition = openshift::Condition<LookReader>;
pub type HiveDeployment = openshift::HiveDeployment<LookReader>;
pub type Infrastructure = openshift::Infrastructure<LookReader>;
pub type IngressController = openshift::IngressController<LookReader>;
pub type Machine = openshift::Machine<LookReader>;
pub type MachineSet = openshift::MachineSet<MirrorReader>;
pub type Meta = openshift::Meta<LookReader>;
pub type Network = openshift::Network<LookReader>;
pub type Node = openshift::Node<LookReader>;
pub type Pod = openshift::Pod<LookReader>;
pub type Pool = openshift::Pool<LookReader>;
pub type Proxy = openshift::Proxy<LookReader>;
pub type SecretCertificate = openshift::SecretCertificate<LookReader>;
pub type Service = openshift::Service<LookReader>;
pub type SyncSet = openshift::SyncSet<LookReader>;
pub type VirtualMachine = openshift::VirtualMachine<LookReader>;
pub type Workload = openshift::Workload<LookReader>;

#[cfg(test)]
mod allocations;
#[cfg(test)]
mod tests;
