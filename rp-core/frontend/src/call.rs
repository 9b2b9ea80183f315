//! One request, read and bounded (`contract/frontend.md` §2).

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, request};
use http_body_util::{BodyExt as _, Limited};
use rp_api::{CloudError, Version};
use rp_documents::cluster::SystemData;
use url::Url;

use crate::edge::Edge;

/// Largest body, in bytes.
const MOST_BODY: usize = 1 << 20;

/// A request for a handler. It holds secrets, and so has no `Debug`.
pub(crate) struct Call {
    pub(crate) method: Method,
    /// `api-version` as sent; empty: none.
    pub(crate) api_version: String,
    /// The query, decoded.
    pub(crate) query: Vec<(String, String)>,
    /// The URL of ARM's caller: the base of the URLs in responses.
    pub(crate) referer: Url,
    pub(crate) body: Bytes,
    pub(crate) correlation: Correlation,
    /// `X-Ms-Arm-Resource-System-Data`; `None` without the header.
    pub(crate) system_data: Option<SystemData>,
    /// `x-ms-identity-url`.
    pub(crate) identity_url: Option<String>,
    /// `x-ms-home-tenant-id`.
    pub(crate) home_tenant: Option<String>,
    /// The person behind an admin call, as the calling tool reports.
    pub(crate) principal: Option<String>,
    /// The address that it comes from.
    pub(crate) peer: String,
}

/// How ARM finds the request again (`contract/frontend.md` §14.1).
#[derive(Debug, Clone, Default)]
pub(crate) struct Correlation {
    pub(crate) request: String,
    pub(crate) operation: String,
    pub(crate) correlation: String,
    pub(crate) client_request: String,
}

impl Call {
    /// The version that the call names.
    ///
    /// # Errors
    /// 400 `InvalidResourceType`: there is none of that name.
    pub(crate) fn version(&self, kind: &str) -> Result<&'static Version, CloudError> {
        rp_api::find(&self.api_version)
            .ok_or_else(|| crate::path::no_such_type(kind, crate::path::PROVIDER, &self.api_version))
    }

    /// The value of a query parameter; its name in any case.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        parameter(&self.query, name)
    }

    /// The caller's URL with another path, for `Azure-AsyncOperation` and `Location`.
    pub(crate) fn url_with_path(&self, path: &str) -> Url {
        let mut url = self.referer.clone();
        url.set_path(path);
        url
    }
}

pub(crate) fn parameter<'a>(query: &'a [(String, String)], name: &str) -> Option<&'a str> {
    query.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// The query of a request, decoded.
pub(crate) fn query(head: &request::Parts) -> Vec<(String, String)> {
    let text = head.uri.query().unwrap_or_default();
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// A header's text.
pub(crate) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// The caller's `Referer`, if its host is allowed; else our own URL.
pub(crate) fn referer(head: &request::Parts, edge: &Edge) -> Url {
    let said = header(&head.headers, "referer").and_then(|text| Url::parse(&text).ok());
    let known = |host: &str| edge.referers.iter().any(|known| is_host(known, host));
    let plain = |url: &Url| url.username().is_empty() && url.password().is_none();
    let web = |url: &Url| matches!(url.scheme(), "https" | "http") && url.host_str().is_some_and(known);
    said.filter(web).filter(plain).unwrap_or_else(|| {
        let mut own = edge.own.clone();
        own.set_path(&head.uri.path().to_ascii_lowercase());
        own.set_query(head.uri.query());
        own
    })
}

/// Whether a host matches an allowed one: `*`: any; `.azure.com`: those below it.
fn is_host(known: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    match known.starts_with('.') {
        true => host.ends_with(known) && host.len() > known.len(),
        false => known == "*" || known == host,
    }
}

/// Reads the body of a call that has one.
///
/// # Errors
/// 400: larger than 1 MiB, or it was interrupted or took longer than `time`. 415: its content type is not JSON.
pub(crate) async fn body(
    head: &request::Parts,
    body: axum::body::Body,
    time: Duration,
) -> Result<Bytes, CloudError> {
    if !matches!(head.method, Method::PUT | Method::PATCH | Method::POST) {
        return Ok(Bytes::new());
    }
    let wrong = || CloudError::bad("InvalidResource", "", "The resource definition is invalid.");
    let read = tokio::time::timeout(time, Limited::new(body, MOST_BODY).collect()).await;
    let body = read.map_err(|_| wrong())?.map_err(|_| wrong())?.to_bytes();
    let said = header(&head.headers, "content-type").unwrap_or_default();
    let kind = said.split(';').next().unwrap_or_default().trim_end();
    if kind == "application/json" || said.is_empty() && body.is_empty() {
        return Ok(body);
    }
    let message =
        format!("The content media type '{said}' is not supported. Only 'application/json' is supported.");
    Err(CloudError::new(415, "UnsupportedMediaType", "", message))
}
