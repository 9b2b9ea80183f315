//! Workloads of the cluster, and alerts that fire.

use serde::Deserialize;

use super::lenient::{Int, Text, list, maybe, object};
use super::{Condition, Meta};

/// `deployments.apps`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Deployment {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub spec: Replicas,
    #[serde(deserialize_with = "object")]
    pub status: Replicas,
}

/// Counts of a deployment's spec and status.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Replicas {
    pub replicas: Int,
    pub available_replicas: Int,
    pub updated_replicas: Int,
    pub observed_generation: Int,
}

/// `daemonsets.apps`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct DaemonSet {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub status: DaemonStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DaemonStatus {
    pub desired_number_scheduled: Int,
    pub number_available: Int,
}

/// `pods`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Pod {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub spec: PodSpec,
    #[serde(deserialize_with = "object")]
    pub status: PodStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    pub node_name: Text<253>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    pub phase: Text<64>,
    pub reason: Text<253>,
    #[serde(deserialize_with = "list")]
    pub conditions: Vec<Condition>,
    #[serde(deserialize_with = "list")]
    pub container_statuses: Vec<Container>,
}

/// One of a pod's containers.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    pub name: Text<253>,
    pub restart_count: Int,
    #[serde(deserialize_with = "object")]
    pub state: ContainerState,
    #[serde(deserialize_with = "object")]
    pub last_state: ContainerState,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    #[serde(deserialize_with = "maybe")]
    pub waiting: Option<StateReason>,
    #[serde(deserialize_with = "maybe")]
    pub terminated: Option<StateReason>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct StateReason {
    pub reason: Text<253>,
    pub message: Text<1024>,
}

/// `virtualmachineinstances.kubevirt.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct VirtualMachine {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub status: VirtualMachineStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct VirtualMachineStatus {
    pub phase: Text<64>,
    #[serde(rename = "guestOSInfo", deserialize_with = "object")]
    pub guest: Guest,
}

/// Information from the guest agent.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Guest {
    pub kernel_release: Text<128>,
    pub machine: Text<64>,
    pub name: Text<128>,
    pub version_id: Text<64>,
}

/// One alert of Alertmanager's `/api/v2/alerts`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Alert {
    #[serde(deserialize_with = "object")]
    pub labels: AlertLabels,
    #[serde(deserialize_with = "object")]
    pub status: AlertStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct AlertLabels {
    pub alertname: Text<253>,
    pub severity: Text<64>,
    pub namespace: Text<253>,
    pub target: Text<253>,
    pub secondary_target: Text<253>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct AlertStatus {
    /// `active`, `suppressed` or `unprocessed`.
    pub state: Text<64>,
}

/// Of a `secret` of type `kubernetes.io/tls`: the certificate alone, never the key.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct SecretCertificate {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub data: CertificateData,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct CertificateData {
    /// Base64 of PEM; empty: there is none.
    #[serde(rename = "tls.crt")]
    pub certificate: Text<131_072>,
}
