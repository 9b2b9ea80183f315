//! Which Prometheus of a cluster (`contract/portal.md` §13.2, "Do better" 31).

use serde::Serialize;

/// One place where a Prometheus API is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Pod `prometheus-k8s-0` or `-1` of `openshift-monitoring`.
    Platform(u8),
    /// A pod of the Thanos querier, which joins platform and user workload.
    Thanos,
    /// Pod `prometheus-user-workload-0` or `-1` of `openshift-user-workload-monitoring`.
    User(u8),
    /// What the configuration names for an imported cluster, or what was found there.
    Configured,
    /// Pod `alertmanager-main-0`, `-1` or `-2` of `openshift-monitoring`.
    Alertmanager(u8),
}

/// A source as people choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Source {
    pub id: &'static str,
    pub name: &'static str,
    /// `platform`, `thanos`, `user` or `configured`.
    pub kind: &'static str,
    #[serde(skip)]
    pub places: &'static [Place],
}

/// Every source, in the order of fail-over; user workload is never fallen over to.
pub(crate) const SOURCES: [Source; 5] = [
    Source {
        id: "prometheus-k8s-0",
        name: "Prometheus, first replica",
        kind: "platform",
        places: &[Place::Platform(0)],
    },
    Source {
        id: "prometheus-k8s-1",
        name: "Prometheus, second replica",
        kind: "platform",
        places: &[Place::Platform(1)],
    },
    Source { id: "thanos-querier", name: "Thanos querier", kind: "thanos", places: &[Place::Thanos] },
    Source {
        id: "user-workload",
        name: "User workload",
        kind: "user",
        places: &[Place::User(0), Place::User(1)],
    },
    Source { id: "configured", name: "Configured", kind: "configured", places: &[Place::Configured] },
];

/// What a caller asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Choice {
    /// By itself, with fail-over.
    #[default]
    Auto,
    /// This one or none.
    Forced(&'static str),
    /// Alertmanager; not offered to callers.
    Alertmanager,
}

impl Choice {
    /// The choice of that id; empty and `auto`: by itself.
    pub fn parse(id: &str) -> Option<Self> {
        match id {
            "" | "auto" => Some(Self::Auto),
            "prometheus-k8s" => Some(Self::Auto),
            "thanos" => Some(Self::Forced("thanos-querier")),
            id => SOURCES.iter().find(|source| source.id == id).map(|source| Self::Forced(source.id)),
        }
    }

    /// Where to try, in order. `configured`: the cluster has a way of its own.
    pub(crate) fn places(self, configured: bool) -> Vec<Place> {
        match self {
            Self::Auto if configured => vec![Place::Configured],
            Self::Auto => vec![Place::Platform(0), Place::Platform(1), Place::Thanos],
            Self::Forced(id) => SOURCES
                .iter()
                .find(|source| source.id == id)
                .map(|source| source.places.to_vec())
                .unwrap_or_default(),
            Self::Alertmanager => vec![Place::Alertmanager(0), Place::Alertmanager(1)],
        }
    }
}

impl Place {
    /// The name in answers and as a label.
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
        assert_eq!(Choice::parse("auto"), Some(Choice::Auto));
        assert_eq!(Choice::parse("thanos-querier"), Some(Choice::Forced("thanos-querier")));
        assert_eq!(Choice::parse("alertmanager-main-0"), None);
        assert_eq!(Choice::Forced("user-workload").places(false), [Place::User(0), Place::User(1)]);
        assert!(!Choice::Auto.places(false).contains(&Place::User(0)));
        assert_eq!(Choice::Auto.places(true), [Place::Configured]);
    }
}
