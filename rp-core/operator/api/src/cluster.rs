//! `clusters.aro.openshift.io` (`contract/operator.md` §2.1).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const GROUP: &str = "aro.openshift.io";
pub const VERSION: &str = "v1alpha1";
pub const KIND: &str = "Cluster";
/// Group and version, as objects name them.
pub const API_VERSION: &str = "aro.openshift.io/v1alpha1";

/// What the operator reads of the metadata.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: i64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// The settings and the state of one cluster. There is one, with the name [`crate::SINGLETON`].
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cluster {
    pub metadata: Metadata,
    pub spec: ClusterSpec,
    pub status: ClusterStatus,
}

/// The settings, written by the service (`contract/operator.md` §5.4).
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Azure resource ID of the cluster.
    pub resource_id: String,
    /// Resource ID of the managed resource group.
    pub cluster_resource_group_id: String,
    /// Domain of the cluster.
    pub domain: String,
    /// Domain of the container registry.
    pub acr_domain: String,
    /// Name of the Azure cloud: AzurePublicCloud or AzureUSGovernmentCloud.
    pub az_environment: String,
    /// Azure region.
    pub location: String,
    /// Infrastructure ID: the prefix of names in the managed resource group.
    pub infra_id: String,
    /// Suffix of the name of the cluster's storage account.
    pub storage_suffix: String,
    /// Architecture of the network: 0 (V1) or 1 (V2).
    pub architecture_version: i64,
    /// Reserved, no fields.
    pub geneva_logging: GenevaLogging,
    /// URLs that must be reachable from the cluster.
    pub internet_checker: InternetChecker,
    /// Resource ID of the virtual network.
    pub vnet_id: String,
    /// Address of the internal load balancer of the API server.
    #[serde(rename = "apiIntIP")]
    pub api_int_ip: String,
    /// Address of the default ingress.
    #[serde(rename = "ingressIP")]
    pub ingress_ip: String,
    /// Domains that are reached through the gateway. Not empty: the gateway is enabled.
    pub gateway_domains: Vec<String>,
    /// Domain of the telemetry endpoint of the gateway.
    pub gateway_telemetry_domain: String,
    /// Address of the private endpoint of the gateway.
    #[serde(rename = "gatewayPrivateEndpointIP")]
    pub gateway_private_endpoint_ip: String,
    /// Message on the console.
    pub banner: Banner,
    /// Resource IDs of subnets of the service.
    pub service_subnets: Vec<String>,
    /// Flags of the operator.
    #[serde(rename = "operatorflags")]
    pub operator_flags: BTreeMap<String, String>,
}

/// Reserved, no fields.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GenevaLogging {}

/// URLs that must be reachable from the cluster.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InternetChecker {
    pub urls: Vec<String>,
}

/// Message on the console.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Banner {
    /// Empty or ContactSupport.
    pub content: String,
}

/// The state, written by the operator.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Build of the operator.
    pub operator_version: String,
    /// Results of checks and states of controllers, one for each type.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Registries of Red Hat for which the pull secret has a key.
    pub red_hat_keys_present: Vec<String>,
    /// Flags as the operator goes by them, with defaults.
    pub effective_flags: BTreeMap<String, String>,
    /// Flags that are not known or whose value is not valid.
    pub flag_problems: Vec<String>,
}

/// One of `status.conditions` (`contract/operator.md` §3).
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
pub struct Condition {
    /// Name of the check, or name of the controller and Available, Progressing or Degraded.
    #[serde(rename = "type")]
    pub kind: String,
    /// True, False or Unknown.
    pub status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the status changed the last time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub last_transition_time: Option<String>,
}
