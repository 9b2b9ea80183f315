//! The blobs of a storage account that is known by its resource id.

use std::time::Duration;

use rp_base::Timestamp;

use crate::blobs::{BlobAccess, BlobStore};
use crate::client::Client;
use crate::error::AzureError;
use crate::storage_accounts::{SasRequest, StorageAccounts as _};

/// For a signature that is used at once, and how far its beginning lies back: clocks differ.
const GOOD: Duration = Duration::from_mins(15);
const SKEW: Duration = Duration::from_mins(5);

/// By what right the blobs of an account are to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountAccess {
    /// The client's own identity, for accounts that allow no keys.
    Token,
    /// A signature for objects that the resource manager makes, with these permissions in the service's order `rwdlacup`.
    Signature(&'static str),
}

impl BlobStore {
    /// The blobs of the account with that resource id, for a quarter of an hour at least; `None`: there is no such account.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn of_account(
        client: Client,
        id: &str,
        access: AccountAccess,
        now: Timestamp,
    ) -> Result<Option<Self>, AzureError> {
        let Some(endpoint) = client.blob_endpoint(id).await? else { return Ok(None) };
        let access = match access {
            AccountAccess::Token => BlobAccess::Token,
            AccountAccess::Signature(permissions) => {
                let request = SasRequest {
                    permissions,
                    resource_types: "o",
                    from: now - SKEW,
                    until: now + GOOD,
                    http: endpoint.scheme() == "http",
                };
                BlobAccess::Sas(client.account_sas(id, &request).await?)
            }
        };
        Ok(Some(Self::new(client, endpoint, access)))
    }
}
