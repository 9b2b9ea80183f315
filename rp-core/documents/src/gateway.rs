//! Which cluster a connection of the gateway is of (`contract/database.md` §2.2). Writer: the backend.

use serde::{Deserialize, Serialize};

use crate::{Collection, Document, Unknown};

/// The record of one private link; its id is the link's. A record that is being deleted expires soon after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayDocument {
    pub id: String,
    pub gateway: Gateway,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What the gateway allows for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gateway {
    /// The cluster's resource id.
    pub id: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    #[serde(default)]
    pub storage_suffix: String,
    #[serde(default)]
    pub image_registry_storage_account_name: String,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Document for GatewayDocument {
    const COLLECTION: Collection = Collection::Gateway;

    fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_the_contract_has_it() {
        let text = r#"{"id":"1","gateway":{"id":"/c","storageSuffix":"s","imageRegistryStorageAccountName":"r","x":1},"y":2}"#;
        let document: GatewayDocument = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&document).unwrap(), text);
        assert!(!document.gateway.deleting);
    }
}
