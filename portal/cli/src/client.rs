//! The portal's JSON API as a client sees it.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, COOKIE, HeaderName, HeaderValue, ORIGIN};
use reqwest::{Method, RequestBuilder, Response};
use rp_base::{Secret, text};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use serde_json::Value;
use url::Url;

use crate::args::Connection;
use crate::error::Refusal;
use crate::{CliError, files};

/// Answers larger than this are not ours.
const MOST: usize = 32 * 1024 * 1024;
const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");

enum Credential {
    Bearer(HeaderValue),
    Cookie(HeaderValue),
}

/// One portal, one credential.
pub(crate) struct Client {
    http: reqwest::Client,
    portal: Url,
    credential: Credential,
}

impl Client {
    pub(crate) fn new(connection: &Connection) -> Result<Self, CliError> {
        let portal = connection.portal.clone();
        if !matches!(portal.scheme(), "https" | "http") || portal.host_str().is_none() {
            return Err(CliError::Usage("--portal must be an http or https address".to_owned()));
        }
        if portal.scheme() == "http" && !is_loopback(&portal) {
            return Err(CliError::Usage(
                "--portal must be https: a credential is not sent in the clear".to_owned(),
            ));
        }
        let credential = match (&connection.session_cookie_file, &connection.token_file) {
            (Some(file), _) => {
                let line = files::read_line(file)?;
                let cookie = line.expose().strip_prefix("Cookie: ").unwrap_or(line.expose());
                Credential::Cookie(secret_header(cookie)?)
            }
            (None, Some(file)) => {
                let token = files::read_line(file)?;
                let bearer = Secret::new(format!("Bearer {}", token.expose()));
                Credential::Bearer(secret_header(bearer.expose())?)
            }
            (None, None) => return Err(CliError::NoCredential),
        };
        Ok(Self { http: http(connection)?, portal, credential })
    }

    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, CliError> {
        let response = self.send(self.request(Method::GET, path, query)).await?;
        json(response).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        let request = self.unsafe_request(Method::POST, path, &[]).await?.json(body);
        json(self.send(request).await?).await
    }

    /// As [`Self::post`], but the answer is a text to keep byte for byte.
    pub(crate) async fn post_for_text(&self, path: &str, body: &Value) -> Result<Secret<String>, CliError> {
        let request = self.unsafe_request(Method::POST, path, &[]).await?.json(body);
        let bytes = bytes(self.send(request).await?).await?;
        String::from_utf8(bytes).map(Secret::new).map_err(|_| CliError::Answer("not UTF-8"))
    }

    pub(crate) async fn delete(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, CliError> {
        let request = self.unsafe_request(Method::DELETE, path, query).await?;
        json(self.send(request).await?).await
    }

    fn request(&self, method: Method, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.portal.clone();
        // Escapes what cannot stand in a path, and keeps "?" and "#" inside it.
        url.set_path(&format!("{}{path}", self.portal.path().trim_end_matches('/')));
        url.set_query(None);
        url.set_fragment(None);
        let request = self.http.request(method, url).query(query).header(ACCEPT, "application/json");
        match &self.credential {
            Credential::Bearer(bearer) => request.header(AUTHORIZATION, bearer.clone()),
            Credential::Cookie(cookie) => request.header(COOKIE, cookie.clone()),
        }
    }

    /// With a cookie, what changes something carries the token of `/api/info` (`spec/portal.md` §7).
    async fn unsafe_request(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<RequestBuilder, CliError> {
        let request = self.request(method, path, query);
        if matches!(self.credential, Credential::Bearer(_)) {
            return Ok(request);
        }
        let info = self.get("/api/info", &[]).await?;
        let csrf = info.get("csrf").and_then(Value::as_str).ok_or(CliError::Answer("no CSRF token"))?;
        let origin = self.portal.origin().ascii_serialization();
        Ok(request.header(CSRF, secret_header(csrf)?).header(ORIGIN, origin))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, CliError> {
        let response = request.send().await.map_err(|cause| CliError::Unreachable {
            host: self.portal.host_str().unwrap_or_default().to_owned(),
            cause: cause.without_url(),
        })?;
        if response.status().is_success() { Ok(response) } else { Err(refused(response).await) }
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn secret_header(text: &str) -> Result<HeaderValue, CliError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| CliError::Usage("the credential is not plain text".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Trusts the system's authorities and `--ca-file`; follows no redirect; bounded in time.
fn http(connection: &Connection) -> Result<reqwest::Client, CliError> {
    let mut roots = RootCertStore::empty();
    // A system without authorities trusts only the file.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = &connection.ca_file {
        let bad = || CliError::BadFile { path: path.clone(), what: "holds no usable PEM certificate" };
        let pem = files::read(path)?;
        let mut found = 0;
        for certificate in CertificateDer::pem_slice_iter(pem.expose().as_bytes()) {
            roots.add(certificate.map_err(|_| bad())?).map_err(|_| bad())?;
            found += 1;
        }
        if found == 0 {
            return Err(bad());
        }
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(CliError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(60))
        .user_agent(concat!("aro/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|cause| CliError::Unreachable { host: "any address".to_owned(), cause })
}

async fn bytes(mut response: Response) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| CliError::Answer("it broke off"))? {
        if bytes.len() + chunk.len() > MOST {
            return Err(CliError::Answer("too long"));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

async fn json(response: Response) -> Result<Value, CliError> {
    let bytes = bytes(response).await?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&bytes).map_err(|_| CliError::Answer("not JSON"))
}

/// The portal's own words, bare or under `error`; else what the status says.
async fn refused(response: Response) -> CliError {
    let status = response.status().as_u16();
    let reason = response.status().canonical_reason().unwrap_or("an error");
    let request_id = response
        .headers()
        .get("x-request-id")
        .and_then(|value| value.to_str().ok())
        .map_or_else(String::new, |id| text::clean(id, 100));
    let unnamed = Refusal {
        code: format!("http_{status}"),
        message: match status {
            300..=399 | 401 => "the portal does not know you, or your session has ended".to_owned(),
            _ => format!("the portal answered {status} {reason}"),
        },
        side: String::new(),
        action: if matches!(status, 300..=399 | 401) { "Sign in again.".to_owned() } else { String::new() },
        request_id: request_id.clone(),
    };
    let body = bytes(response).await.unwrap_or_default();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    let inner = value.get("error").filter(|inner| inner.is_object()).unwrap_or(&value);
    let mut refusal = serde_json::from_value(inner.clone()).unwrap_or(unnamed);
    if refusal.request_id.is_empty() {
        refusal.request_id = request_id;
    }
    CliError::Refused { status, refusal }
}
