//! Answers: status, JSON, headers that ARM reads.

use std::time::Duration;

use axum::body::Body;
use http::header::{CONTENT_TYPE, HeaderName, LOCATION, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use rp_api::{CloudError, render};
use serde::Serialize;
use serde_json::json;
use url::Url;

use crate::fault::internal;

const OPERATION: HeaderName = HeaderName::from_static("azure-asyncoperation");
/// Seconds after which what was refused for want of room may be asked again.
const AGAIN: HeaderValue = HeaderValue::from_static("10");

pub(crate) type Answer = Response<Body>;

/// JSON with four spaces.
pub(crate) fn json_of(status: StatusCode, value: &impl Serialize) -> Answer {
    match render::render(value) {
        Ok(bytes) => with(status, Body::from(bytes)),
        Err(_) => error(&internal()),
    }
}

/// JSON in one line.
pub(crate) fn compact(value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(mut bytes) => {
            bytes.push(b'\n');
            with(StatusCode::OK, Body::from(bytes))
        }
        Err(_) => error(&internal()),
    }
}

/// Nothing but a status.
pub(crate) fn empty(status: StatusCode) -> Answer {
    with(status, Body::empty())
}

fn with(status: StatusCode, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// ARM's error body.
pub(crate) fn error(error: &CloudError) -> Answer {
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

/// Says where the operation can be followed, and when to ask for it.
pub(crate) fn following(
    mut answer: Answer,
    operation: &Url,
    location: Option<&Url>,
    after: Duration,
) -> Answer {
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

/// Whole seconds, at least one: clients take none for "at once".
fn seconds(after: Duration) -> HeaderValue {
    HeaderValue::from(after.as_secs().max(1))
}

/// Says when to ask again.
pub(crate) fn later(mut answer: Answer, after: Duration) -> Answer {
    answer.headers_mut().insert(RETRY_AFTER, seconds(after));
    answer
}

/// Says where to ask for what is not there yet.
pub(crate) fn waiting(location: &Url, after: Duration) -> Answer {
    let mut answer = empty(StatusCode::ACCEPTED);
    if let Ok(value) = HeaderValue::from_str(location.as_str()) {
        answer.headers_mut().insert(LOCATION, value);
    }
    answer.headers_mut().insert(RETRY_AFTER, seconds(after));
    answer
}
