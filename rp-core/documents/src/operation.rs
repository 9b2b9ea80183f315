//! Asynchronous operations of the API, and what makes them unique (`contract/api.md` §4,
//! `contract/frontend.md` §6.5).

use std::time::Duration;

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Collection, Document, Unknown};

/// One operation. Writers: the frontend creates it; the process that ends the work writes its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AsyncOperationDocument {
    /// A lower-case UUID: the operation's name.
    pub id: String,
    pub async_operation: AsyncOperation,
    /// The lower-cased resource id of its cluster.
    pub open_shift_cluster_key: String,
    /// The cluster when the operation ended; absent after a successful delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_shift_cluster: Option<Value>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// What callers see of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AsyncOperation {
    /// Path of its `operationsstatus`.
    pub id: String,
    pub name: String,
    /// A provisioning state.
    pub initial_status: String,
    /// A provisioning state.
    pub status: String,
    pub start_time: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Timestamp>,
    /// Members of ARM's error body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl AsyncOperationDocument {
    /// The store deletes an operation this long after its last write.
    pub const LIFE: Duration = Duration::from_hours(7 * 24);
}

impl Document for AsyncOperationDocument {
    const COLLECTION: Collection = Collection::AsyncOperations;

    fn id(&self) -> &str {
        &self.id
    }
}

/// Holds a name that only one cluster of the region may use: a client id, an identity, or a managed resource group
/// (`contract/api.md` "Do better" 1). Writers: the frontend, and the backend after a delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// `client/…` or `group/…`, lower case.
    pub id: String,
    /// The lower-cased resource id of the cluster.
    pub cluster: String,
}

impl Document for Reservation {
    const COLLECTION: Collection = Collection::Reservations;

    fn id(&self) -> &str {
        &self.id
    }
}
