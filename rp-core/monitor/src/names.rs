//! The one list of metrics (`contract/metrics.md` §2 and §4): what each is called in statsd and in
//! Prometheus, what its dimensions are, and what it means. Both sinks, the rules and the reference are
//! rendered from it.

pub mod client;
pub mod cluster;
pub mod own;

/// The statsd type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `g`, a whole number.
    Int,
    /// `f`, six decimals.
    Float,
}

/// The account that the line is sent to (`contract/monitor.md` §13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    Service,
    Cluster,
}

/// Which dimensions of the cluster stand on each line beside the metric's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The process.
    None,
    /// `[C]`: `resourceId`, `subscriptionId`, `resourceGroup`, `resourceName`; they win over equal names.
    Cluster,
    /// `[D]`: `resourceId`, `location`, `subscriptionId` in lower case.
    Document,
}

/// The meaning of a metric (`contract/metrics.md` §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One per event: a counter in Prometheus.
    Count,
    /// One per event: a histogram of seconds in Prometheus; `millis`: statsd has milliseconds.
    Duration {
        millis: bool,
    },
    Gauge,
    /// 1 while something is so; absence means healthy or not applicable.
    State,
    /// 1, with labels that carry the information.
    Info,
    /// As `Info`, one for every object of a cluster: the first to be left out when there are too many series.
    PerObject,
}

impl Kind {
    /// Whether Prometheus holds the series of a cluster until its next look (else it adds events up).
    pub const fn is_held(self) -> bool {
        !matches!(self, Self::Count | Self::Duration { .. })
    }

    /// The type in the Prometheus text format.
    pub const fn prometheus(self) -> &'static str {
        match self {
            Self::Count => "counter",
            Self::Duration { .. } => "histogram",
            Self::Gauge | Self::State | Self::Info | Self::PerObject => "gauge",
        }
    }

    /// The name in the reference.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Duration { .. } => "duration",
            Self::Gauge => "gauge",
            Self::State => "state",
            Self::Info | Self::PerObject => "info",
        }
    }
}

/// One dimension: its name in statsd, its label in Prometheus. Free text has no label, a bounded code in its place
/// no statsd name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim {
    pub statsd: Option<&'static str>,
    pub label: Option<&'static str>,
}

/// The same name in both.
pub const fn same(name: &'static str) -> Dim {
    Dim { statsd: Some(name), label: Some(name) }
}

/// A name in statsd and another in Prometheus.
pub const fn dim(statsd: &'static str, label: &'static str) -> Dim {
    Dim { statsd: Some(statsd), label: Some(label) }
}

/// Free text, lists, numbers: statsd only (`contract/metrics.md` §4.3).
pub const fn text(statsd: &'static str) -> Dim {
    Dim { statsd: Some(statsd), label: None }
}

/// A bounded code: Prometheus only.
pub const fn label(label: &'static str) -> Dim {
    Dim { statsd: None, label: Some(label) }
}

/// How a sample becomes series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// One series.
    Whole,
    /// One for each of [`crate::sample::Sample::spread`]: its name under `name`, a code of its value under `text`.
    Each { name: &'static str, text: &'static str },
}

/// The Prometheus side of a metric. A held metric of a cluster also has the labels of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposed {
    pub name: &'static str,
    /// Labels that are the same on every series: where several metrics of statsd are one here.
    pub fixed: &'static [(&'static str, &'static str)],
    pub spread: Spread,
}

/// One metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name in statsd.
    pub name: &'static str,
    pub wire: Wire,
    pub kind: Kind,
    pub account: Account,
    pub scope: Scope,
    /// In addition to the dimensions of the scope.
    pub dims: &'static [Dim],
    /// `None`: another metric has the same information, or it is not useful in Prometheus.
    pub exposed: Option<Exposed>,
    pub help: &'static str,
}

impl Metric {
    /// Labels in Prometheus beside those of the cluster, in the order of [`crate::sample::Series::labels`].
    pub fn labels(&self) -> Vec<&'static str> {
        let Some(exposed) = &self.exposed else { return Vec::new() };
        let fixed = exposed.fixed.iter().map(|(name, _)| *name);
        let own = self.dims.iter().filter_map(|dim| dim.label);
        let spread = match exposed.spread {
            Spread::Whole => Vec::new(),
            Spread::Each { name, text } => vec![name, text],
        };
        fixed.chain(own).chain(spread).collect()
    }
}

const fn exposed(name: &'static str, fixed: &'static [(&'static str, &'static str)]) -> Option<Exposed> {
    Some(Exposed { name, fixed, spread: Spread::Whole })
}

/// A metric of a cluster: `[C]`, cluster account, whole numbers.
const fn held(
    kind: Kind,
    name: &'static str,
    prometheus: &'static str,
    dims: &'static [Dim],
    help: &'static str,
) -> Metric {
    Metric {
        name,
        wire: Wire::Int,
        kind,
        account: Account::Cluster,
        scope: Scope::Cluster,
        dims,
        exposed: exposed(prometheus, &[]),
        help,
    }
}

/// Every metric, ordered as in the reference.
pub static ALL: &[&Metric] = &[
    // the monitor itself
    &own::HEARTBEAT,
    &own::CACHE_SIZE,
    &own::FEED_CACHE_SIZE,
    &own::WORKERS_ACTIVE,
    &own::CONNECT_ERROR,
    &own::CLUSTER_FAILED,
    &own::HIVE_FAILED,
    &own::NSG_FAILED,
    &own::NOOP_FAILED,
    &own::TIMED_OUT,
    &own::FORCED_CLEANUP,
    &own::COLLECTOR_DURATION,
    &own::COLLECTOR_ERROR,
    &own::COLLECTOR_SKIPPED,
    &own::CLUSTER_DURATION,
    &own::HIVE_COLLECTOR_ERROR,
    &own::HIVE_DURATION,
    &own::NSG_DURATION,
    // its clients
    &client::AZURE_COUNT,
    &client::AZURE_DURATION,
    &client::AZURE_ERRORS,
    &client::KUBERNETES_COUNT,
    &client::KUBERNETES_DURATION,
    &client::KUBERNETES_ERRORS,
    // API and versions
    &cluster::HEALTHZ,
    &cluster::PING,
    &cluster::PROVISIONING,
    &cluster::VERSIONS,
    &cluster::OPENSHIFT5,
    &cluster::SUMMARY,
    &cluster::AUTHENTICATION,
    &cluster::MAINTENANCE,
    &cluster::FLAGS,
    &cluster::BANNER,
    // operators
    &cluster::ARO_OPERATOR_HEARTBEAT,
    &cluster::ARO_OPERATOR_CONDITIONS,
    &cluster::NSG_RECONCILIATIONS,
    &cluster::CLUSTER_VERSION_CONDITIONS,
    &cluster::OPERATOR_CONDITIONS,
    &cluster::OPERATOR_COUNT,
    &cluster::OPERATOR_VERSIONS,
    // machines and nodes
    &cluster::POOL_CONDITIONS,
    &cluster::POOL_COUNT,
    &cluster::POOL_UNMANAGED,
    &cluster::MACHINE_PHASE,
    &cluster::MACHINE_COUNT,
    &cluster::NODE_CONDITIONS,
    &cluster::NODE_KUBELET,
    &cluster::NODE_COUNT,
    // workloads
    &cluster::DAEMONSET_STATUSES,
    &cluster::OTEL_CANNOT_START,
    &cluster::POD_CONDITIONS,
    &cluster::POD_CONTAINERS,
    &cluster::POD_RESTARTS,
    &cluster::VMI_INFO,
    // alerts, certificates, network
    &cluster::ALERTS_COUNT,
    &cluster::ALERTS,
    &cluster::TARGETED_ALERTS,
    &cluster::CERTIFICATE_EXPIRATION,
    &cluster::CERTIFICATE_MISSING,
    &cluster::PROXY_STATUS,
    &cluster::NETWORK_MTU,
    // NSG
    &cluster::NSG_ENABLED,
    &cluster::NSG_FAILED_CREATION,
    &cluster::NSG_SUBNET_FORBIDDEN,
    &cluster::NSG_SUBNET_ERROR,
    &cluster::NSG_INVALID_RULE,
    // Hive
    &cluster::HIVE_CONDITIONS,
    &cluster::HIVE_SYNC,
];

#[cfg(test)]
mod tests;
