//! A cluster of any version for the validation rules: members that a version does not have are empty.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The whole.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Cluster {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) location: String,
    pub(crate) identity: Option<Identity>,
    pub(crate) properties: Properties,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Identity {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) user_assigned_identities: BTreeMap<String, Value>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Properties {
    pub(crate) provisioning_state: String,
    pub(crate) cluster_profile: ClusterProfile,
    pub(crate) console_profile: ConsoleProfile,
    pub(crate) service_principal_profile: Option<ServicePrincipal>,
    pub(crate) platform_workload_identity_profile: Option<Platform>,
    pub(crate) network_profile: Network,
    pub(crate) master_profile: Machines,
    pub(crate) worker_profiles: Vec<Option<Machines>>,
    pub(crate) worker_profiles_status: Vec<Value>,
    pub(crate) apiserver_profile: ApiServer,
    pub(crate) ingress_profiles: Vec<Option<Ingress>>,
}

/// Holds secrets: it does not print.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClusterProfile {
    pub(crate) pull_secret: String,
    pub(crate) domain: String,
    pub(crate) version: String,
    pub(crate) resource_group_id: String,
    pub(crate) fips_validated_modules: String,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ConsoleProfile {
    pub(crate) url: String,
}

/// Holds a secret: it does not print.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ServicePrincipal {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Platform {
    pub(crate) upgradeable_to: Option<String>,
    pub(crate) platform_workload_identities: BTreeMap<String, Option<PlatformIdentity>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PlatformIdentity {
    pub(crate) resource_id: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Network {
    pub(crate) pod_cidr: String,
    pub(crate) service_cidr: String,
    pub(crate) software_defined_network: String,
    pub(crate) outbound_type: String,
    pub(crate) load_balancer_profile: Option<LoadBalancer>,
    #[serde(rename = "preconfiguredNSG")]
    pub(crate) preconfigured_nsg: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LoadBalancer {
    pub(crate) managed_outbound_ips: Option<ManagedOutboundIps>,
    pub(crate) effective_outbound_ips: Vec<Value>,
    pub(crate) outbound_ips: Option<Vec<Value>>,
    pub(crate) outbound_ip_prefixes: Option<Vec<Value>>,
    pub(crate) allocated_outbound_ports: Option<i64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ManagedOutboundIps {
    pub(crate) count: i64,
}

/// Machines of the control plane or of a worker profile.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Machines {
    pub(crate) name: String,
    pub(crate) vm_size: String,
    #[serde(rename = "diskSizeGB")]
    pub(crate) disk_size_gb: i64,
    pub(crate) subnet_id: String,
    pub(crate) count: i64,
    pub(crate) encryption_at_host: String,
    pub(crate) disk_encryption_set_id: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ApiServer {
    pub(crate) visibility: String,
    pub(crate) url: String,
    pub(crate) ip: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Ingress {
    pub(crate) name: String,
    pub(crate) visibility: String,
    pub(crate) ip: String,
}

impl std::fmt::Debug for Properties {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Properties").field("version", &self.cluster_profile.version).finish_non_exhaustive()
    }
}
