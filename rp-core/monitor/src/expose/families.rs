//! The Prometheus names of [`crate::names::ALL`], each once.

use std::collections::HashMap;

use rp_metrics::{Description, Kind as Type};

use crate::names::{ALL, Kind, Metric, Scope, cluster};

/// One Prometheus name and the metrics that are exposed under it.
#[derive(Debug)]
pub(super) struct ExpositionFamily {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: Kind,
    /// Whether its series name a cluster.
    pub(super) held: bool,
    hourly: bool,
    pub(super) unhealthy: Unhealthy,
    members: Vec<&'static Metric>,
}

/// Which series of a family are unhealthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unhealthy {
    None,
    Every,
    /// Series whose line does not contain this.
    Without(&'static str),
    /// Series whose line contains this.
    With(&'static str),
}

#[derive(Debug)]
pub(super) struct Families {
    all: Vec<ExpositionFamily>,
    by_name: HashMap<&'static str, u16>,
}

impl Families {
    pub(super) fn new() -> Self {
        let mut new = Self { all: Vec::new(), by_name: HashMap::new() };
        for metric in ALL {
            let Some(exposed) = &metric.exposed else { continue };
            if let Some(family) = new.by_name.get(exposed.name) {
                new.all[usize::from(*family)].members.push(metric);
                continue;
            }
            let Ok(family) = u16::try_from(new.all.len()) else { continue };
            new.by_name.insert(exposed.name, family);
            new.all.push(ExpositionFamily {
                name: exposed.name,
                help: metric.help,
                kind: metric.kind,
                held: metric.kind.is_held() && metric.scope != Scope::None,
                hourly: [&cluster::PROVISIONING, &cluster::SUMMARY]
                    .iter()
                    .any(|of| std::ptr::eq(*of, *metric)),
                unhealthy: unhealthy(metric),
                members: vec![metric],
            });
        }
        new
    }

    pub(super) fn find(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, family: u16) -> Option<&ExpositionFamily> {
        self.all.get(usize::from(family))
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_hourly(&self, family: u16) -> bool {
        self.get(family).is_some_and(|family| family.hourly)
    }

    /// Whether one of the metrics is exposed under this name.
    pub(super) fn holds(&self, family: u16, metrics: &[&'static Metric]) -> bool {
        let is = |of: &&'static Metric| metrics.iter().any(|metric| std::ptr::eq(*metric, *of));
        self.get(family).is_some_and(|family| family.members.iter().any(is))
    }

    /// Labels of the overflow series.
    pub(super) fn overflow(&self, family: u16) -> String {
        let mut out = String::new();
        let labels = self.get(family).and_then(|family| family.members.first()).map(|metric| metric.labels());
        for label in labels.unwrap_or_default() {
            rp_metrics::text::pair(&mut out, label, "_overflow");
        }
        out
    }

    pub(super) fn list(&self) -> Vec<Description> {
        let own = self.all.iter().map(|family| {
            let cluster: &[&str] = if family.held { &CLUSTER } else { &[] };
            let labels = family.members.first().map(|metric| metric.labels()).unwrap_or_default();
            describe(family.name, family.kind, family.help, [cluster, &labels].concat())
        });
        let fleet = FLEET.iter().map(|(name, help)| describe(name, Kind::Gauge, help, vec!["metric"]));
        own.chain(fleet).collect()
    }
}

/// Labels of the cluster.
const CLUSTER: [&str; 4] = ["resource_id", "subscription_id", "resource_group", "resource_name"];

/// Sums over all clusters of this process, by the name of the metric.
pub(super) const FLEET: [(&str, &str); 3] = [
    ("aro_fleet_clusters", "Clusters of which at least one series of a metric is held."),
    ("aro_fleet_series", "Series of a metric over all clusters."),
    ("aro_fleet_value", "Sum of the values of a metric over all clusters; of states and infos their number."),
];

fn describe(name: &str, kind: Kind, help: &str, labels: Vec<&'static str>) -> Description {
    let (kind, unit) = match kind {
        Kind::Count => (Type::Counter, None),
        Kind::Duration { .. } => (Type::Histogram, Some("seconds")),
        Kind::Gauge | Kind::State | Kind::Info | Kind::PerObject => {
            (Type::Gauge, rp_metrics::text::unit(name))
        }
    };
    Description { name: name.to_owned(), kind, help: help.to_owned(), unit, labels }
}

fn unhealthy(metric: &'static Metric) -> Unhealthy {
    let is = |other: &'static Metric| std::ptr::eq(metric, other);
    let told =
        [&cluster::ALERTS, &cluster::TARGETED_ALERTS, &cluster::POD_RESTARTS, &cluster::POOL_UNMANAGED];
    if is(&cluster::HEALTHZ) || is(&cluster::PING) {
        Unhealthy::Without("code=\"200\"")
    } else if is(&cluster::ARO_OPERATOR_HEARTBEAT) {
        Unhealthy::With("} 0\n")
    } else if is(&cluster::PROXY_STATUS) {
        Unhealthy::With("reason=\"missing_entries\"")
    } else if is(&cluster::MAINTENANCE) {
        Unhealthy::Without("state=\"none\"")
    } else if metric.kind == Kind::State || is(&cluster::CERTIFICATE_EXPIRATION) || told.into_iter().any(is) {
        Unhealthy::Every
    } else {
        Unhealthy::None
    }
}

impl Unhealthy {
    /// Whether a line, from its own labels on, is shown.
    pub(super) fn shows(self, line: &str) -> bool {
        match self {
            Self::None => false,
            Self::Every => true,
            Self::Without(text) => !line.contains(text),
            Self::With(text) => line.contains(text),
        }
    }
}
