//! Cluster operators.

use serde::Deserialize;

use crate::lenient::{member, object};
use crate::meta::{Condition, Meta, Status, status_of};
use crate::reader::{Reader, TextValue as _};

/// `clusteroperators.config.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ClusterOperator<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub status: OperatorStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct OperatorStatus<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub conditions: Vec<Condition<R>>,
    #[serde(deserialize_with = "member")]
    pub versions: Vec<OperandVersion<R>>,
    #[serde(deserialize_with = "member")]
    pub related_objects: R::More<Vec<RelatedObject<R>>>,
}

/// One of `status.versions`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct OperandVersion<R: Reader> {
    pub name: R::Text<253>,
    pub version: R::Text<253>,
}

/// What an operator says it looks after.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct RelatedObject<R: Reader> {
    pub group: R::Text<253>,
    pub resource: R::Text<253>,
    pub namespace: R::Text<253>,
    pub name: R::Text<253>,
}

/// The conditions that decide how an operator does.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct OperatorState {
    pub available: Status,
    pub degraded: Status,
}

impl OperatorState {
    /// Says that it is degraded, or that it is not available. What it does not say is not bad.
    pub fn is_bad(self) -> bool {
        self.degraded.is_true() || self.available == Status::False
    }
}

impl<R: Reader> ClusterOperator<R> {
    pub fn state(&self) -> OperatorState {
        let of = |kind| status_of(&self.status.conditions, kind);
        OperatorState { available: of("Available"), degraded: of("Degraded") }
    }

    /// What the operator of that name says while it is not settled, as `etcd Available=True, Progressing=True, Degraded=False`;
    /// `None`: it is available, does not progress and is not degraded (`contract/frontend.md` §11.8).
    pub fn unsettled(&self, name: &str) -> Option<String> {
        let of = |kind| status_of(&self.status.conditions, kind).as_str();
        let (available, progressing, degraded) = (of("Available"), of("Progressing"), of("Degraded"));
        let settled = available == "True" && progressing == "False" && degraded != "True";
        let told = || format!("{name} Available={available}, Progressing={progressing}, Degraded={degraded}");
        (!settled).then(told)
    }

    /// Versions of the operand `operator`: the operator's own. There is one, or none.
    pub fn own_versions(&self) -> impl Iterator<Item = &str> {
        let own = self.status.versions.iter().filter(|operand| operand.name.as_str() == "operator");
        own.map(|operand| operand.version.as_str())
    }
}
