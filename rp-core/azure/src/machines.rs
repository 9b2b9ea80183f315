//! What is done with single machines, and what they said while they started (Microsoft.Compute).

use async_trait::async_trait;
use serde_json::Value;

use crate::client::Client;
use crate::error::AzureError;
use crate::resources::Resources;

const API_VERSION: &str = "2024-03-01";

/// Machines by their ids.
#[async_trait]
pub trait Machines: Send + Sync {
    /// Starts one that is stopped, and waits.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn start(&self, id: &str) -> Result<(), AzureError>;

    /// The statuses of its instance view; `None`: it is not there.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn instance_view(&self, id: &str) -> Result<Option<Value>, AzureError>;

    /// The end of its serial console's log, up to 4 MiB; `None`: boot diagnostics are off.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn serial_log(&self, id: &str) -> Result<Option<Vec<u8>>, AzureError>;
}

#[async_trait]
impl Machines for Client {
    async fn start(&self, id: &str) -> Result<(), AzureError> {
        self.post(&format!("{id}/start"), API_VERSION, None).await.map(|_| ())
    }

    async fn instance_view(&self, id: &str) -> Result<Option<Value>, AzureError> {
        self.get(&format!("{id}/instanceView"), API_VERSION).await
    }

    async fn serial_log(&self, id: &str) -> Result<Option<Vec<u8>>, AzureError> {
        Ok(self.console(id).await?.map(|log| log.bytes.to_vec()))
    }
}
