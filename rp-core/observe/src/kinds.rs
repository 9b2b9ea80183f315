//! The kinds that can be watched.

use rp_metrics::LabelValue;
use serde::Serialize;
use std::borrow::Cow;

/// One kind of a cluster's objects; its members stand in the [`crate::ClusterSnapshot`] under the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Version,
    Operators,
    Nodes,
    Machines,
    MachineSets,
    ControlPlaneMachineSets,
    Pools,
    /// Of the system namespaces ([`rp_rows::namespaces`]).
    Pods,
    /// Of the system namespaces.
    Deployments,
    /// Of the system namespaces.
    DaemonSets,
    /// Of the system namespaces.
    StatefulSets,
    /// Of the system namespaces and of objects without a namespace; the newest.
    Events,
    Etcd,
    Infrastructure,
    Network,
    Proxy,
    IngressControllers,
    AroCluster,
}

/// List path, name and bound of a kind.
pub(crate) struct KindSpec {
    /// Path of the list.
    pub(crate) path: &'static str,
    /// Used in messages and as a label.
    pub(crate) word: &'static str,
    /// Objects held of one cluster.
    pub(crate) most: usize,
}

const fn row(path: &'static str, word: &'static str, most: usize) -> KindSpec {
    KindSpec { path, word, most }
}

impl Kind {
    pub const ALL: [Self; 18] = [
        Self::Version,
        Self::Operators,
        Self::Nodes,
        Self::Machines,
        Self::MachineSets,
        Self::ControlPlaneMachineSets,
        Self::Pools,
        Self::Pods,
        Self::Deployments,
        Self::DaemonSets,
        Self::StatefulSets,
        Self::Events,
        Self::Etcd,
        Self::Infrastructure,
        Self::Network,
        Self::Proxy,
        Self::IngressControllers,
        Self::AroCluster,
    ];
    /// Deployments, daemon sets and stateful sets.
    pub const WORKLOADS: [Self; 3] = [Self::Deployments, Self::DaemonSets, Self::StatefulSets];

    pub(crate) const fn row(self) -> KindSpec {
        match self {
            Self::Version => row("/apis/config.openshift.io/v1/clusterversions", "the version", 10),
            Self::Operators => row("/apis/config.openshift.io/v1/clusteroperators", "cluster operators", 500),
            Self::Nodes => row("/api/v1/nodes", "nodes", 2_000),
            Self::Machines => row("/apis/machine.openshift.io/v1beta1/machines", "machines", 2_000),
            Self::MachineSets => row("/apis/machine.openshift.io/v1beta1/machinesets", "machine sets", 1_000),
            Self::ControlPlaneMachineSets => {
                row("/apis/machine.openshift.io/v1/controlplanemachinesets", "control plane machine sets", 10)
            }
            Self::Pools => row(
                "/apis/machineconfiguration.openshift.io/v1/machineconfigpools",
                "machine config pools",
                200,
            ),
            Self::Pods => row("/api/v1/pods", "pods", 20_000),
            Self::Deployments => row("/apis/apps/v1/deployments", "deployments", 5_000),
            Self::DaemonSets => row("/apis/apps/v1/daemonsets", "daemon sets", 2_000),
            Self::StatefulSets => row("/apis/apps/v1/statefulsets", "stateful sets", 2_000),
            Self::Events => row("/api/v1/events", "events", 3_000),
            Self::Etcd => row("/apis/operator.openshift.io/v1/etcds", "etcd", 10),
            Self::Infrastructure => {
                row("/apis/config.openshift.io/v1/infrastructures", "the infrastructure", 10)
            }
            Self::Network => row("/apis/config.openshift.io/v1/networks", "the network", 10),
            Self::Proxy => row("/apis/config.openshift.io/v1/proxies", "the cluster-wide proxy", 10),
            Self::IngressControllers => {
                row("/apis/operator.openshift.io/v1/ingresscontrollers", "ingress controllers", 100)
            }
            Self::AroCluster => row("/apis/aro.openshift.io/v1alpha1/clusters", "the ARO operator", 10),
        }
    }

    /// The kind in a sentence, e.g. `cluster operators`.
    pub const fn words(self) -> &'static str {
        self.row().word
    }

    /// Path of its list on the API server.
    pub const fn path(self) -> &'static str {
        self.row().path
    }
}

impl LabelValue for Kind {
    fn label(&self) -> Cow<'static, str> {
        Cow::Borrowed(self.path().rsplit('/').next().unwrap_or_default())
    }
}
