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

    /// 405 of a method that a path does not take.
    pub(super) fn read_only() -> Self {
        let why = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", why)
    }

    /// 404 of the namespace in which an object is to be made.
    pub(super) fn no_namespace(name: &str) -> Self {
        let name = rp_base::text::clean(name, 253);
        let why = format!("namespaces \"{name}\" not found");
        let mut failure = Self::new(StatusCode::NOT_FOUND, "NotFound", why);
        failure.details = json!({"name": name, "kind": "namespaces"});
        failure
    }

    /// 409: the version that a client names is not the newest one, or an object of another uid is meant.
    pub(super) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let name = rp_base::text::clean(name, 253);
        let why = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.full());
        let mut failure = Self::new(StatusCode::CONFLICT, "Conflict", why);
        failure.details = json!({"name": name, "group": kind.group, "kind": kind.plural});
        failure
    }

    /// 422: a field of an object has a value that it may not have.
    pub(super) fn invalid(kind: &str, name: &str, why: &str) -> Self {
        let name = rp_base::text::clean(name, 253);
        let why = format!("{kind} \"{name}\" is invalid: {}", rp_base::text::clean(why, 1000));
        let mut failure = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", why);
        failure.details = json!({"name": name, "kind": kind});
        failure
    }

    /// 422: a patch cannot be applied to the object.
    pub(super) fn unprocessable(why: impl Into<String>) -> Self {
        let why = format!("the server rejected our request due to an error in our request: {}", why.into());
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", why)
    }

    /// 415: the body has a form that is not read here.
    pub(super) fn media_type(known: &[&str]) -> Self {
        let why = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            known.join(", ")
        );
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", why)
    }

    /// 406: no form that the client accepts can be given.
    pub(super) fn not_acceptable() -> Self {
        let why = "only the following media types are accepted: application/json";
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", why)
    }

    /// 403: the cluster has no room for another object.
    pub(super) fn quota(kind: &Kind, name: &str) -> Self {
        let why = format!(
            "{} \"{}\" is forbidden: exceeded quota: simulated, limited: {} objects and {} bytes that clients wrote",
            kind.full(),
            rp_base::text::clean(name, 253),
            rp_simulator::written::MOST_OBJECTS,
            rp_simulator::written::MOST_BYTES,
        );
        Self::forbidden(why)
    }

    /// 410: changes since that resource version are no longer known.
    pub(super) fn too_old(version: u64, current: u64) -> Self {
        let why = format!("too old resource version: {version} ({current})");
        Self::new(StatusCode::GONE, "Expired", why)
    }

    /// 504: the client names a resource version that does not exist yet.
    pub(super) fn too_new(version: u64, current: u64) -> Self {
        let why = format!("Too large resource version: {version}, current: {current}");
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", why)
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
        let code = self.status;
        json_answer(code, &self.object())
    }

    /// The `Status` object.
    pub(super) fn object(self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.status.as_u16(),
        });
        if !self.details.is_null() {
            status["details"] = self.details;
        }
        status
    }
}
