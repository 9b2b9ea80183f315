//! The API's resources: typed fields for the members that callers commonly use; the rest is kept as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::ErrorBody;

/// One page of a list.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    pub value: Vec<T>,
    /// Where the next page is.
    #[serde(default)]
    pub next_link: Option<String>,
}

/// A cluster. Members without a field are in `more`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cluster {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    pub location: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    pub properties: Properties,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Members of `properties`. Secrets that are to be sent go into `more`, which `Debug` does not show.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Properties {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provisioning_state: String,
    pub cluster_profile: ClusterProfile,
    #[serde(skip_serializing_if = "Endpoint::is_empty")]
    pub console_profile: Endpoint,
    #[serde(skip_serializing_if = "Endpoint::is_empty")]
    pub apiserver_profile: Endpoint,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worker_profiles: Vec<Profile>,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl fmt::Debug for Properties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Properties")
            .field("provisioning_state", &self.provisioning_state)
            .field("cluster_profile", &self.cluster_profile)
            .field("worker_profiles", &self.worker_profiles)
            .finish_non_exhaustive()
    }
}

/// The cluster as a whole. A pull secret that is to be sent goes into `more`.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfile {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub domain: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_group_id: String,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl fmt::Debug for ClusterProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = &self.version;
        f.debug_struct("ClusterProfile")
            .field("domain", &self.domain)
            .field("version", version)
            .finish_non_exhaustive()
    }
}

/// Where the console or the API server is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub visibility: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub url: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub ip: String,
}

impl Endpoint {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Machines of the same kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Profile {
    pub name: String,
    pub vm_size: String,
    #[serde(rename = "diskSizeGB")]
    pub disk_size_gb: u32,
    pub subnet_id: String,
    pub count: u32,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The user and the password of the first administrator.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    pub kubeadmin_username: String,
    #[serde(default)]
    pub kubeadmin_password: String,
}

/// An admin's kubeconfig.
#[derive(Clone, Deserialize)]
pub struct AdminKubeconfig {
    /// In base64.
    #[serde(default)]
    pub kubeconfig: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl fmt::Debug for AdminKubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminKubeconfig").finish_non_exhaustive()
    }
}

/// A version of OpenShift that can be installed.
#[derive(Debug, Clone, Deserialize)]
pub struct OpenShiftVersion {
    pub properties: VersionProperties,
}

/// Its members.
#[derive(Debug, Clone, Deserialize)]
pub struct VersionProperties {
    /// Such as `4.19.1`.
    pub version: String,
}

/// The roles that the operators of a minor version need.
#[derive(Debug, Clone, Deserialize)]
pub struct RoleSet {
    pub properties: RoleSetProperties,
}

/// Its members.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleSetProperties {
    /// Such as `4.19`.
    pub open_shift_version: String,
    #[serde(default)]
    pub platform_workload_identity_roles: Vec<OperatorRole>,
}

/// The role of one operator.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorRole {
    pub operator_name: String,
    pub role_definition_name: String,
    pub role_definition_id: String,
}

/// Something that the provider can do.
#[derive(Debug, Clone, Deserialize)]
pub struct ProviderOperation {
    pub name: String,
    pub origin: String,
}

/// How an operation is (`contract/clients.md` §2.3).
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    pub id: String,
    pub name: String,
    /// `Creating`, `Updating`, `Deleting`, …; at the end `Succeeded` or `Failed`.
    pub status: String,
    pub start_time: String,
    #[serde(default)]
    pub end_time: Option<String>,
    #[serde(default)]
    pub error: Option<ErrorBody>,
}

impl OperationStatus {
    /// Whether it is at its end.
    pub fn is_final(&self) -> bool {
        ["Succeeded", "Failed", "Canceled", "Cancelled"]
            .iter()
            .any(|end| end.eq_ignore_ascii_case(&self.status))
    }
}
