//! What is done with single machines, and what they said while they started (Microsoft.Compute).

use async_trait::async_trait;
use http::Method;
use serde_json::Value;
use url::Url;

use crate::arm::Wire;
use crate::client::Client;
use crate::error::{AzureError, ErrorKind};
use crate::resources::{Request, Resources};
use crate::transport::Name;

const API_VERSION: &str = "2024-03-01";
const READ: Name = Name { client: "blobs", operation: "get", shown: "get serial console log" };

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

    /// Its serial console's log, up to 16 MiB; `None`: boot diagnostics are off.
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
        let id = format!("{id}/retrieveBootDiagnosticsData");
        let query = [("sasUriExpirationTimeInMinutes", "60")];
        let request = Request { query: &query, ..Request::new(Method::POST, &id, API_VERSION) };
        let answer = self.run(&request).await?;
        let url = answer["serialConsoleLogBlobUri"].as_str().and_then(|url| url.parse::<Url>().ok());
        let Some(url) = url else { return Ok(None) };
        // The address has its own proof and goes to storage; plain HTTP only where Azure itself is a stand-in.
        let own = self.arm.endpoints().resource_manager.origin();
        if url.scheme() != "https" && url.origin() != own {
            return Err(AzureError::new(READ.shown, ErrorKind::Malformed, "the log is at an odd address"));
        }
        let wire = Wire { name: READ, whom: None, method: Method::GET, url, headers: Vec::new(), body: None };
        Ok(Some(self.arm.wire(&wire).await?.body.to_vec()))
    }
}
