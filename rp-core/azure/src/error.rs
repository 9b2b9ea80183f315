//! What went wrong with a call, by kind.

use std::time::Duration;

use rp_base::text::clean;
use serde_json::Value;

use crate::service_error::ServiceError;

/// Characters of a message of Azure that are kept.
const MOST: usize = 500;

/// Kinds of failure: words of the program, good as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The name of the endpoint has no address.
    Resolve,
    Connect,
    Tls,
    /// No answer, or not the whole answer, before the deadline.
    Timeout,
    /// The connection ended before the answer did.
    Broken,
    /// No token could be had.
    Credential,
    /// Tenant or subscription belong to another cloud.
    Cloud,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 409 and 412.
    Conflict,
    /// 429.
    Throttled,
    /// Another 4xx.
    Refused,
    /// 5xx.
    Server,
    /// Azure took the request, and what it started ended without success.
    Failed,
    /// The answer is not what it should be, or too large.
    Malformed,
    /// We were about to ask something that is no resource id.
    Request,
}

impl ErrorKind {
    /// The word for labels and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Broken => "broken",
            Self::Credential => "credential",
            Self::Cloud => "cloud",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Throttled => "throttled",
            Self::Refused => "refused",
            Self::Server => "server",
            Self::Failed => "failed",
            Self::Malformed => "malformed",
            Self::Request => "request",
        }
    }

    /// Whether there was no HTTP answer at all.
    pub const fn is_transport(self) -> bool {
        matches!(self, Self::Resolve | Self::Connect | Self::Tls | Self::Timeout | Self::Broken)
    }
}

/// A call that failed. Its text has what Azure said, bounded, and never a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {}{}", self.summary(), self.code_and_message())]
pub struct AzureError {
    pub operation: &'static str,
    pub kind: ErrorKind,
    /// HTTP status of the answer; none: there was none.
    pub status: Option<u16>,
    /// Azure's code, such as `AuthorizationFailed`; empty when it told none.
    pub code: String,
    /// Azure's message, cleaned and cut.
    pub message: String,
    /// Azure's id of the request, for a support case.
    pub request_id: String,
    /// When Azure wants to be asked again.
    pub retry_after: Option<Duration>,
    /// [`AzureError::url`] and [`AzureError::service`]; apart, because errors are moved often.
    pub more: Option<Box<ErrorDetails>>,
}

/// What is seldom looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ErrorDetails {
    /// Path of what was asked, without its query.
    pub url: String,
    /// The whole error as Azure told it, bounded: with its details.
    pub service: Option<ServiceError>,
}

impl AzureError {
    /// One without an answer of Azure.
    pub fn new(operation: &'static str, kind: ErrorKind, message: &str) -> Self {
        Self {
            operation,
            kind,
            status: None,
            code: String::new(),
            message: clean(message, MOST),
            request_id: String::new(),
            retry_after: None,
            more: None,
        }
    }

    /// Of an answer that is no success; `body` is ARM's or the token endpoint's envelope, or anything.
    pub(crate) fn from_response(operation: &'static str, status: u16, body: &[u8]) -> Self {
        let (code, message) = envelope(body);
        let kind = match status {
            _ if is_other_cloud(&code) => ErrorKind::Cloud,
            401 => ErrorKind::Unauthorized,
            403 => ErrorKind::Forbidden,
            404 => ErrorKind::NotFound,
            409 | 412 => ErrorKind::Conflict,
            429 => ErrorKind::Throttled,
            400..500 => ErrorKind::Refused,
            _ => ErrorKind::Server,
        };
        let mut error = Self::new(operation, kind, &message);
        (error.status, error.code) = (Some(status), clean(&code, 100));
        error.more().service =
            serde_json::from_slice(body).ok().and_then(|body| ServiceError::from_body(&body));
        error
    }

    /// Of what Azure started and did not bring to success: `error` is the envelope's inside, or nothing.
    pub(crate) fn from_operation(operation: &'static str, state: &str, body: &Value) -> Self {
        let service = ServiceError::from_body(body);
        let (code, message) = service.as_ref().map_or_else(
            || (state.to_owned(), format!("the operation ended as {state}")),
            |told| (told.code.clone(), told.message.clone()),
        );
        let mut error = Self::new(operation, ErrorKind::Failed, &message);
        error.code = clean(&code, 100);
        error.more().service = service;
        error
    }

    pub(crate) fn more(&mut self) -> &mut ErrorDetails {
        self.more.get_or_insert_default()
    }

    /// Path of what was asked, without its query; empty when nothing was.
    pub fn url(&self) -> &str {
        self.more.as_ref().map_or("", |more| &more.url)
    }

    /// The whole error as Azure told it, bounded: with its details.
    pub fn service(&self) -> Option<&ServiceError> {
        self.more.as_ref()?.service.as_ref()
    }

    /// Whether the resource is not there.
    pub fn is_missing(&self) -> bool {
        self.kind == ErrorKind::NotFound
    }

    fn summary(&self) -> String {
        match self.status {
            Some(status) => format!("Azure answered {status}"),
            None => match self.kind {
                ErrorKind::Request => "not asked".to_owned(),
                ErrorKind::Malformed => "Azure's answer cannot be read".to_owned(),
                ErrorKind::Credential => "no token".to_owned(),
                ErrorKind::Failed => "Azure did not finish it".to_owned(),
                kind => format!("no answer from Azure ({})", kind.name()),
            },
        }
    }

    fn code_and_message(&self) -> String {
        let parts = [self.code.as_str(), self.message.as_str()];
        let told: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if told.is_empty() { String::new() } else { format!(": {}", told.join(": ")) }
    }
}

/// Code and message of ARM's `{"error": {"code", "message"}}` or of OAuth's `{"error", "error_description"}`.
fn envelope(body: &[u8]) -> (String, String) {
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return Default::default() };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match &body["error"] {
        Value::String(error) => {
            let told = text(&body["error_description"]);
            let code = told.split(':').next().filter(|code| code.starts_with("AADSTS")).map(str::to_owned);
            (code.unwrap_or_else(|| error.clone()), told)
        }
        // Some providers leave the envelope out; OData has its own.
        Value::Null => match &body["odata.error"] {
            Value::Null => (text(&body["code"]), text(&body["message"])),
            error => (text(&error["code"]), text(&error["message"]["value"])),
        },
        error => (text(&error["code"]), text(&error["message"])),
    }
}

/// Codes by which a cloud says that tenant, token or subscription are not its own.
fn is_other_cloud(code: &str) -> bool {
    matches!(
        code,
        "AADSTS90002"
            | "AADSTS90038"
            | "AADSTS900382"
            | "AADSTS900439"
            | "InvalidAuthenticationTokenAudience"
            | "InvalidAuthenticationTokenTenant"
            | "SubscriptionNotFound"
    )
}
