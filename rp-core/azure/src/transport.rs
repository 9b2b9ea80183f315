//! One HTTP exchange: our TLS, bounded in time and size, counted.

use std::error::Error as _;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue};
use reqwest::{Client, Request};
use tokio::time::{Instant, timeout_at};

use crate::error::{AzureError, ErrorKind};
use crate::metrics::{CallMetrics, ObservedCall};

/// Largest answer, bytes.
const MOST: usize = 16 * 1024 * 1024;
/// Who asks, in Azure's logs: which of several processes made a change.
static AGENT: LazyLock<HeaderValue> = LazyLock::new(|| {
    let text = format!("aro/{} (pid {})", env!("CARGO_PKG_VERSION"), std::process::id());
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("aro"))
});
/// Longest that an answer can make us wait, whatever it says.
const LONGEST: Duration = Duration::from_mins(10);

/// A client and what it counts.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    pub(crate) http: Client,
    pub(crate) metrics: CallMetrics,
}

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Which call it is, for metrics and errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallName {
    pub(crate) client: &'static str,
    pub(crate) operation: &'static str,
    /// Both, for errors.
    pub(crate) shown: &'static str,
}

impl Transport {
    /// Sends a request and reads the whole answer before `deadline`; an answer that is no success is an error.
    pub(crate) async fn exchange(
        &self,
        name: CallName,
        request: Request,
        deadline: Instant,
    ) -> Result<HttpResponse, AzureError> {
        let start = Instant::now();
        let done = match timeout_at(deadline, self.send(name, request)).await {
            Ok(done) => done,
            Err(_) => Err(AzureError::new(name.shown, ErrorKind::Timeout, "")),
        };
        let status = match &done {
            Ok(answer) => Some(answer.status),
            Err(error) => error.status,
        };
        self.metrics.call(ObservedCall {
            client: name.client,
            operation: name.operation,
            code: status.map_or(-1, i32::from),
            took: start.elapsed(),
            failed: done.is_err(),
        });
        done
    }

    async fn send(&self, name: CallName, mut request: Request) -> Result<HttpResponse, AzureError> {
        let path = request.url().path().to_owned();
        let failed = |error: &reqwest::Error| {
            let mut failed = AzureError::new(name.shown, kind(error), "");
            failed.more().url.clone_from(&path);
            failed
        };
        request.headers_mut().insert(USER_AGENT, AGENT.clone());
        let mut response = self.http.execute(request).await.map_err(|error| failed(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = BytesMut::new();
        while let Some(piece) = response.chunk().await.map_err(|error| failed(&error))? {
            if body.len() + piece.len() > MOST {
                return Err(AzureError::new(name.shown, ErrorKind::Malformed, "the answer is too large"));
            }
            body.extend_from_slice(&piece);
        }
        if (200..300).contains(&status) {
            return Ok(HttpResponse { status, headers, body: body.freeze() });
        }
        let mut error = AzureError::from_response(name.shown, status, &body);
        if error.code.is_empty() {
            // Storage tells its code in a header; its body is XML.
            let code = headers.get("x-ms-error-code").and_then(|code| code.to_str().ok());
            error.code = rp_base::text::clean(code.unwrap_or_default(), 100);
        }
        error.more().url.clone_from(&path);
        error.retry_after = retry_after(&headers);
        let id = headers.get("x-ms-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
        error.request_id = rp_base::text::clean(id, 100);
        Err(error)
    }
}

/// When an answer wants the next question: a positive whole number of seconds, up to ten minutes; dates and everything
/// else are as good as nothing.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    (seconds > 0).then(|| Duration::from_secs(seconds).min(LONGEST))
}

fn kind(error: &reqwest::Error) -> ErrorKind {
    let mut cause = error.source();
    let mut found = None;
    while let Some(error) = cause {
        if error.is::<rustls::Error>() {
            return ErrorKind::Tls;
        }
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            let tls = io.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
            found = Some(if tls { ErrorKind::Tls } else { ErrorKind::Connect });
        }
        // The resolver's error has no public type.
        if error.to_string().starts_with("dns error") {
            return ErrorKind::Resolve;
        }
        cause = error.source();
    }
    match found {
        Some(ErrorKind::Tls) => ErrorKind::Tls,
        _ if error.is_timeout() => ErrorKind::Timeout,
        _ if error.is_connect() => ErrorKind::Connect,
        _ => ErrorKind::Broken,
    }
}
