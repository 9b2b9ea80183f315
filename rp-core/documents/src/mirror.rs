//! What the API shows of a cluster that only the cluster knows (`contract/api.md` §14,
//! `contract/rules.md` §3.5). Writer: monitor, on change only; the frontend merges it into answers.

use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Sealed, Unknown};

/// The mirror of one cluster. The id is the cluster document's id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterMirror {
    pub id: String,
    /// `clusterProfile.version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// `ingressProfiles`, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress_profiles: Option<Vec<MirroredIngress>>,
    /// `workerProfilesStatus`, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_profiles: Option<Vec<MirroredWorkers>>,
    /// `servicePrincipalProfile`; absent with workload identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_principal: Option<MirroredPrincipal>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// One ingress controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirroredIngress {
    pub name: String,
    /// `Public`, `Private` or empty.
    #[serde(default)]
    pub visibility: String,
    #[serde(default)]
    pub ip: String,
}

/// One machine set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MirroredWorkers {
    pub name: String,
    pub count: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub vm_size: String,
    #[serde(default, rename = "diskSizeGB", skip_serializing_if = "Option::is_none")]
    pub disk_size_gb: Option<i64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subnet_id: String,
    /// `Enabled`, `Disabled` or empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub encryption_at_host: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub disk_encryption_set_id: String,
}

/// The service principal that the cluster uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MirroredPrincipal {
    pub client_id: String,
    /// Sealed at `ClusterMirror/ID/clientSecret`.
    pub client_secret: Sealed,
    /// `KEY:HEX`, HMAC-SHA-256 of the secret under a key derived from that one of the keyring, so that a change is seen
    /// without opening it.
    pub digest: String,
}

impl Document for ClusterMirror {
    const COLLECTION: Collection = Collection::ClusterMirror;

    fn id(&self) -> &str {
        &self.id
    }
}
