//! What is kept of a cluster's objects: small plain structs, every text cleaned and bounded.
//!
//! Projection never fails on odd input: a member that is missing or of another type counts as absent, and only an
//! object without a name is passed over. Times in the future are kept as they are; pages say "in 3 h".

mod cluster;
mod event;
mod machine;
mod node;
mod operator;
mod pod;
pub mod read;
#[cfg(test)]
mod tests;
mod workload;

use rp_base::Timestamp;
use serde::Serialize;
use serde_json::Value;

pub use cluster::{AroCluster, Etcd, Infrastructure, IngressController, Network, Proxy};
pub use event::Event;
pub use machine::{ControlPlaneMachineSet, Machine, MachineSet, Pool};
pub use node::{Amounts, Node, Taint};
pub use operator::{Available, History, Operator, RelatedObject, Version};
pub use pod::{Container, ContainerState, Pod};
pub use workload::{Workload, WorkloadKind};

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

/// An object that can be kept.
pub trait Project: Serialize + Clone + std::fmt::Debug + PartialEq + Send + Sync + Sized + 'static {
    /// What is kept of an object; `None`: it has no name, or is of no interest.
    fn project(object: &Value) -> Option<Self>;

    /// Namespace (empty: none) and name.
    fn key(&self) -> (&str, &str);

    /// When it was last of interest: of kinds whose oldest objects give way to newer ones.
    fn age(&self) -> Option<Timestamp> {
        None
    }
}

/// A condition of any object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: Status,
    /// Last transition.
    pub since: Option<Timestamp>,
    pub reason: String,
    pub message: String,
}

/// A condition's status, without its type: of conditions that have a member of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Condition3 {
    pub status: Status,
    pub since: Option<Timestamp>,
    pub reason: String,
    pub message: String,
}

/// `True`, `False` or, also when absent or of another word, `Unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize)]
pub enum Status {
    True,
    False,
    #[default]
    Unknown,
}

impl Status {
    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    pub const fn is_true(self) -> bool {
        matches!(self, Self::True)
    }
}

impl Condition {
    /// Its parts without the type.
    pub fn three(&self) -> Condition3 {
        Condition3 {
            status: self.status,
            since: self.since,
            reason: self.reason.clone(),
            message: self.message.clone(),
        }
    }
}

/// The condition of a type; `Unknown` and empty when there is none.
pub fn condition3(conditions: &[Condition], kind: &str) -> Condition3 {
    conditions.iter().find(|condition| condition.kind == kind).map(Condition::three).unwrap_or_default()
}

/// Metadata that all objects share.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Meta {
    /// Empty: the object is of the cluster.
    pub namespace: String,
    pub name: String,
    pub created: Option<Timestamp>,
    /// It is being deleted since.
    pub deleting: Option<Timestamp>,
}
