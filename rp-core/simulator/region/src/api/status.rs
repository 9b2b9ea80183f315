//! Refusals as Kubernetes `Status` objects.

use hyper::{Response, StatusCode};
use rp_simulator::body::Body;
use rp_simulator::objects::Kind;
use serde_json::{Value, json};

use super::json_answer;

/// A failed request, returned as a `Status`.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    reason: &'static str,
    message: String,
    details: Value,
}

impl Failure {
    fn new(status: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { status, reason, message: message.into(), details: Value::Null }
    }

    /// 400.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 403.
    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
    }

    /// 404 of a path.
    pub(super) fn no_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
    }

    /// 404 of an object.
    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        let name = rp_base::text::clean(name, 253);
        let full = if kind.group.is_empty() {
            kind.plural.to_owned()
        } else {
            format!("{}.{}", kind.plural, kind.group)
        };
        let mut failure =
            Self::new(StatusCode::NOT_FOUND, "NotFound", format!("{full} \"{name}\" not found"));
        failure.details = json!({"name": name, "group": kind.group, "kind": kind.plural});
        failure
    }

    /// 405 of every write.
    pub(super) fn read_only() -> Self {
        let why = "this cluster is simulated: it answers reads, and nothing in it can be changed";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", why)
    }

    /// 409: it is there.
    pub(super) fn exists(kind: &Kind, name: &str) -> Self {
        let why = format!("{} \"{}\" already exists", kind.full(), rp_base::text::clean(name, 253));
        Self::new(StatusCode::CONFLICT, "AlreadyExists", why)
    }

    /// 405 of what a simulated cluster has not.
    pub(super) fn not_simulated() -> Self {
        let why = "this cluster is simulated: it does not have this";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", why)
    }

    /// 410 of a continue token that is not ours.
    pub(super) fn expired() -> Self {
        Self::new(StatusCode::GONE, "Expired", "The provided continue parameter is too old or not valid.")
    }

    /// 413.
    pub(super) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", "the request is too large")
    }

    /// The answer.
    pub(super) fn answer(self) -> Response<Body> {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.status.as_u16(),
        });
        if !self.details.is_null() {
            status["details"] = self.details;
        }
        json_answer(self.status, &status)
    }
}
