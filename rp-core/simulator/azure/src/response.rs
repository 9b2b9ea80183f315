//! Responses in ARM's format.

use bytes::Bytes;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use rp_simulator::body::{Body, full, stream};
use serde_json::{Value, json};

use super::SIMULATED;

/// A response before it is written.
#[derive(Debug)]
pub(super) struct ArmResponse {
    pub(super) status: StatusCode,
    headers: Vec<(&'static str, String)>,
    body: Content,
}

#[derive(Debug)]
enum Content {
    None,
    Json(Value),
    /// With its media type.
    Bytes(&'static str, Bytes),
    /// A body that breaks off.
    Lost,
}

impl ArmResponse {
    pub(super) const fn with_body(status: StatusCode, body: Value) -> Self {
        Self { status, headers: Vec::new(), body: Content::Json(body) }
    }

    pub(super) const fn ok(body: Value) -> Self {
        Self::with_body(StatusCode::OK, body)
    }

    pub(super) const fn empty(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Content::None }
    }

    pub(super) const fn bytes(status: StatusCode, kind: &'static str, body: Bytes) -> Self {
        Self { status, headers: Vec::new(), body: Content::Bytes(kind, body) }
    }

    /// A response whose body breaks off.
    pub(super) const fn lost(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Content::Lost }
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Its body; `null` when it has none.
    pub(super) const fn content(&self) -> &Value {
        match &self.body {
            Content::Json(body) => body,
            _ => &Value::Null,
        }
    }

    pub(super) fn into_response(self, request_id: &str) -> Response<Body> {
        let mut kind = "application/json; charset=utf-8";
        let lost = matches!(self.body, Content::Lost);
        let body = match self.body {
            Content::None => full(Bytes::new()),
            Content::Json(body) => full(body.to_string()),
            Content::Bytes(of, bytes) => {
                kind = of;
                full(bytes)
            }
            Content::Lost => stream(futures_util::stream::empty()),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert("x-aro-simulated", SIMULATED);
        if lost {
            // The body is shorter than announced: the connection ends.
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("4096"));
        }
        for (name, value) in self
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .chain([("x-ms-request-id", request_id), ("x-ms-correlation-request-id", request_id)])
        {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

/// ARM's error envelope.
pub(super) fn failure(status: StatusCode, code: &str, message: &str) -> ArmResponse {
    ArmResponse::with_body(status, json!({"error": {"code": code, "message": message}}))
}
