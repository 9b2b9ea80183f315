//! Addresses of single blobs that carry their own authorization: signed by the resource manager with the account's key, or
//! by a key of an identity (user delegation SAS, version 2021-12-02).

use async_trait::async_trait;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Method;
use http::header::HeaderValue;
use rp_base::{Secret, Timestamp};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use crate::blobs::BlobStore;
use crate::error::{AzureError, ErrorKind};
use crate::resources::Resources;
use crate::storage_accounts::{API_VERSION, SIGNED, instant};

const MAKE: &str = "list service SAS";
const KEY: &str = "get user delegation key";
/// Most bytes of a key's answer.
const MOST_KEY: usize = 16 << 10;

/// The right to read one blob for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobSas<'a> {
    /// Name of the storage account.
    pub account: &'a str,
    pub container: &'a str,
    pub blob: &'a str,
    pub from: Timestamp,
    pub until: Timestamp,
    /// Plain HTTP too: stand-ins on loopback.
    pub http: bool,
}

impl BlobSas<'_> {
    /// The blob as signatures name it.
    fn resource(&self) -> String {
        format!("/blob/{}/{}/{}", self.account, self.container, self.blob)
    }

    const fn protocol(&self) -> &'static str {
        if self.http { "https,http" } else { "https" }
    }

    /// The blob's address at that endpoint, with the signature.
    ///
    /// # Errors
    /// The endpoint is no address of a service, or the blob's name has an empty part.
    pub fn url(&self, endpoint: &Url, query: &Secret<String>) -> Result<Secret<String>, AzureError> {
        let mut url = endpoint.clone();
        let parts: Vec<&str> = std::iter::once(self.container).chain(self.blob.split('/')).collect();
        let not = |why| AzureError::new(MAKE, ErrorKind::Request, why);
        if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
            return Err(not("the name of the blob is none"));
        }
        url.path_segments_mut()
            .map_err(|()| not("the account's address is none"))?
            .pop_if_empty()
            .extend(&parts);
        url.set_query(Some(query.expose()));
        Ok(Secret::new(url.into()))
    }
}

/// Signatures of single blobs. Every implementation of [`Resources`] has this.
#[async_trait]
pub trait BlobSignatures {
    /// A query that the resource manager signs with the key of the account, given by its id. The account must allow its
    /// keys.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn blob_sas(&self, account_id: &str, sas: &BlobSas<'_>) -> Result<Secret<String>, AzureError>;
}

#[async_trait]
impl<T: Resources + ?Sized> BlobSignatures for T {
    async fn blob_sas(&self, account_id: &str, sas: &BlobSas<'_>) -> Result<Secret<String>, AzureError> {
        let body = json!({
            "canonicalizedResource": sas.resource(), "signedResource": "b", "signedPermission": "r",
            "signedProtocol": sas.protocol(), "signedStart": instant(sas.from),
            "signedExpiry": instant(sas.until)});
        let mut answer = self.post(&format!("{account_id}/ListServiceSas"), API_VERSION, Some(&body)).await?;
        match answer["serviceSasToken"].take() {
            Value::String(token) => Ok(Secret::new(token)),
            _ => Err(AzureError::new(MAKE, ErrorKind::Malformed, "there is no signature")),
        }
    }
}

/// A key of an identity, with which it signs for itself.
struct DelegationKey {
    object: String,
    tenant: String,
    start: String,
    expiry: String,
    service: String,
    version: String,
    value: Secret<Vec<u8>>,
}

impl DelegationKey {
    fn parse(xml: &str) -> Option<Self> {
        let text = |name: &str| {
            let (_, rest) = xml.split_once(&format!("<{name}>"))?;
            let (text, _) = rest.split_once(&format!("</{name}>"))?;
            // None of these members has characters that XML writes in another way.
            (!text.is_empty() && !text.contains(['<', '&', '\n'])).then(|| text.to_owned())
        };
        Some(Self {
            object: text("SignedOid")?,
            tenant: text("SignedTid")?,
            start: text("SignedStart")?,
            expiry: text("SignedExpiry")?,
            service: text("SignedService")?,
            version: text("SignedVersion")?,
            value: Secret::new(STANDARD.decode(text("Value")?).ok()?),
        })
    }

    /// The query with its signature. Order and empty lines are the service's.
    fn sign(&self, sas: &BlobSas<'_>) -> Secret<String> {
        let (from, until) = (instant(sas.from), instant(sas.until));
        let Self { object, tenant, start, expiry, service, version, .. } = self;
        let signed = format!(
            "r\n{from}\n{until}\n{}\n{object}\n{tenant}\n{start}\n{expiry}\n{service}\n{version}\n\n\n\n\n{}\n{SIGNED}\nb\n\n\n\n\n\n\n",
            sas.resource(),
            sas.protocol(),
        );
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, self.value.expose()), signed.as_bytes());
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("sv", SIGNED),
                ("sr", "b"),
                ("sp", "r"),
                ("st", &from),
                ("se", &until),
                ("spr", sas.protocol()),
                ("skoid", object),
                ("sktid", tenant),
                ("skt", start),
                ("ske", expiry),
                ("sks", service),
                ("skv", version),
                ("sig", &STANDARD.encode(tag)),
            ])
            .finish();
        Secret::new(query)
    }
}

impl BlobStore {
    /// A query for one blob, signed by a key of the client's own identity: for accounts that allow no keys of theirs.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn user_delegation_sas(&self, sas: &BlobSas<'_>) -> Result<Secret<String>, AzureError> {
        let mut url = self.endpoint().clone();
        url.query_pairs_mut().append_pair("restype", "service").append_pair("comp", "userdelegationkey");
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><KeyInfo><Start>{}</Start><Expiry>{}</Expiry></KeyInfo>",
            instant(sas.from),
            instant(sas.until)
        );
        let body = Some((HeaderValue::from_static("application/xml"), Bytes::from(body)));
        let answer = self.send(("post", KEY), Method::POST, url, Vec::new(), body).await?;
        let odd = || AzureError::new(KEY, ErrorKind::Malformed, "there is no key");
        let xml = str::from_utf8(answer.body.get(..answer.body.len().min(MOST_KEY)).unwrap_or_default());
        Ok(DelegationKey::parse(xml.map_err(|_| odd())?).ok_or_else(odd)?.sign(sas))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_blob_and_the_signature() {
        let at = Timestamp::from_seconds(1_790_000_000);
        let sas = BlobSas {
            account: "acc",
            container: "ignition",
            blob: "bootstrap.ign",
            from: at,
            until: at,
            http: false,
        };
        let query = Secret::new("sig=a%2Bb".to_owned());
        let url = sas.url(&"https://acc.blob.core.windows.net/".parse().unwrap(), &query).unwrap();
        assert_eq!(url.expose(), "https://acc.blob.core.windows.net/ignition/bootstrap.ign?sig=a%2Bb");
        assert!(BlobSas { blob: "../x", ..sas }.url(&"https://h".parse().unwrap(), &query).is_err());
    }

    #[test]
    fn a_key_without_a_member_is_none() {
        let members =
            ["SignedOid", "SignedTid", "SignedStart", "SignedExpiry", "SignedService", "SignedVersion"];
        let mut xml: String = members.iter().map(|name| format!("<{name}>x</{name}>")).collect();
        assert!(DelegationKey::parse(&xml).is_none());
        xml.push_str("<Value>c2VjcmV0</Value>");
        assert_eq!(DelegationKey::parse(&xml).unwrap().value.expose(), b"secret");
        assert!(DelegationKey::parse(&xml.replace("<SignedOid>x", "<SignedOid>")).is_none());
    }
}
