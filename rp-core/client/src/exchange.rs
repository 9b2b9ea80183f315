//! One request and its answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, REFERER};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::error::{ClientError, ErrorBody, Refusal};
use crate::{ClientOptions, tls};

/// Largest answer, bytes.
const MOST: usize = 16 * 1024 * 1024;

/// One request and its response.
pub struct Exchange<'a> {
    pub method: &'a Method,
    pub url: &'a Url,
    pub request: Option<&'a Value>,
    pub status: u16,
    pub headers: &'a HeaderMap,
    pub body: &'a [u8],
}

impl fmt::Debug for Exchange<'_> {
    /// Without the bodies: they contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, url, status, .. } = self;
        f.debug_struct("Exchange")
            .field("method", method)
            .field("url", &url.as_str())
            .field("status", status)
            .finish_non_exhaustive()
    }
}

/// Sees every exchange of a client: a test compares it with the published description.
pub trait Observer: Send + Sync + fmt::Debug + 'static {
    /// Checks an exchange.
    ///
    /// # Errors
    /// What is wrong with it; the client's call fails with this message.
    fn observe(&self, exchange: &Exchange<'_>) -> Result<(), String>;
}

/// A successful response with its whole body.
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ApiResponse {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body).map_err(|error| ClientError::Answer(error.to_string()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// HTTP access to one API.
pub(crate) struct Transport {
    http: reqwest::Client,
    base: Url,
    headers: HeaderMap,
    observer: Option<Arc<dyn Observer>>,
    pub(crate) patience: Duration,
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Transport {
    pub(crate) fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &options.headers {
            let bad = || ClientError::Request(format!("the header {name} cannot be used"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            headers.insert(name, HeaderValue::from_str(value).map_err(|_| bad())?);
        }
        Ok(Self {
            http: tls::http(options.ca_pem.as_deref(), options.identity.as_ref())?,
            base: options.url,
            headers,
            observer: options.observer,
            patience: options.patience,
        })
    }

    /// The address of a path, which may have a query.
    pub(crate) fn url(&self, path: &str, api_version: &str) -> Result<Url, ClientError> {
        let mut url =
            self.base.join(path).map_err(|error| ClientError::Request(format!("{path}: {error}")))?;
        if url.origin() != self.base.origin() {
            return Err(ClientError::Request(format!("{path} is not at {}", self.base)));
        }
        url.query_pairs_mut().append_pair("api-version", api_version);
        Ok(url)
    }

    /// A URL from a response; its origin must be the API's, or the credentials would be sent elsewhere.
    pub(crate) fn resolve_link(&self, link: &str) -> Result<Url, ClientError> {
        let url = Url::parse(link).map_err(|error| ClientError::Answer(format!("{link}: {error}")))?;
        if url.origin() == self.base.origin() {
            return Ok(url);
        }
        Err(ClientError::Answer(format!("{link} is not at {}", self.base)))
    }

    /// Sends a request; a response with an error status is an error.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<ApiResponse, ClientError> {
        let host = || url.host_str().unwrap_or_default().to_owned();
        let away =
            |cause: reqwest::Error| ClientError::Unreachable { host: host(), cause: cause.without_url() };
        let mut request = self.http.request(method.clone(), url.clone()).headers(self.headers.clone());
        // As ARM does: the service builds links in responses from it.
        request = request.header(REFERER, url.as_str());
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let mut response = request.send().await.map_err(away)?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut read = BytesMut::new();
        while let Some(piece) = response.chunk().await.map_err(away)? {
            if read.len() + piece.len() > MOST {
                return Err(ClientError::Answer(format!("it is larger than {MOST} bytes")));
            }
            read.extend_from_slice(&piece);
        }
        if let Some(observer) = &self.observer {
            let exchange = Exchange {
                method: &method,
                url: &url,
                request: body,
                status,
                headers: &headers,
                body: &read,
            };
            observer.observe(&exchange).map_err(ClientError::Observed)?;
        }
        let answer = ApiResponse { status, headers, body: read.freeze() };
        if (200..300).contains(&status) { Ok(answer) } else { Err(refused(&answer)) }
    }
}

fn refused(answer: &ApiResponse) -> ClientError {
    #[derive(Deserialize)]
    struct Body {
        error: ErrorBody,
    }
    let error = answer.json::<Body>().map(|body| body.error).unwrap_or_default();
    let request_id = answer.header("x-ms-request-id").unwrap_or_default().to_owned();
    ClientError::Refused(Box::new(Refusal { status: answer.status, request_id, error }))
}
