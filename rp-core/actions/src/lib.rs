//! What people do with the objects of a cluster (`contract/frontend.md` §11.1): cordon, drain, approve, delete, restart,
//! scale. The admin API of the resource provider and the portal do the same by the same rules.
//!
//! Entry rule: one action on objects of one cluster, over [`ClusterApi`]; how the cluster is reached, who may act and what
//! is recorded is the caller's affair.

pub mod control_plane;
mod csrs;
mod drain;
pub mod etcd;
mod nodes;
mod pods;
mod resource;
pub mod rules;
#[cfg(test)]
mod test_api;
mod workloads;

pub use csrs::{CsrFacts, Decision, approve_all, csr_facts, csr_resource, decide};
pub use drain::{DrainOptions, DrainPod, DrainReport, PodState, drain};
pub use nodes::{node_resource, set_unschedulable};
pub use pods::{PodFacts, delete_pod, pod_facts};
pub use resource::Resource;
pub use rp_openshift::WorkloadKind;
pub use workloads::{MOST_REPLICAS, restart, scale, workload_replicas};

use http::Method;
use rules::RuleError;
use serde_json::{Value, json};

/// One cluster's API server, with a credential that may act.
pub trait ClusterApi: Sync {
    /// Why a request has no good answer, in the caller's words.
    type Error: Send;

    /// Makes a request and gives the whole answer. The body of a PATCH is a merge patch (RFC 7396).
    ///
    /// # Errors
    /// The API server refused, or did not answer.
    fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> impl Future<Output = Result<Value, CallError<Self::Error>>> + Send;
}

/// A request without a good answer.
#[derive(Debug)]
pub struct CallError<E> {
    /// The status that the API server answered; `None`: it did not answer.
    pub status: Option<u16>,
    /// Its sentence; bounded, without control characters.
    pub message: String,
    pub error: E,
}

/// Why an action was not done, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ActionError<E> {
    /// A rule of ours, before the cluster was asked.
    #[error("{0}")]
    Rule(RuleError),
    /// The object is not there.
    #[error("{0}")]
    Missing(String),
    /// The object's state does not allow it.
    #[error("{0}")]
    Conflict(String),
    #[error("{}", .0.message)]
    Call(CallError<E>),
}

impl<E> From<CallError<E>> for ActionError<E> {
    fn from(error: CallError<E>) -> Self {
        Self::Call(error)
    }
}

impl<E> From<RuleError> for ActionError<E> {
    fn from(error: RuleError) -> Self {
        Self::Rule(error)
    }
}

/// What an action changed, as people read it: a few words of each state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub before: String,
    pub after: String,
}

impl Change {
    pub(crate) fn new(before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { before: before.into(), after: after.into() }
    }

    /// Whether anything differs.
    pub fn changes(&self) -> bool {
        self.before != self.after
    }
}

/// Whether an action is tried only: the API server checks it and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Change,
    DryRun,
}

impl Mode {
    /// Options of a deletion of the object with this uid, so that its successor of the same name stays. An API server that
    /// is sent options reads none of the query: a dry run is one of them.
    fn delete_options(self, uid: &str) -> Value {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}});
        if self == Self::DryRun {
            options["dryRun"] = json!(["All"]);
        }
        options
    }

    /// The path of a request that changes something.
    fn path(self, path: &str) -> String {
        match self {
            Self::Change => path.to_owned(),
            Self::DryRun => format!("{path}?dryRun=All"),
        }
    }
}

/// The text at a pointer; empty: there is none.
fn text_at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The same as people read it: bounded, without control characters.
fn shown_at(object: &Value, pointer: &str) -> String {
    rp_base::text::clean(text_at(object, pointer), 256)
}

/// The controller of an object as `Kind/name`; empty: it has none.
fn controller(object: &Value) -> String {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let mut owners = owners.filter(|owner| owner["controller"] == true);
    owners
        .next()
        .map(|owner| format!("{}/{}", shown_at(owner, "/kind"), shown_at(owner, "/name")))
        .unwrap_or_default()
}
