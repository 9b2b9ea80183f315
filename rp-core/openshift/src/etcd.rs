//! The etcd operator's object.

use serde::Deserialize;

use crate::lenient::{Int, member, object};
use crate::meta::{Condition, Meta};
use crate::reader::Reader;

/// `etcds.operator.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Etcd<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub status: EtcdStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct EtcdStatus<R: Reader> {
    /// Among them `EtcdMembersAvailable` and `EtcdMembersDegraded`, whose messages name the members.
    #[serde(deserialize_with = "member")]
    pub conditions: Vec<Condition<R>>,
    /// The newest revision, which every node is to get.
    pub latest_available_revision: Int,
    #[serde(deserialize_with = "member")]
    pub node_statuses: Vec<EtcdNode<R>>,
}

/// The revisions of one node.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct EtcdNode<R: Reader> {
    pub node_name: R::Text<253>,
    pub current_revision: Int,
    pub target_revision: Int,
}
