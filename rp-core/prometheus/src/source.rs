//! Which Prometheus of a cluster (`contract/portal.md` §13.2, "Do better" 31).

use schemars::JsonSchema;
use serde::Serialize;

/// One server that offers a Prometheus or Alertmanager API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Instance {
    /// Pod `prometheus-k8s-0` or `-1` of `openshift-monitoring`.
    Platform(u8),
    /// A pod of the Thanos querier, which joins platform and user workload.
    Thanos,
    /// Pod `prometheus-user-workload-0` or `-1` of `openshift-user-workload-monitoring`.
    User(u8),
    /// The server that is configured for an imported cluster, or that was discovered there.
    Configured,
    /// Pod `alertmanager-main-0`, `-1` or `-2` of `openshift-monitoring`.
    Alertmanager(u8),
}

/// A source as users choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    pub id: &'static str,
    pub name: &'static str,
    /// `platform`, `thanos`, `user` or `configured`.
    pub kind: &'static str,
    #[serde(skip)]
    pub places: &'static [Instance],
}

/// Every source, in the order of fail-over; user workload is never fallen over to.
pub(crate) const SOURCES: [Source; 5] = [
    Source {
        id: "prometheus-k8s-0",
        name: "Prometheus, first replica",
        kind: "platform",
        places: &[Instance::Platform(0)],
    },
    Source {
        id: "prometheus-k8s-1",
        name: "Prometheus, second replica",
        kind: "platform",
        places: &[Instance::Platform(1)],
    },
    Source { id: "thanos-querier", name: "Thanos querier", kind: "thanos", places: &[Instance::Thanos] },
    Source {
        id: "user-workload",
        name: "User workload",
        kind: "user",
        places: &[Instance::User(0), Instance::User(1)],
    },
    Source { id: "configured", name: "Configured", kind: "configured", places: &[Instance::Configured] },
];

/// The source that a caller requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SourceChoice {
    /// Chosen automatically, with fail-over.
    #[default]
    Auto,
    /// Only this source.
    Forced(&'static str),
    /// Alertmanager; not offered to callers.
    Alertmanager,
}

impl SourceChoice {
    /// The choice with this id; empty and `auto` mean automatic.
    pub fn parse(id: &str) -> Option<Self> {
        match id {
            "" | "auto" => Some(Self::Auto),
            "prometheus-k8s" => Some(Self::Auto),
            "thanos" => Some(Self::Forced("thanos-querier")),
            id => SOURCES.iter().find(|source| source.id == id).map(|source| Self::Forced(source.id)),
        }
    }

    /// The instances to try, in order. `configured`: the cluster has a configured or discovered address.
    pub(crate) fn places(self, configured: bool) -> Vec<Instance> {
        match self {
            Self::Auto if configured => vec![Instance::Configured],
            Self::Auto => vec![Instance::Platform(0), Instance::Platform(1), Instance::Thanos],
            Self::Forced(id) => SOURCES
                .iter()
                .find(|source| source.id == id)
                .map(|source| source.places.to_vec())
                .unwrap_or_default(),
            Self::Alertmanager => vec![Instance::Alertmanager(0), Instance::Alertmanager(1)],
        }
    }
}

impl Instance {
    /// The name in responses and as a metric label.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Platform(0) => "prometheus-k8s-0",
            Self::Platform(_) => "prometheus-k8s-1",
            Self::Thanos => "thanos-querier",
            Self::User(_) => "user-workload",
            Self::Configured => "configured",
            Self::Alertmanager(0) => "alertmanager-main-0",
            Self::Alertmanager(1) => "alertmanager-main-1",
            Self::Alertmanager(_) => "alertmanager-main-2",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_have_names() {
        assert_eq!(SourceChoice::parse("auto"), Some(SourceChoice::Auto));
        assert_eq!(SourceChoice::parse("thanos-querier"), Some(SourceChoice::Forced("thanos-querier")));
        assert_eq!(SourceChoice::parse("alertmanager-main-0"), None);
        assert_eq!(
            SourceChoice::Forced("user-workload").places(false),
            [Instance::User(0), Instance::User(1)]
        );
        assert!(!SourceChoice::Auto.places(false).contains(&Instance::User(0)));
        assert_eq!(SourceChoice::Auto.places(true), [Instance::Configured]);
    }
}
