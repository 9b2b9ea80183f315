//! Serial log and screenshot of a machine (Microsoft.Compute, boot diagnostics). Azure gives addresses of blobs
//! that carry their own authorization for a few minutes; they never go into an answer, log or error.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{CONTENT_RANGE, HeaderName, HeaderValue, RANGE};
use http::{HeaderMap, Method};
use serde_json::Value;
use url::Url;

use crate::arm::{Arm, HttpRequest};
use crate::client::Client;
use crate::error::{AzureError, ErrorKind};
use crate::path::after;
use crate::resources::{Request, Resources as _};
use crate::transport::CallName;
use crate::virtual_machines::Tenants;

const API_VERSION: &str = "2024-03-01";
const LOG: CallName = CallName { client: "blobs", operation: "get", shown: "get serial console log" };
const SCREEN: CallName = CallName { client: "blobs", operation: "get", shown: "get console screenshot" };
/// Bytes of a log that are read: its end.
const MOST_LOG: u64 = 4 * 1024 * 1024;
/// Bytes of a picture.
const MOST_PICTURE: usize = 8 * 1024 * 1024;
/// Minutes for which an address is good: it is used at once.
const GOOD: &str = "5";

/// The end of a machine's serial console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SerialLog {
    /// Raw: see [`crate::serial::readable`].
    pub bytes: Bytes,
    /// Bytes of the whole log.
    pub size: u64,
}

impl SerialLog {
    /// Whether older bytes were left out.
    pub fn is_cut(&self) -> bool {
        self.size > self.bytes.len() as u64
    }
}

/// What a machine shows on its screen.
#[derive(Clone, PartialEq, Eq)]
pub struct Screenshot {
    /// `image/png`, `image/jpeg` or `image/bmp`, by what is in it.
    pub kind: &'static str,
    pub bytes: Bytes,
}

impl fmt::Debug for Screenshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screenshot").field("kind", &self.kind).field("bytes", &self.bytes.len()).finish()
    }
}

/// Boot diagnostics of the machines of clusters. `group` is the resource id of the cluster's managed group.
#[async_trait]
pub trait BootDiagnostics: Send + Sync + fmt::Debug + 'static {
    /// The end of a machine's serial console; `None`: boot diagnostics are off.
    ///
    /// # Errors
    /// [`AzureError`]; one that [`AzureError::is_missing`] when the group has no such machine.
    async fn serial_log(&self, group: &str, machine: &str) -> Result<Option<SerialLog>, AzureError>;

    /// The picture of a machine's screen; `None`: there is none.
    ///
    /// # Errors
    /// As [`BootDiagnostics::serial_log`]; also when it is no picture.
    async fn screenshot(&self, group: &str, machine: &str) -> Result<Option<Screenshot>, AzureError>;
}

/// [`BootDiagnostics`] over the resource manager.
struct ArmBootDiagnostics {
    arm: Arm,
    tenants: Arc<dyn Tenants>,
}

impl fmt::Debug for ArmBootDiagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArmBootDiagnostics").finish_non_exhaustive()
    }
}

impl Arm {
    /// The machines' boot diagnostics, with the tenants of subscriptions from `tenants`.
    pub fn boot_diagnostics(&self, tenants: Arc<dyn Tenants>) -> Arc<dyn BootDiagnostics> {
        Arc::new(ArmBootDiagnostics { arm: self.clone(), tenants })
    }
}

impl ArmBootDiagnostics {
    async fn client(&self, group: &str) -> Result<Client, AzureError> {
        let subscription = after(group, "subscriptions").unwrap_or_default().to_ascii_lowercase();
        let tenant = self.tenants.tenant(&subscription).await;
        let unknown =
            || AzureError::new(LOG.shown, ErrorKind::Credential, "the subscription's tenant is not known");
        Ok(self.arm.in_tenant(&tenant.ok_or_else(unknown)?))
    }
}

fn machine_id(group: &str, machine: &str) -> String {
    format!("{group}/providers/Microsoft.Compute/virtualMachines/{machine}")
}

#[async_trait]
impl BootDiagnostics for ArmBootDiagnostics {
    async fn serial_log(&self, group: &str, machine: &str) -> Result<Option<SerialLog>, AzureError> {
        self.client(group).await?.console(&machine_id(group, machine)).await
    }

    async fn screenshot(&self, group: &str, machine: &str) -> Result<Option<Screenshot>, AzureError> {
        let client = self.client(group).await?;
        let told = client.boot_addresses(&machine_id(group, machine)).await?;
        let Some(url) = client.address(&told, "consoleScreenshotBlobUri", SCREEN)? else { return Ok(None) };
        let http_request = HttpRequest {
            name: SCREEN,
            scope: None,
            method: Method::GET,
            url,
            headers: Vec::new(),
            body: None,
        };
        let bytes = client.arm.exchange(&http_request).await?.body;
        let odd = |why: &str| AzureError::new(SCREEN.shown, ErrorKind::Malformed, why);
        if bytes.is_empty() {
            return Ok(None);
        }
        if bytes.len() > MOST_PICTURE {
            return Err(odd("the picture is too large"));
        }
        let kind = kind_of(&bytes).ok_or_else(|| odd("it is no picture"))?;
        Ok(Some(Screenshot { kind, bytes }))
    }
}

/// The type of a picture by its first bytes: Azure's own word for it is not believed.
fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'B', b'M', ..] => Some("image/bmp"),
        _ => None,
    }
}

impl Client {
    /// Where a machine's boot diagnostics lie.
    async fn boot_addresses(&self, id: &str) -> Result<Value, AzureError> {
        let id = format!("{id}/retrieveBootDiagnosticsData");
        let query = [("sasUriExpirationTimeInMinutes", GOOD)];
        let request = Request { query: &query, ..Request::new(Method::POST, &id, API_VERSION) };
        self.run(&request).await
    }

    /// One of these addresses; `None`: there is none.
    fn address(&self, told: &Value, member: &str, name: CallName) -> Result<Option<Url>, AzureError> {
        let url = told[member].as_str().filter(|url| !url.is_empty());
        let Some(url) = url.and_then(|url| url.parse::<Url>().ok()) else { return Ok(None) };
        // The address has its own proof and goes to storage; plain HTTP only where Azure itself is a stand-in.
        let own = self.arm.endpoints().resource_manager.origin();
        if url.scheme() != "https" && url.origin() != own {
            return Err(AzureError::new(name.shown, ErrorKind::Malformed, "it is at an odd address"));
        }
        Ok(Some(url))
    }

    /// The end of a machine's serial console.
    pub(crate) async fn console(&self, id: &str) -> Result<Option<SerialLog>, AzureError> {
        let told = self.boot_addresses(id).await?;
        let Some(url) = self.address(&told, "serialConsoleLogBlobUri", LOG)? else { return Ok(None) };
        let first = match self.piece(&url, 0).await {
            // Nothing was written yet: there is no first byte.
            Err(error) if error.status == Some(416) => {
                return Ok(Some(SerialLog { bytes: Bytes::new(), size: 0 }));
            }
            // Boot diagnostics are on, and the machine never started.
            Err(error) if error.is_missing() => return Ok(Some(SerialLog { bytes: Bytes::new(), size: 0 })),
            first => first?,
        };
        if !first.is_cut() {
            return Ok(Some(first));
        }
        let end = self.piece(&url, first.size - MOST_LOG).await?;
        Ok(Some(SerialLog { size: end.size.max(first.size), bytes: end.bytes }))
    }

    /// A piece of a log from a byte on.
    async fn piece(&self, url: &Url, from: u64) -> Result<SerialLog, AzureError> {
        let range = format!("bytes={from}-{}", from + MOST_LOG - 1);
        let not = |_| AzureError::new(LOG.shown, ErrorKind::Request, "the range cannot be sent");
        let headers: Vec<(HeaderName, HeaderValue)> = vec![(RANGE, range.parse().map_err(not)?)];
        let (name, url) = (LOG, url.clone());
        let answer = self
            .arm
            .exchange(&HttpRequest { name, scope: None, method: Method::GET, url, headers, body: None })
            .await?;
        let whole = answer.body.len() as u64;
        let size = size_of(&answer.headers).unwrap_or(whole).max(whole);
        // A server without support for ranges sends all of it.
        let keep = usize::try_from(MOST_LOG).unwrap_or(usize::MAX);
        let bytes = answer.body.slice(answer.body.len().saturating_sub(keep)..);
        Ok(SerialLog { bytes, size })
    }
}

/// Bytes of the whole: 7 of `bytes 0-1/7` (RFC 9110 §14.4).
fn size_of(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_RANGE)?.to_str().ok()?.rsplit_once('/')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_known_by_their_bytes() {
        assert_eq!(kind_of(b"\x89PNG\r\n\x1a\n...."), Some("image/png"));
        assert_eq!(kind_of(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(kind_of(b"BM...."), Some("image/bmp"));
        assert_eq!((kind_of(b"<svg onload=x>"), kind_of(b"")), (None, None));
    }

    #[test]
    fn the_size_is_that_of_the_whole() {
        let of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_RANGE, HeaderValue::from_static(text));
            size_of(&headers)
        };
        assert_eq!((of("bytes 0-1/7"), of("bytes 0-1/*"), of("x")), (Some(7), None, None));
        assert_eq!(size_of(&HeaderMap::new()), None);
    }
}
