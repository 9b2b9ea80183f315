//! Cluster operators and the cluster's version.

use rp_base::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::{Condition, ConditionState, Meta, Project, Status, condition_state, read};

/// A cluster operator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Operator {
    #[serde(flatten)]
    pub meta: Meta,
    pub available: ConditionState,
    pub progressing: ConditionState,
    pub degraded: ConditionState,
    pub upgradeable: ConditionState,
    /// The version of the operand `operator`; empty when it says none.
    pub version: String,
    /// Operands and their versions.
    pub versions: Vec<(String, String)>,
    pub conditions: Vec<Condition>,
    pub related_objects: Vec<RelatedObject>,
}

/// What an operator says it looks after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelatedObject {
    pub group: String,
    pub resource: String,
    pub namespace: String,
    pub name: String,
}

impl Project for Operator {
    fn project(object: &Value) -> Option<Self> {
        let meta = read::meta(object)?;
        let conditions = read::conditions(object, "/status/conditions");
        let of = |kind: &str| condition_state(&conditions, kind);
        let versions: Vec<_> = read::list(object, "/status/versions")
            .map(|each| (read::short_text(each, "/name"), read::short_text(each, "/version")))
            .collect();
        let version =
            versions.iter().find(|(name, _)| name == "operator").map(|(_, version)| version.clone());
        Some(Self {
            meta,
            available: of("Available"),
            progressing: of("Progressing"),
            degraded: of("Degraded"),
            upgradeable: of("Upgradeable"),
            version: version.unwrap_or_default(),
            versions,
            related_objects: read::list(object, "/status/relatedObjects").map(related).collect(),
            conditions,
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

fn related(value: &Value) -> RelatedObject {
    RelatedObject {
        group: read::short_text(value, "/group"),
        resource: read::short_text(value, "/resource"),
        namespace: read::short_text(value, "/namespace"),
        name: read::short_text(value, "/name"),
    }
}

impl Operator {
    /// Available and not degraded.
    pub fn is_well(&self) -> bool {
        self.available.status.is_true() && self.degraded.status == Status::False
    }
}

/// The cluster's version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Version {
    #[serde(flatten)]
    pub meta: Meta,
    pub cluster_id: String,
    /// The newest version of the history whose state is `Completed`; empty while the first one is installed.
    pub current: String,
    pub desired: String,
    pub channel: String,
    /// What the version operator says while it moves to another version.
    pub updating: Option<String>,
    pub history: Vec<History>,
    pub conditions: Vec<Condition>,
    pub available_updates: Vec<Available>,
}

/// One version that the cluster had or moved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct History {
    pub version: String,
    /// `Completed` or `Partial`.
    pub state: String,
    pub started: Option<Timestamp>,
    pub completed: Option<Timestamp>,
    pub verified: bool,
}

/// A version that it may move to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Available {
    pub version: String,
    pub url: String,
    /// Of conditional updates: why it is not recommended; empty when it is.
    pub risk: String,
}

impl Project for Version {
    fn project(object: &Value) -> Option<Self> {
        let meta = read::meta(object)?;
        let conditions = read::conditions(object, "/status/conditions");
        let history: Vec<_> = read::list(object, "/status/history").map(history).collect();
        let completed = history.iter().find(|each| each.state == "Completed");
        let progressing = condition_state(&conditions, "Progressing");
        Some(Self {
            meta,
            cluster_id: read::short_text(object, "/spec/clusterID"),
            current: completed.map(|each| each.version.clone()).unwrap_or_default(),
            desired: read::short_text(object, "/status/desired/version"),
            channel: read::short_text(object, "/spec/channel"),
            updating: progressing.status.is_true().then_some(progressing.message),
            history,
            conditions,
            available_updates: updates(object),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

fn history(value: &Value) -> History {
    History {
        version: read::short_text(value, "/version"),
        state: read::short_text(value, "/state"),
        started: read::time(value, "/startedTime"),
        completed: read::time(value, "/completionTime"),
        verified: read::flag(value, "/verified"),
    }
}

fn updates(object: &Value) -> Vec<Available> {
    let plain = read::list(object, "/status/availableUpdates").map(|update| Available {
        version: read::short_text(update, "/version"),
        url: read::text(update, "/url", 500),
        risk: String::new(),
    });
    let conditional = read::list(object, "/status/conditionalUpdates").map(|update| Available {
        version: read::short_text(update, "/release/version"),
        url: read::text(update, "/release/url", 500),
        risk: read::list(update, "/risks")
            .map(|risk| read::message(risk, "/message"))
            .next()
            .unwrap_or_default(),
    });
    plain.chain(conditional).collect()
}
