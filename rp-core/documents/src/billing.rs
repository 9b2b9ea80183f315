//! The billing period of a cluster (`contract/backend.md` §6). An outside service reads the
//! collection.

use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Unknown};

/// One cluster's record; it outlives the cluster. Writer: the backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BillingDocument {
    /// Id of the cluster's document.
    pub id: String,
    /// The cluster's lower-cased resource id.
    pub key: String,
    #[serde(rename = "clusterResourceGroupIDKey")]
    pub cluster_resource_group_id_key: String,
    #[serde(default)]
    pub infra_id: String,
    pub billing: Billing,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// Instants in seconds of the Unix epoch, by the store's clock; each is set once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Billing {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creation_time: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_time: Option<i64>,
    /// Written by the outside service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_billing_time: Option<i64>,
    #[serde(default)]
    pub location: String,
    #[serde(default, rename = "tenantID")]
    pub tenant_id: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for BillingDocument {
    const COLLECTION: Collection = Collection::Billing;

    fn id(&self) -> &str {
        &self.id
    }
}
