//! The collectors of a cluster (`contract/monitor.md` §8, §9): pure functions from cluster objects to
//! samples and log lines.

mod alerts;
mod api;
mod aro;
mod certificates;
mod conditions;
mod document;
mod flags;
mod network;
mod no_proxy;
mod nodes;
mod operators;
mod output;
mod pods;
mod proxy;
#[cfg(test)]
pub(crate) mod tests;
mod versions;
mod workloads;

use std::borrow::Cow;

use crate::cluster_objects::{ClusterObjects, Resource};
use crate::fetch::FetchError;
use crate::names::{Metric, cluster};

pub(crate) use alerts::is_platform;
pub(crate) use certificates::earliest;
pub use document::provisioning;
pub use flags::DEFAULTS as DEFAULT_FLAGS;
pub use output::{CollectorOutput, Level, LogLine};
pub use versions::{Version, Versions};

/// Why a collector failed. Texts are bounded and contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    #[error("{need}: {error}")]
    Fetch { need: Cow<'static, str>, error: FetchError },
    #[error("{0} was not fetched")]
    NotFetched(Cow<'static, str>),
    #[error("error fetching APIServer {endpoint} endpoint: {}", StatusText(*code))]
    Unhealthy { endpoint: &'static str, code: u16 },
    #[error("{0}")]
    Object(Cow<'static, str>),
}

struct StatusText(u16);

impl std::fmt::Display for StatusText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => f.write_str("no answer"),
            code => write!(f, "status {code}"),
        }
    }
}

impl CollectError {
    pub(crate) fn fetch(need: &Resource, error: &FetchError) -> Self {
        Self::Fetch { need: need.name(), error: error.clone() }
    }

    /// The text of the contract's log line (`contract/monitor.md` §8): `kind` is `cluster` or `Hive`.
    pub fn log_text(kind: &str, collector: &str, inner: &str) -> String {
        format!("failure running {kind} collector '{collector}':\n  {}", inner.replace('\n', "\n  "))
    }
}

/// One collector. Its name is the value of the dimension `collector`.
#[derive(Debug)]
pub struct Collector {
    pub name: &'static str,
    /// The resources it reads. Called again when these were fetched: there may be more by then.
    pub needs: fn(&ClusterObjects) -> Vec<Resource>,
    pub run: fn(&ClusterObjects, &mut CollectorOutput) -> Result<(), CollectError>,
}

/// Always run first; when it fails, only [`PING`] is run.
pub static HEALTHZ: Collector =
    Collector { name: "emitAPIServerHealthzCode", needs: |_| Vec::new(), run: api::healthz };
/// Run only after a failed [`HEALTHZ`].
pub static PING: Collector =
    Collector { name: "emitAPIServerPingCode", needs: |_| Vec::new(), run: api::ping };
/// Run after a successful [`HEALTHZ`]; when it fails, nothing else is run.
pub static CLUSTER_VERSION: Collector = Collector {
    name: "prefetchClusterVersion",
    needs: |_| vec![Resource::ClusterVersion],
    run: versions::prefetch,
};
/// Run next, by itself.
pub static OPENSHIFT5: Collector = Collector {
    name: "emitOpenShift5Versions",
    needs: |_| vec![Resource::ClusterVersion],
    run: versions::openshift5,
};

/// All others, in the order in which they are begun.
pub static COLLECTORS: &[Collector] = &[
    Collector {
        name: "emitAroOperatorHeartbeat",
        needs: |_| vec![Resource::OperatorDeployments],
        run: aro::heartbeat,
    },
    Collector {
        name: "emitAroOperatorConditions",
        needs: |_| vec![Resource::AroCluster],
        run: aro::conditions,
    },
    Collector {
        name: "emitNSGReconciliation",
        needs: |_| vec![Resource::AroCluster],
        run: aro::nsg_reconciliation,
    },
    Collector {
        name: "emitClusterOperatorConditions",
        needs: |_| vec![Resource::ClusterOperators],
        run: operators::conditions,
    },
    Collector {
        name: "emitClusterOperatorVersions",
        needs: |_| vec![Resource::ClusterOperators],
        run: operators::versions,
    },
    Collector {
        name: "emitClusterVersionConditions",
        needs: |_| vec![Resource::ClusterVersion],
        run: versions::conditions,
    },
    Collector {
        name: "emitClusterVersions",
        needs: |_| vec![Resource::OperatorDeployments],
        run: versions::versions,
    },
    Collector {
        name: "emitDaemonsetStatuses",
        needs: |_| vec![Resource::LogDaemonSets],
        run: workloads::daemon_sets,
    },
    Collector {
        name: "emitMachineConfigPoolConditions",
        needs: |_| vec![Resource::Pools],
        run: nodes::pools,
    },
    Collector {
        name: "emitMachineConfigPoolUnmanagedNodeCounts",
        needs: |_| vec![Resource::Pools, Resource::Nodes],
        run: nodes::unmanaged,
    },
    Collector { name: "emitMachineConditions", needs: |_| vec![Resource::Machines], run: nodes::machines },
    Collector {
        name: "emitNodeConditions",
        needs: |_| vec![Resource::Machines, Resource::Nodes],
        run: nodes::nodes,
    },
    Collector { name: "emitPodConditions", needs: pods::needs, run: pods::pods },
    Collector {
        name: "emitCNVVirtualMachineInstanceStatuses",
        needs: |_| vec![Resource::VirtualMachines],
        run: workloads::virtual_machines,
    },
    Collector {
        name: "emitSummary",
        needs: |seen| if seen.hourly() { vec![Resource::Nodes] } else { Vec::new() },
        run: document::summary,
    },
    Collector {
        name: "emitOperatorFlagsAndSupportBanner",
        needs: |_| vec![Resource::AroCluster],
        run: flags::flags,
    },
    Collector { name: "emitMaintenanceState", needs: |_| Vec::new(), run: document::maintenance },
    Collector {
        name: "emitIngressAndAPIServerCertificateExpiry",
        needs: certificates::needs,
        run: certificates::managed,
    },
    Collector { name: "emitEtcdCertificateExpiry", needs: certificates::etcd_needs, run: certificates::etcd },
    Collector { name: "emitPrometheusAlerts", needs: |_| vec![Resource::Alerts], run: alerts::alerts },
    Collector { name: "emitCWPStatus", needs: proxy::needs, run: proxy::status },
    Collector { name: "emitClusterAuthenticationType", needs: |_| Vec::new(), run: document::authentication },
    Collector { name: "emitNetworkMTU", needs: |_| vec![Resource::Network], run: network::mtu },
];

/// The metrics of each collector.
static COLLECTOR_METRICS: &[(&str, &[&Metric])] = &[
    ("emitAroOperatorHeartbeat", &[&cluster::ARO_OPERATOR_HEARTBEAT]),
    ("emitAroOperatorConditions", &[&cluster::ARO_OPERATOR_CONDITIONS]),
    ("emitNSGReconciliation", &[&cluster::NSG_RECONCILIATIONS]),
    ("emitClusterOperatorConditions", &[&cluster::OPERATOR_CONDITIONS, &cluster::OPERATOR_COUNT]),
    ("emitClusterOperatorVersions", &[&cluster::OPERATOR_VERSIONS]),
    ("emitClusterVersionConditions", &[&cluster::CLUSTER_VERSION_CONDITIONS]),
    ("emitClusterVersions", &[&cluster::VERSIONS]),
    ("emitDaemonsetStatuses", &[&cluster::DAEMONSET_STATUSES, &cluster::OTEL_CANNOT_START]),
    ("emitMachineConfigPoolConditions", &[&cluster::POOL_CONDITIONS, &cluster::POOL_COUNT]),
    ("emitMachineConfigPoolUnmanagedNodeCounts", &[&cluster::POOL_UNMANAGED]),
    ("emitMachineConditions", &[&cluster::MACHINE_PHASE, &cluster::MACHINE_COUNT]),
    ("emitNodeConditions", &[&cluster::NODE_CONDITIONS, &cluster::NODE_KUBELET, &cluster::NODE_COUNT]),
    ("emitPodConditions", &[&cluster::POD_CONDITIONS, &cluster::POD_CONTAINERS, &cluster::POD_RESTARTS]),
    ("emitCNVVirtualMachineInstanceStatuses", &[&cluster::VMI_INFO]),
    ("emitSummary", &[&cluster::SUMMARY]),
    ("emitOperatorFlagsAndSupportBanner", &[&cluster::FLAGS, &cluster::BANNER]),
    ("emitMaintenanceState", &[&cluster::MAINTENANCE]),
    (
        "emitIngressAndAPIServerCertificateExpiry",
        &[&cluster::CERTIFICATE_EXPIRATION, &cluster::CERTIFICATE_MISSING],
    ),
    ("emitEtcdCertificateExpiry", &[&cluster::CERTIFICATE_EXPIRATION, &cluster::CERTIFICATE_MISSING]),
    ("emitPrometheusAlerts", &[&cluster::ALERTS_COUNT, &cluster::ALERTS, &cluster::TARGETED_ALERTS]),
    ("emitCWPStatus", &[&cluster::PROXY_STATUS]),
    ("emitClusterAuthenticationType", &[&cluster::AUTHENTICATION]),
    ("emitNetworkMTU", &[&cluster::NETWORK_MTU]),
];

/// The metrics of a collector: their series stay as they are when it fails (`contract/metrics.md` §4.1).
pub fn metrics_of_collector(collector: &str) -> &'static [&'static Metric] {
    COLLECTOR_METRICS.iter().find(|(name, _)| *name == collector).map_or(&[], |(_, metrics)| metrics)
}
