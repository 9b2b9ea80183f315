//! Platform objects of the cluster: version, operators, machines and nodes; and Hive's objects for it.

use serde::Deserialize;

use super::lenient::{Int, Text, list, maybe, object, pairs, present, texts};
use super::{Condition, Conditions, Meta};

/// `clusterversions.config.openshift.io/version`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct ClusterVersion {
    #[serde(deserialize_with = "object")]
    pub spec: VersionSpec,
    #[serde(deserialize_with = "object")]
    pub status: VersionStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VersionSpec {
    #[serde(deserialize_with = "object")]
    pub desired_update: NamedVersion,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct VersionStatus {
    #[serde(deserialize_with = "object")]
    pub desired: NamedVersion,
    /// Newest first.
    #[serde(deserialize_with = "list")]
    pub history: Vec<NamedVersion>,
    #[serde(deserialize_with = "list")]
    pub conditions: Vec<Condition>,
}

/// A version by itself, in a history, or of an operand.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct NamedVersion {
    pub name: Text<253>,
    pub version: Text<253>,
    pub state: Text<64>,
}

/// `clusteroperators.config.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct ClusterOperator {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub status: OperatorStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct OperatorStatus {
    #[serde(deserialize_with = "list")]
    pub conditions: Vec<Condition>,
    #[serde(deserialize_with = "list")]
    pub versions: Vec<NamedVersion>,
}

/// `nodes`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Node {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub status: NodeStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeStatus {
    #[serde(deserialize_with = "list")]
    pub conditions: Vec<Condition>,
    #[serde(deserialize_with = "object")]
    pub node_info: NodeInfo,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeInfo {
    pub kubelet_version: Text<253>,
}

/// `machines.machine.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Machine {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub spec: MachineSpec,
    #[serde(deserialize_with = "object")]
    pub status: MachineStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSpec {
    #[serde(deserialize_with = "object")]
    pub provider_spec: MachineProvider,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineProvider {
    /// `None`: the provider spec is not an object.
    #[serde(deserialize_with = "maybe")]
    pub value: Option<MachineValue>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineValue {
    #[serde(rename = "spotVMOptions", deserialize_with = "present")]
    pub spot: bool,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineStatus {
    pub phase: Text<64>,
}

/// `machineconfigpools.machineconfiguration.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Pool {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub status: PoolStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PoolStatus {
    pub machine_count: Int,
    #[serde(deserialize_with = "list")]
    pub conditions: Vec<Condition>,
}

/// `clusters.aro.openshift.io/cluster`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct AroCluster {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub spec: AroSpec,
    #[serde(deserialize_with = "object")]
    pub status: Conditions,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AroSpec {
    /// Sorted by name; `None`: not set.
    #[serde(rename = "operatorflags", deserialize_with = "pairs")]
    pub flags: Option<Vec<(Text<253>, Text<253>)>>,
    #[serde(deserialize_with = "object")]
    pub banner: Banner,
    pub domain: Text<253>,
    #[serde(deserialize_with = "texts")]
    pub gateway_domains: Vec<Text<253>>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Banner {
    pub content: Text<253>,
}

/// `clusterdeployments.hive.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct HiveDeployment {
    #[serde(deserialize_with = "object")]
    pub status: Conditions,
}

/// `clustersyncs.hiveinternal.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct ClusterSync {
    #[serde(deserialize_with = "object")]
    pub status: SyncStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncStatus {
    #[serde(deserialize_with = "list")]
    pub sync_sets: Vec<SyncSet>,
    #[serde(deserialize_with = "list")]
    pub selector_sync_sets: Vec<SyncSet>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncSet {
    pub name: Text<253>,
    pub result: Text<64>,
    pub failure_message: Text<1024>,
    pub first_success_time: Text<64>,
    pub last_transition_time: Text<64>,
}
