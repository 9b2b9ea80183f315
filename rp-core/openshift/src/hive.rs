//! Hive's objects for a cluster.

use serde::Deserialize;

use crate::lenient::{member, object};
use crate::meta::Conditions;
use crate::reader::Reader;

/// `clusterdeployments.hive.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct HiveDeployment<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub status: Conditions<R>,
}

/// `clustersyncs.hiveinternal.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ClusterSync<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub status: SyncStatus<R>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct SyncStatus<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub sync_sets: Vec<SyncSet<R>>,
    #[serde(deserialize_with = "member")]
    pub selector_sync_sets: Vec<SyncSet<R>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct SyncSet<R: Reader> {
    pub name: R::Text<253>,
    pub result: R::Text<64>,
    pub failure_message: R::Text<1024>,
    pub first_success_time: R::Text<64>,
    pub last_transition_time: R::Text<64>,
}
