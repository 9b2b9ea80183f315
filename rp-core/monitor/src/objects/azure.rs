//! Properties that the API shows and that only the cluster itself knows (`contract/api.md` §14).

use rp_base::Secret;
use serde::Deserialize;

use super::Meta;
use super::lenient::{Int, Text, flag, list, maybe, object};

/// `machinesets.machine.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct MachineSet {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub spec: SetSpec,
    #[serde(deserialize_with = "object")]
    pub status: SetStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct SetSpec {
    pub replicas: Int,
    #[serde(deserialize_with = "object")]
    pub template: Template,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Template {
    #[serde(deserialize_with = "object")]
    pub spec: TemplateSpec,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TemplateSpec {
    #[serde(deserialize_with = "object")]
    pub provider_spec: ProviderSpec,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct ProviderSpec {
    #[serde(deserialize_with = "maybe")]
    pub value: Option<AzureProvider>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetStatus {
    pub ready_replicas: Int,
}

/// The provider spec of a machine on Azure.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AzureProvider {
    pub vm_size: Text<128>,
    pub network_resource_group: Text<128>,
    pub vnet: Text<128>,
    pub subnet: Text<128>,
    #[serde(deserialize_with = "object")]
    pub os_disk: OsDisk,
    #[serde(deserialize_with = "object")]
    pub security_profile: SecurityProfile,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OsDisk {
    #[serde(rename = "diskSizeGB")]
    pub size: Int,
    #[serde(deserialize_with = "object")]
    pub managed_disk: ManagedDisk,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedDisk {
    #[serde(deserialize_with = "object")]
    pub disk_encryption_set: EncryptionSet,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct EncryptionSet {
    pub id: Text<512>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SecurityProfile {
    #[serde(deserialize_with = "flag")]
    pub encryption_at_host: bool,
}

/// `ingresscontrollers.operator.openshift.io`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct IngressController {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub spec: IngressSpec,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IngressSpec {
    #[serde(deserialize_with = "maybe")]
    pub default_certificate: Option<Reference>,
    #[serde(deserialize_with = "maybe")]
    pub endpoint_publishing_strategy: Option<Strategy>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Reference {
    pub name: Text<253>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Strategy {
    #[serde(deserialize_with = "maybe")]
    pub load_balancer: Option<LoadBalancer>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct LoadBalancer {
    pub scope: Text<64>,
}

/// A `service` of a router.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct RouterService {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta,
    #[serde(deserialize_with = "object")]
    pub status: ServiceStatus,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceStatus {
    #[serde(deserialize_with = "object")]
    pub load_balancer: Addresses,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Addresses {
    #[serde(deserialize_with = "list")]
    pub ingress: Vec<Address>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Address {
    pub ip: Text<64>,
}

/// `kube-system/azure-credentials`: base64, as the API server gives it.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Credentials {
    #[serde(deserialize_with = "object")]
    pub data: CredentialsData,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct CredentialsData {
    pub azure_client_id: Option<Secret<String>>,
    pub azure_client_secret: Option<Secret<String>>,
}
