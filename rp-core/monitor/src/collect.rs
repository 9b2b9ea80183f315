//! The collectors of a cluster (`contract/monitor.md` §8, §9): pure functions from what was seen to what is
//! told.

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
mod pods;
mod proxy;
#[cfg(test)]
pub(crate) mod tests;
mod told;
mod versions;
mod workloads;

use std::borrow::Cow;

use crate::fetch::FetchError;
use crate::names::{Metric, cluster as of};
use crate::seen::{Need, Seen};

pub(crate) use alerts::is_platform;
pub(crate) use certificates::earliest;
pub use document::provisioning;
pub use flags::DEFAULTS as DEFAULT_FLAGS;
pub use told::{Level, Line, Told};
pub use versions::{Version, Versions};

/// Why a collector failed. Texts are bounded and hold no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    #[error("{need}: {error}")]
    Fetch { need: Cow<'static, str>, error: FetchError },
    #[error("{0} was not fetched")]
    NotFetched(Cow<'static, str>),
    #[error("error fetching APIServer {endpoint} endpoint: {}", Answer(*code))]
    Unhealthy { endpoint: &'static str, code: u16 },
    #[error("{0}")]
    Object(Cow<'static, str>),
}

struct Answer(u16);

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => f.write_str("no answer"),
            code => write!(f, "status {code}"),
        }
    }
}

impl CollectError {
    pub(crate) fn fetch(need: &Need, error: &FetchError) -> Self {
        Self::Fetch { need: need.name(), error: error.clone() }
    }

    /// The text of the contract's log line (`contract/monitor.md` §8): `kind` is `cluster` or `Hive`.
    pub fn told(kind: &str, collector: &str, inner: &str) -> String {
        format!("failure running {kind} collector '{collector}':\n  {}", inner.replace('\n', "\n  "))
    }
}

/// One collector. Its name is the value of the dimension `collector`.
#[derive(Debug)]
pub struct Collector {
    pub name: &'static str,
    /// What it reads. Asked again when all of that was fetched: there may be more by then.
    pub needs: fn(&Seen) -> Vec<Need>,
    pub run: fn(&Seen, &mut Told) -> Result<(), CollectError>,
}

/// Always the first; when it fails, [`PING`] is run and nothing else.
pub static HEALTHZ: Collector =
    Collector { name: "emitAPIServerHealthzCode", needs: |_| Vec::new(), run: api::healthz };
/// Run after a failed [`HEALTHZ`] alone.
pub static PING: Collector =
    Collector { name: "emitAPIServerPingCode", needs: |_| Vec::new(), run: api::ping };
/// Run after a good [`HEALTHZ`]; when it fails, nothing else is run.
pub static CLUSTER_VERSION: Collector = Collector {
    name: "prefetchClusterVersion",
    needs: |_| vec![Need::ClusterVersion],
    run: versions::prefetch,
};
/// Run next, by itself.
pub static OPENSHIFT5: Collector = Collector {
    name: "emitOpenShift5Versions",
    needs: |_| vec![Need::ClusterVersion],
    run: versions::openshift5,
};

/// All others, in the order in which they are begun.
pub static COLLECTORS: &[Collector] = &[
    Collector {
        name: "emitAroOperatorHeartbeat",
        needs: |_| vec![Need::OperatorDeployments],
        run: aro::heartbeat,
    },
    Collector { name: "emitAroOperatorConditions", needs: |_| vec![Need::AroCluster], run: aro::conditions },
    Collector {
        name: "emitNSGReconciliation",
        needs: |_| vec![Need::AroCluster],
        run: aro::nsg_reconciliation,
    },
    Collector {
        name: "emitClusterOperatorConditions",
        needs: |_| vec![Need::ClusterOperators],
        run: operators::conditions,
    },
    Collector {
        name: "emitClusterOperatorVersions",
        needs: |_| vec![Need::ClusterOperators],
        run: operators::versions,
    },
    Collector {
        name: "emitClusterVersionConditions",
        needs: |_| vec![Need::ClusterVersion],
        run: versions::conditions,
    },
    Collector {
        name: "emitClusterVersions",
        needs: |_| vec![Need::OperatorDeployments],
        run: versions::versions,
    },
    Collector {
        name: "emitDaemonsetStatuses",
        needs: |_| vec![Need::LogDaemonSets],
        run: workloads::daemon_sets,
    },
    Collector { name: "emitMachineConfigPoolConditions", needs: |_| vec![Need::Pools], run: nodes::pools },
    Collector {
        name: "emitMachineConfigPoolUnmanagedNodeCounts",
        needs: |_| vec![Need::Pools, Need::Nodes],
        run: nodes::unmanaged,
    },
    Collector { name: "emitMachineConditions", needs: |_| vec![Need::Machines], run: nodes::machines },
    Collector { name: "emitNodeConditions", needs: |_| vec![Need::Machines, Need::Nodes], run: nodes::nodes },
    Collector { name: "emitPodConditions", needs: pods::needs, run: pods::pods },
    Collector {
        name: "emitCNVVirtualMachineInstanceStatuses",
        needs: |_| vec![Need::VirtualMachines],
        run: workloads::virtual_machines,
    },
    Collector {
        name: "emitSummary",
        needs: |seen| if seen.hourly() { vec![Need::Nodes] } else { Vec::new() },
        run: document::summary,
    },
    Collector {
        name: "emitOperatorFlagsAndSupportBanner",
        needs: |_| vec![Need::AroCluster],
        run: flags::flags,
    },
    Collector { name: "emitMaintenanceState", needs: |_| Vec::new(), run: document::maintenance },
    Collector {
        name: "emitIngressAndAPIServerCertificateExpiry",
        needs: certificates::needs,
        run: certificates::managed,
    },
    Collector { name: "emitEtcdCertificateExpiry", needs: certificates::etcd_needs, run: certificates::etcd },
    Collector { name: "emitPrometheusAlerts", needs: |_| vec![Need::Alerts], run: alerts::alerts },
    Collector { name: "emitCWPStatus", needs: proxy::needs, run: proxy::status },
    Collector { name: "emitClusterAuthenticationType", needs: |_| Vec::new(), run: document::authentication },
    Collector { name: "emitNetworkMTU", needs: |_| vec![Need::Network], run: network::mtu },
];

/// The metrics of each collector.
static TOLD_BY: &[(&str, &[&Metric])] = &[
    ("emitAroOperatorHeartbeat", &[&of::ARO_OPERATOR_HEARTBEAT]),
    ("emitAroOperatorConditions", &[&of::ARO_OPERATOR_CONDITIONS]),
    ("emitNSGReconciliation", &[&of::NSG_RECONCILIATIONS]),
    ("emitClusterOperatorConditions", &[&of::OPERATOR_CONDITIONS, &of::OPERATOR_COUNT]),
    ("emitClusterOperatorVersions", &[&of::OPERATOR_VERSIONS]),
    ("emitClusterVersionConditions", &[&of::CLUSTER_VERSION_CONDITIONS]),
    ("emitClusterVersions", &[&of::VERSIONS]),
    ("emitDaemonsetStatuses", &[&of::DAEMONSET_STATUSES, &of::OTEL_CANNOT_START]),
    ("emitMachineConfigPoolConditions", &[&of::POOL_CONDITIONS, &of::POOL_COUNT]),
    ("emitMachineConfigPoolUnmanagedNodeCounts", &[&of::POOL_UNMANAGED]),
    ("emitMachineConditions", &[&of::MACHINE_PHASE, &of::MACHINE_COUNT]),
    ("emitNodeConditions", &[&of::NODE_CONDITIONS, &of::NODE_KUBELET, &of::NODE_COUNT]),
    ("emitPodConditions", &[&of::POD_CONDITIONS, &of::POD_CONTAINERS, &of::POD_RESTARTS]),
    ("emitCNVVirtualMachineInstanceStatuses", &[&of::VMI_INFO]),
    ("emitSummary", &[&of::SUMMARY]),
    ("emitOperatorFlagsAndSupportBanner", &[&of::FLAGS, &of::BANNER]),
    ("emitMaintenanceState", &[&of::MAINTENANCE]),
    ("emitIngressAndAPIServerCertificateExpiry", &[&of::CERTIFICATE_EXPIRATION, &of::CERTIFICATE_MISSING]),
    ("emitEtcdCertificateExpiry", &[&of::CERTIFICATE_EXPIRATION, &of::CERTIFICATE_MISSING]),
    ("emitPrometheusAlerts", &[&of::ALERTS_COUNT, &of::ALERTS, &of::TARGETED_ALERTS]),
    ("emitCWPStatus", &[&of::PROXY_STATUS]),
    ("emitClusterAuthenticationType", &[&of::AUTHENTICATION]),
    ("emitNetworkMTU", &[&of::NETWORK_MTU]),
];

/// The metrics of a collector: their series stay as they are when it fails (`contract/metrics.md` §4.1).
pub fn told_by(collector: &str) -> &'static [&'static Metric] {
    TOLD_BY.iter().find(|(name, _)| *name == collector).map_or(&[], |(_, metrics)| metrics)
}
