//! Keys and signatures of storage accounts (Microsoft.Storage).

use async_trait::async_trait;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Secret, Timestamp};
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::error::{AzureError, ErrorKind};
use crate::resources::Resources;

pub(crate) const API_VERSION: &str = "2021-09-01";
/// Version of the signature's form.
pub(crate) const SIGNED: &str = "2021-12-02";

/// What a shared access signature of an account allows; always the blob service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SasRequest {
    /// `r`, `d`, `cw` …, in the service's order `rwdlacup`.
    pub permissions: &'static str,
    /// `o` objects, `c` containers, `co` both.
    pub resource_types: &'static str,
    pub from: Timestamp,
    pub until: Timestamp,
    /// Plain HTTP too: stand-ins on loopback.
    pub http: bool,
}

/// Storage accounts. Every implementation of [`Resources`] has this.
#[async_trait]
pub trait StorageAccounts {
    /// The account's keys, base64.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn keys(&self, id: &str) -> Result<Vec<Secret<String>>, AzureError>;

    /// A signature that the resource manager makes: a query for [`crate::BlobAccess::Sas`].
    ///
    /// # Errors
    /// [`AzureError`].
    async fn account_sas(&self, id: &str, sas: &SasRequest) -> Result<Secret<String>, AzureError>;

    /// The account's blob endpoint; `None`: there is no such account.
    ///
    /// # Errors
    /// [`AzureError`]; also when it tells none.
    async fn blob_endpoint(&self, id: &str) -> Result<Option<url::Url>, AzureError>;
}

#[async_trait]
impl<T: Resources + ?Sized> StorageAccounts for T {
    async fn keys(&self, id: &str) -> Result<Vec<Secret<String>>, AzureError> {
        let answer = self.post(&format!("{id}/listKeys"), API_VERSION, None).await?;
        let keys = answer["keys"].as_array().into_iter().flatten();
        Ok(keys.filter_map(|key| key["value"].as_str().map(|key| Secret::new(key.to_owned()))).collect())
    }

    async fn account_sas(&self, id: &str, sas: &SasRequest) -> Result<Secret<String>, AzureError> {
        let body = json!({
            "signedServices": "b", "signedResourceTypes": sas.resource_types,
            "signedPermission": sas.permissions, "signedProtocol": protocol(sas),
            "signedStart": instant(sas.from), "signedExpiry": instant(sas.until)});
        let mut answer = self.post(&format!("{id}/ListAccountSas"), API_VERSION, Some(&body)).await?;
        match answer["accountSasToken"].take() {
            Value::String(token) => Ok(Secret::new(token)),
            _ => Err(AzureError::new("list account SAS", ErrorKind::Malformed, "there is no signature")),
        }
    }

    async fn blob_endpoint(&self, id: &str) -> Result<Option<url::Url>, AzureError> {
        let Some(found) = self.get(id, API_VERSION).await? else { return Ok(None) };
        let told = found["properties"]["primaryEndpoints"]["blob"].as_str();
        let not = || AzureError::new("get storage account", ErrorKind::Malformed, "it has no blob endpoint");
        told.and_then(|told| told.parse().ok()).map(Some).ok_or_else(not)
    }
}

/// The signature of an account, made with its key (account SAS, version 2021-12-02). `None`: the key is no base64.
pub fn sign_account_sas(account: &str, key: &Secret<String>, sas: &SasRequest) -> Option<Secret<String>> {
    let key = STANDARD.decode(key.expose()).ok()?;
    let (from, until) = (instant(sas.from), instant(sas.until));
    // Order and empty lines are the service's: no addresses, no encryption scope.
    let signed = format!(
        "{account}\n{}\nb\n{}\n{from}\n{until}\n\n{}\n{SIGNED}\n\n",
        sas.permissions,
        sas.resource_types,
        protocol(sas)
    );
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), signed.as_bytes());
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("sv", SIGNED),
            ("ss", "b"),
            ("srt", sas.resource_types),
            ("sp", sas.permissions),
            ("st", &from),
            ("se", &until),
            ("spr", protocol(sas)),
            ("sig", &STANDARD.encode(tag)),
        ])
        .finish();
    Some(Secret::new(query))
}

const fn protocol(sas: &SasRequest) -> &'static str {
    if sas.http { "https,http" } else { "https" }
}

/// Whole seconds, as the service wants them.
pub(crate) fn instant(at: Timestamp) -> String {
    let text = at.to_string();
    match text.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => text,
    }
}
