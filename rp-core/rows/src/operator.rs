//! Cluster operators and the cluster's version.

use rp_base::Timestamp;
use rp_openshift::{self as openshift, Whole};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Condition, ConditionState, Meta, Project, Status, condition_state, read};

/// A cluster operator.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct RelatedObject {
    pub group: String,
    pub resource: String,
    pub namespace: String,
    pub name: String,
}

impl Project for Operator {
    type Object = openshift::ClusterOperator<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        let conditions = read::conditions(&object.status.conditions);
        let of = |kind: &str| condition_state(&conditions, kind);
        Some(Self {
            meta,
            available: of("Available"),
            progressing: of("Progressing"),
            degraded: of("Degraded"),
            upgradeable: of("Upgradeable"),
            version: object.own_versions().next().map(read::short_text).unwrap_or_default(),
            versions: read::list(&object.status.versions, |operand| {
                (read::short(&operand.name), read::short(&operand.version))
            }),
            related_objects: read::list(&object.status.related_objects, related),
            conditions,
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

fn related(object: &openshift::RelatedObject<Whole>) -> RelatedObject {
    RelatedObject {
        group: read::short(&object.group),
        resource: read::short(&object.resource),
        namespace: read::short(&object.namespace),
        name: read::short(&object.name),
    }
}

/// The cluster's version.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct History {
    pub version: String,
    /// `Completed` or `Partial`.
    pub state: String,
    pub started: Option<Timestamp>,
    pub completed: Option<Timestamp>,
    pub verified: bool,
}

impl History {
    /// The version was reached.
    pub fn is_completed(&self) -> bool {
        self.state == "Completed"
    }
}

/// A version that it may move to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Available {
    pub version: String,
    pub url: String,
    /// Of conditional updates: why it is not recommended; empty when it is.
    pub risk: String,
}

impl Project for Version {
    type Object = openshift::ClusterVersion<Whole>;

    fn project(object: &Self::Object) -> Option<Self> {
        let meta = read::meta(&object.metadata)?;
        let conditions = read::conditions(&object.status.conditions);
        let progressing = condition_state(&conditions, "Progressing");
        Some(Self {
            meta,
            cluster_id: read::short(&object.spec.cluster_id),
            current: object.current().map(read::short_text).unwrap_or_default(),
            desired: read::short(&object.status.desired.version),
            channel: read::short(&object.spec.channel),
            updating: progressing.status.is_true().then_some(progressing.message),
            history: read::list(&object.status.history, history),
            conditions,
            available_updates: updates(object),
        })
    }

    fn key(&self) -> (&str, &str) {
        ("", &self.meta.name)
    }
}

impl Version {
    /// The version that it moves to now.
    pub fn moving_to(&self) -> Option<&str> {
        let under_way = self.updating.is_some() && !self.desired.is_empty();
        (under_way && self.desired != self.current).then_some(self.desired.as_str())
    }

    /// "62 % complete" of the version operator's words.
    pub fn percent(&self) -> Option<u8> {
        let words = self.updating.as_deref()?;
        let (before, _) = words.split_once('%')?;
        let digits: String = before.chars().rev().take_while(char::is_ascii_digit).collect();
        digits.chars().rev().collect::<String>().parse().ok().filter(|percent| *percent <= 100)
    }

    /// Why it does not go on; empty where it does not say so.
    pub fn failing(&self) -> String {
        let failing = self.find("Failing").filter(|failing| failing.status.is_true());
        failing.map(Condition::why).unwrap_or_default()
    }

    /// Whether an update may begin, and why not; an absent condition counts as upgradeable.
    pub fn upgradeable(&self) -> (Status, String) {
        self.find("Upgradeable")
            .map_or((Status::True, String::new()), |upgradeable| (upgradeable.status, upgradeable.why()))
    }

    fn find(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }
}

fn history(entry: &openshift::HistoryEntry<Whole>) -> History {
    History {
        version: read::short(&entry.version),
        state: read::short(&entry.state),
        started: entry.started_time.0,
        completed: entry.completion_time.0,
        verified: entry.verified,
    }
}

fn updates(object: &openshift::ClusterVersion<Whole>) -> Vec<Available> {
    let available = |release: &openshift::Release<Whole>, risk: String| Available {
        version: read::short(&release.version),
        url: read::text(&release.url, 500),
        risk,
    };
    let mut updates =
        read::list(&object.status.available_updates, |release| available(release, String::new()));
    updates.extend(read::list(&object.status.conditional_updates, |update| {
        let risk = update.risks.first().map(|risk| read::message(&risk.message));
        available(&update.release, risk.unwrap_or_default())
    }));
    updates
}
