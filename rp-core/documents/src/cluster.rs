//! The cluster document (`contract/database.md` §2.2, `contract/api.md` §5). The frontend writes intent, the
//! lease holder writes outcomes; the portal only reads.

use std::borrow::Cow;

use rp_base::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Collection, Document, ResourceId, Sealed, Unknown};

/// Where a cluster is in its life (`contract/api.md` §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ProvisioningState {
    Creating,
    Updating,
    AdminUpdating,
    Canceled,
    Maintenance,
    Deleting,
    Succeeded,
    Failed,
}

impl ProvisioningState {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Creating => "Creating",
            Self::Updating => "Updating",
            Self::AdminUpdating => "AdminUpdating",
            Self::Canceled => "Canceled",
            Self::Maintenance => "Maintenance",
            Self::Deleting => "Deleting",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
        }
    }
}

/// A member that is null is one that is absent: other writers of these documents leave either.
fn null_is_absent<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// One stored cluster.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDocument {
    /// A lower-case UUID.
    pub id: String,
    /// The lower-cased resource id; unique.
    pub key: String,
    /// The subscription id.
    pub partition_key: String,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub bucket: u16,
    #[serde(default, deserialize_with = "null_is_absent", skip_serializing_if = "String::is_empty")]
    pub async_operation_id: String,
    #[serde(rename = "openShiftCluster")]
    pub cluster: OpenShiftCluster,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for ClusterDocument {
    const COLLECTION: Collection = Collection::OpenShiftClusters;

    fn id(&self) -> &str {
        &self.id
    }

    fn partition(&self) -> &str {
        &self.partition_key
    }

    fn unique_key(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&self.key))
    }
}

/// The resource as ARM knows it, with our private members.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenShiftCluster {
    /// The resource id in the caller's casing.
    pub id: ResourceId,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub location: String,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub system_data: SystemData,
    pub properties: Properties,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Who touched the resource last (ARM's `systemData`).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemData {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified_at: Option<Timestamp>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What we read of a cluster's properties; the rest survives in `unknown`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Properties {
    pub provisioning_state: ProvisioningState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_provisioning_state: Option<ProvisioningState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_provisioning_state: Option<ProvisioningState>,
    #[serde(default, deserialize_with = "null_is_absent", skip_serializing_if = "String::is_empty")]
    pub last_admin_update_error: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "null_is_absent", skip_serializing_if = "String::is_empty")]
    pub created_by: String,
    #[serde(default, deserialize_with = "null_is_absent", skip_serializing_if = "String::is_empty")]
    pub provisioned_by: String,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub architecture_version: u32,
    #[serde(default, deserialize_with = "null_is_absent", skip_serializing_if = "String::is_empty")]
    pub infra_id: String,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub cluster_profile: ClusterProfile,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub console_profile: ConsoleProfile,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub apiserver_profile: ApiServerProfile,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub network_profile: NetworkProfile,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<Install>,
    /// Kubeconfig of `system:aro-sre`, sealed.
    #[serde(default, rename = "aroSREKubeconfig", skip_serializing_if = "Option::is_none")]
    pub sre_kubeconfig: Option<Sealed>,
    /// Kubeconfig of `system:aro-service` (`system:masters`), sealed.
    #[serde(default, rename = "aroServiceKubeconfig", skip_serializing_if = "Option::is_none")]
    pub service_kubeconfig: Option<Sealed>,
    /// Private key of the machines' user `core`, RSA as PKCS#1 DER, sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_key: Option<Sealed>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// `properties.clusterProfile`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterProfile {
    #[serde(default, deserialize_with = "null_is_absent")]
    pub version: String,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub domain: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// `properties.consoleProfile`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ConsoleProfile {
    #[serde(default, deserialize_with = "null_is_absent", skip_serializing_if = "String::is_empty")]
    pub url: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// `properties.apiserverProfile`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ApiServerProfile {
    #[serde(default, deserialize_with = "null_is_absent")]
    pub visibility: String,
    #[serde(default, deserialize_with = "null_is_absent")]
    pub url: String,
    #[serde(default, deserialize_with = "null_is_absent", skip_serializing_if = "String::is_empty")]
    pub ip: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// `properties.networkProfile`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct NetworkProfile {
    /// The private endpoint's address; empty until it exists.
    #[serde(
        default,
        deserialize_with = "null_is_absent",
        rename = "privateEndpointIp",
        skip_serializing_if = "String::is_empty"
    )]
    pub private_endpoint_ip: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// `properties.install`: an installation that is going on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Install {
    #[serde(default, deserialize_with = "null_is_absent")]
    pub phase: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_members_survive_at_every_level() {
        let stored = serde_json::json!({
            "id": "a", "key": "k", "partitionKey": "p", "bucket": 7, "leaseOwner": "w", "futureTop": [1],
            "openShiftCluster": {
                "id": "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c",
                "location": "westeurope", "systemData": {"future": 1}, "tags": {"a": "b"},
                "properties": {"provisioningState": "Succeeded", "architectureVersion": 1, "future": {"x": 1},
                    "clusterProfile": {"version": "4.18.1", "domain": "d", "pullSecret": "v3.k.x"},
                    "consoleProfile": {}, "apiserverProfile": {"visibility": "Private", "url": "", "intIp": "10.0.0.1"},
                    "networkProfile": {"podCidr": "10.128.0.0/14"}}
            }
        });
        let document: ClusterDocument = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(&document).unwrap(), stored);
    }

    #[test]
    fn null_is_as_good_as_absent() {
        const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";
        let stored = serde_json::json!({
            "id": "a", "key": "k", "partitionKey": "p", "bucket": null, "asyncOperationId": null, "future": null,
            "openShiftCluster": {"id": ID, "location": null, "systemData": null,
                "properties": {"provisioningState": "Succeeded", "createdBy": null, "architectureVersion": null,
                    "failedProvisioningState": null, "clusterProfile": {"version": null, "domain": "d"},
                    "consoleProfile": null, "apiserverProfile": {"visibility": null, "url": null, "ip": null},
                    "networkProfile": {"privateEndpointIp": null}, "install": null}}
        });
        let read: ClusterDocument = serde_json::from_value(stored).unwrap();
        assert_eq!((read.bucket, read.cluster.location.as_str()), (0, ""));
        assert_eq!(read.cluster.properties.cluster_profile.domain, "d");
        let without = serde_json::json!({"id": "a", "key": "k", "partitionKey": "p",
            "openShiftCluster": {"id": ID, "properties": {}}});
        assert!(serde_json::from_value::<ClusterDocument>(without).is_err(), "a state there must be");
    }
}
