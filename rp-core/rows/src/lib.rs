//! What people see of a cluster's objects: one row type for each kind, from the watch to the page and the JSON API.
//!
//! Entry rule: what can be shown of one object, without markup and without asking anybody.
//!
//! A row is a projection of an object (`rp_openshift`): a small plain struct, every text cleaned and bounded. Its members
//! are the members of the JSON API; the columns of its table are declared once, in `web`.
//!
//! Projection never fails on odd input: a member that is missing or of another type counts as absent, and only an
//! object without a name is skipped. Times in the future are kept; pages show "in 3 h".

mod cluster;
mod event;
mod machine;
pub mod namespaces;
mod node;
mod operator;
mod pod;
pub mod read;
#[cfg(test)]
mod tests;
mod workload;

use rp_base::Timestamp;
use rp_openshift::lenient::maybe;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use rp_openshift::{ContainerState, Status, WorkloadKind};

pub use cluster::{AroCluster, Etcd, Infrastructure, IngressController, Network, Proxy};
pub use event::Event;
pub use machine::{ControlPlaneMachineSet, Machine, MachineSet, Pool};
pub use node::{Amounts, Node, Taint};
pub use operator::{Available, History, Operator, RelatedObject, Version};
pub use pod::{Container, Pod};
pub use workload::Workload;

/// Longest name, characters (RFC 1123 subdomain).
pub const MOST_NAME: usize = 253;
/// Longest message, characters.
pub const MOST_MESSAGE: usize = 2_000;
/// Conditions kept of one object.
pub const MOST_CONDITIONS: usize = 200;
/// Labels or annotations kept of one object.
pub const MOST_LABELS: usize = 100;
/// Longest value of a label or annotation that is kept, characters.
pub const MOST_VALUE: usize = 500;
/// Entries of any other list of one object.
pub const MOST_ITEMS: usize = 100;

/// An object kind that can be projected.
pub trait Project: Serialize + Clone + std::fmt::Debug + PartialEq + Send + Sync + Sized + 'static {
    /// The object as the API server sends it.
    type Object: DeserializeOwned + Send;

    /// The projection of an object; `None`: it has no name, or is not relevant.
    fn project(object: &Self::Object) -> Option<Self>;

    /// Namespace (empty: none) and name.
    fn key(&self) -> (&str, &str);

    /// Time of last relevance, for kinds whose oldest objects are evicted for newer ones.
    fn age(&self) -> Option<Timestamp> {
        None
    }

    /// The projection of an object in JSON; `None` also when it is no object.
    fn from_json(object: &Value) -> Option<Self> {
        Self::project(&maybe(object).ok()??)
    }
}

/// A condition of any object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: Status,
    /// Last transition.
    pub since: Option<Timestamp>,
    pub reason: String,
    pub message: String,
}

/// `Reason: message`, or the one that is there.
pub(crate) fn reason_text(reason: &str, message: &str) -> String {
    match (reason, message) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// A condition without its type, for conditions that have a field of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct ConditionState {
    pub status: Status,
    pub since: Option<Timestamp>,
    pub reason: String,
    pub message: String,
}

impl Condition {
    /// Reason and message in one text.
    pub fn why(&self) -> String {
        reason_text(&self.reason, &self.message)
    }

    /// The condition without its type.
    pub fn state(&self) -> ConditionState {
        ConditionState {
            status: self.status,
            since: self.since,
            reason: self.reason.clone(),
            message: self.message.clone(),
        }
    }
}

/// The condition of a type; `Unknown` and empty when there is none.
pub(crate) fn condition_state(conditions: &[Condition], kind: &str) -> ConditionState {
    conditions.iter().find(|condition| condition.kind == kind).map(Condition::state).unwrap_or_default()
}

/// Metadata that all objects share.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Meta {
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    pub name: String,
    pub created: Option<Timestamp>,
    /// Deletion timestamp.
    pub deleting: Option<Timestamp>,
}
