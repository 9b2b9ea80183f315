//! Answers: status, JSON, headers that ARM reads.

use std::time::Duration;

use axum::body::Body;
use http::header::{ALLOW, CONTENT_TYPE, HeaderName, LOCATION, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use rp_api::{CloudError, render};
use serde::Serialize;
use serde_json::json;
use url::Url;

use crate::fault::internal;

const OPERATION: HeaderName = HeaderName::from_static("azure-asyncoperation");
/// `Retry-After` in seconds of a request that was refused for lack of capacity.
const AGAIN: HeaderValue = HeaderValue::from_static("10");

pub(crate) type HttpResponse = Response<Body>;

/// What an action changed, as the audit log keeps it: stands in the extensions of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) before: String,
    pub(crate) after: String,
}

impl Change {
    pub(crate) fn new(before: &str, after: &str) -> Self {
        Self { before: before.to_owned(), after: after.to_owned() }
    }
}

/// JSON with four spaces.
pub(crate) fn json_response(status: StatusCode, value: &impl Serialize) -> HttpResponse {
    match render::render(value) {
        Ok(bytes) => with(status, Body::from(bytes)),
        Err(_) => error(&internal()),
    }
}

/// JSON in one line.
pub(crate) fn compact_json(value: &impl Serialize) -> HttpResponse {
    match serde_json::to_vec(value) {
        Ok(mut bytes) => {
            bytes.push(b'\n');
            with(StatusCode::OK, Body::from(bytes))
        }
        Err(_) => error(&internal()),
    }
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> HttpResponse {
    with(status, Body::empty())
}

/// 405 with the methods that the path has.
pub(crate) fn method_not_allowed(methods: &'static str) -> HttpResponse {
    let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

fn with(status: StatusCode, body: Body) -> HttpResponse {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// ARM's error body.
pub(crate) fn error(error: &CloudError) -> HttpResponse {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = match render::render(&json!({"error": error.body})) {
        Ok(bytes) => with(status, Body::from(bytes)),
        Err(_) => empty(StatusCode::INTERNAL_SERVER_ERROR),
    };
    if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
        answer.headers_mut().insert(RETRY_AFTER, AGAIN);
    }
    answer
}

/// Adds the URLs at which the operation is polled, and when to poll.
pub(crate) fn with_operation(
    mut answer: HttpResponse,
    operation: &Url,
    location: Option<&Url>,
    after: Duration,
) -> HttpResponse {
    let headers = answer.headers_mut();
    let places = [(OPERATION, Some(operation)), (LOCATION, location)];
    for (name, url) in places {
        if let Some(value) = url.and_then(|url| HeaderValue::from_str(url.as_str()).ok()) {
            headers.insert(name, value);
        }
    }
    headers.insert(RETRY_AFTER, seconds(after));
    answer
}

/// Whole seconds, at least one: clients read 0 as "at once".
fn seconds(after: Duration) -> HeaderValue {
    HeaderValue::from(after.as_secs().max(1))
}

/// Adds `Retry-After`.
pub(crate) fn with_retry_after(mut answer: HttpResponse, after: Duration) -> HttpResponse {
    answer.headers_mut().insert(RETRY_AFTER, seconds(after));
    answer
}

/// 202 with the URL to poll for a result that is not ready.
pub(crate) fn accepted_at(location: &Url, after: Duration) -> HttpResponse {
    let mut answer = empty(StatusCode::ACCEPTED);
    if let Ok(value) = HeaderValue::from_str(location.as_str()) {
        answer.headers_mut().insert(LOCATION, value);
    }
    answer.headers_mut().insert(RETRY_AFTER, seconds(after));
    answer
}
