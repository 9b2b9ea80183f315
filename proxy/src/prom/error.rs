//! Failures in Prometheus' own shape, so that its clients print the sentence, with ours beside.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use rp_base::chain;
use rp_documents::{ResourceId, Side};
use rp_prometheus::ErrorView;
use serde_json::json;

use super::{PromCaller, PromRequestError};

pub(super) fn error_view(error: &PromRequestError) -> ErrorView {
    match error {
        PromRequestError::Prom(error) => error.shown(),
        PromRequestError::Audit(_) => ErrorView {
            status: 503,
            kind: "unavailable".to_owned(),
            code: "audit_unavailable",
            message: "The audit trail cannot be written, so nothing was asked.".to_owned(),
            side: Side::Us,
            action: "Try again in a moment.".to_owned(),
            position: None,
        },
    }
}

/// Logs the error once, unless the caller caused it.
pub(super) fn log(
    error: &PromRequestError,
    shown: &ErrorView,
    asker: &PromCaller,
    id: Option<&ResourceId>,
) -> ErrorView {
    if shown.side != Side::You {
        tracing::warn!(
            request_id = %asker.request_id,
            resource_id = id.map(ResourceId::key).unwrap_or_default(),
            side = shown.side.name(),
            error = %chain(error),
            "a question to Prometheus failed"
        );
    }
    shown.clone()
}

/// The answer: JSON, never cached.
pub fn error_response(shown: &ErrorView, request_id: &str) -> Response<Bytes> {
    let mut body = json!({
        "status": "error", "errorType": shown.kind, "error": shown.message,
        "code": shown.code, "message": shown.message, "side": shown.side.name(), "action": shown.action,
        "request_id": request_id,
    });
    if let Some(position) = shown.position {
        body["position"] = json!(position);
    }
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(shown.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    match shown.status {
        401 => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        429 | 503 => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        _ => {}
    }
    response
}
