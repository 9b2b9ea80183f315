//! Certificates and secrets of one vault (Key Vault, data plane 7.4).

use bytes::Bytes;
use http::Method;
use rp_base::Secret;
use serde_json::{Value, json};
use url::Url;

use crate::arm::JSON;
use crate::client::Client;
use crate::cloud::Audience;
use crate::error::{AzureError, ErrorKind};
use crate::resources::missing;
use crate::transport::CallName;

const API_VERSION: &str = "7.4";

/// How far an order of a certificate is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateOrder {
    /// None was made.
    None,
    /// It is being made; what the issuer says. Also one that failed and goes on by itself
    /// (`[Status:FailedCanRetry]`).
    InProgress(String),
    /// The secret of that name has it.
    Done,
    /// It will not come.
    Failed(String),
}

/// A secret's newest version.
#[derive(Debug, Clone)]
pub struct VaultSecret {
    pub value: Secret<String>,
    /// Empty when it has none.
    pub content_type: String,
    /// `null` when it has none.
    pub tags: Value,
    /// `{"created", "updated", "exp" …}`, seconds.
    pub attributes: Value,
}

/// A vault as one identity sees it.
#[derive(Debug, Clone)]
pub struct Vault {
    client: Client,
    base: Url,
}

impl Vault {
    /// The vault at that address, e.g. `https://NAME.vault.azure.net`.
    pub const fn new(client: Client, base: Url) -> Self {
        Self { client, base }
    }

    /// Orders a new version of a certificate by that policy (`CertificatePolicy` of the REST API).
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn order(&self, name: &str, policy: &Value) -> Result<(), AzureError> {
        let path = ["certificates", name, "create"];
        self.ask("order certificate", Method::POST, &path, Some(&json!({ "policy": policy }))).await?;
        Ok(())
    }

    /// How far the newest order is.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn order_state(&self, name: &str) -> Result<CertificateOrder, AzureError> {
        let path = ["certificates", name, "pending"];
        let found = missing(self.ask("get certificate order", Method::GET, &path, None).await)?;
        let Some(found) = found else { return Ok(CertificateOrder::None) };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let told = [text(&found["status_details"]), text(&found["error"]["message"])];
        let told = told.into_iter().filter(|told| !told.is_empty()).collect::<Vec<_>>().join(": ");
        Ok(match found["status"].as_str().unwrap_or_default() {
            "completed" => CertificateOrder::Done,
            "inProgress" => CertificateOrder::InProgress(told),
            "failed" if told.contains("[Status:FailedCanRetry]") => CertificateOrder::InProgress(told),
            _ => CertificateOrder::Failed(told),
        })
    }

    /// A certificate's policy; `None`: there is no such certificate.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn policy(&self, name: &str) -> Result<Option<Value>, AzureError> {
        missing(
            self.ask("get certificate policy", Method::GET, &["certificates", name, "policy"], None).await,
        )
    }

    /// Replaces the policy, for the versions to come.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn set_policy(&self, name: &str, policy: &Value) -> Result<(), AzureError> {
        let path = ["certificates", name, "policy"];
        self.ask("change certificate policy", Method::PATCH, &path, Some(policy)).await.map(|_| ())
    }

    /// A certificate's newest version without its key; `None`: there is none.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn certificate(&self, name: &str) -> Result<Option<Value>, AzureError> {
        missing(self.ask("get certificate", Method::GET, &["certificates", name], None).await)
    }

    /// Deletes a certificate with its key; one that is not there is deleted.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn delete_certificate(&self, name: &str) -> Result<(), AzureError> {
        let done = self.ask("delete certificate", Method::DELETE, &["certificates", name], None).await;
        missing(done).map(|_| ())
    }

    /// A secret's newest version, also a certificate's key and chain (PEM); `None`: there is none.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn secret(&self, name: &str) -> Result<Option<VaultSecret>, AzureError> {
        let found = missing(self.ask("get secret", Method::GET, &["secrets", name], None).await)?;
        Ok(found.map(|mut found| {
            let mut text = |name: &str| match found[name].take() {
                Value::String(text) => text,
                _ => String::new(),
            };
            let (value, content_type) = (Secret::new(text("value")), text("contentType"));
            VaultSecret {
                value,
                content_type,
                tags: found["tags"].take(),
                attributes: found["attributes"].take(),
            }
        }))
    }

    /// Sets a new version of a secret; `tags` is an object of texts or `null`.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn set_secret(
        &self,
        name: &str,
        value: &Secret<String>,
        tags: &Value,
    ) -> Result<(), AzureError> {
        let body = json!({"value": value.expose(), "tags": tags});
        self.ask("set secret", Method::PUT, &["secrets", name], Some(&body)).await.map(|_| ())
    }

    /// Deletes a secret; one that is not there is deleted.
    ///
    /// # Errors
    /// [`AzureError`].
    pub async fn delete_secret(&self, name: &str) -> Result<(), AzureError> {
        let done = self.ask("delete secret", Method::DELETE, &["secrets", name], None).await;
        missing(done).map(|_| ())
    }

    async fn ask(
        &self,
        shown: &'static str,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<Value, AzureError> {
        let not = |why| AzureError::new(shown, ErrorKind::Request, why);
        let plain =
            |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !path.iter().all(plain) {
            return Err(not("the name is none of a vault"));
        }
        let mut url = self.base.clone();
        url.path_segments_mut().map_err(|()| not("the vault's address is none"))?.pop_if_empty().extend(path);
        url.query_pairs_mut().append_pair("api-version", API_VERSION);
        let operation = if method == Method::GET { "get" } else { "write" };
        let name = CallName { client: "keyvault", operation, shown };
        let body = body.map(|body| (JSON, Bytes::from(body.to_string())));
        self.client.call(name, Audience::KeyVault, method, url, body).await
    }
}
