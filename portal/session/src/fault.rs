//! A failed request, before it is rendered as a page, a fragment or JSON (`contract/rules.md` §3.10).

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use rp_base::chain;
use rp_documents::{Side, WireError};
use web::{Failure, Frame};

/// What failed, whose fault it is, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub status: StatusCode,
    /// A stable word for machines.
    pub code: &'static str,
    /// A sentence without a full stop; empty: the status in general words.
    pub what: String,
    /// The cause and its meaning.
    pub why: String,
    pub side: Side,
    /// What to do next, as a sentence.
    pub action: Box<str>,
    /// What to do next: words and address.
    pub links: Vec<(String, String)>,
    /// Seconds until it is worth another try: the header `Retry-After`; 0: not said.
    pub retry_after: u32,
}

impl Fault {
    pub fn new(status: StatusCode, code: &'static str, side: Side, what: impl Into<String>) -> Self {
        Self {
            status,
            code,
            what: what.into(),
            why: String::new(),
            side,
            action: Box::default(),
            links: Vec::new(),
            retry_after: 0,
        }
    }

    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = action.into().into();
        self
    }

    pub fn link(mut self, text: &str, href: impl Into<String>) -> Self {
        self.links.push((text.to_owned(), href.into()));
        self
    }

    /// Where a sign-in begins that would help; scripts read it as `login_url`.
    pub fn login_url(&self) -> Option<&str> {
        self.links.iter().map(|(_, href)| href.as_str()).find(|href| href.starts_with("/api/login?"))
    }

    pub fn retry_after(mut self, wait: std::time::Duration) -> Self {
        self.retry_after = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).max(1);
        self
    }

    /// Too often; `wait` until the next try.
    pub fn too_often(wait: std::time::Duration) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", Side::You, "That was too often")
            .why("There is a limit on how often this may be asked.")
            .action(format!("Try again in {} s.", wait.as_secs().max(1)))
            .retry_after(wait)
    }

    /// Only a status is known.
    pub fn status(status: StatusCode) -> Self {
        let side = if status.is_server_error() { Side::Us } else { Side::You };
        Self::new(status, word(status), side, "")
    }

    /// An internal error of this service.
    pub fn internal() -> Self {
        Self::status(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn not_found() -> Self {
        Self::status(StatusCode::NOT_FOUND)
    }

    pub fn no_cluster() -> Self {
        Self::new(StatusCode::NOT_FOUND, "cluster_not_found", Side::You, "Cluster not found")
            .why("No cluster of this region has this resource ID. It may have been deleted, or live in another region.")
            .action("Search by any part of its name or resource ID.")
            .link("Go to clusters", "/")
    }

    pub fn bad_input(what: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", Side::You, what)
    }

    /// The parameter `continue` is not one that the list gave.
    pub fn bad_cursor() -> Self {
        Self::bad_input("This page of the list cannot be found")
            .why("The cursor is not one that this list gave, or it was cut.")
            .action("Start at the first page.")
    }

    /// The store did not answer; logged here, once.
    pub fn store(error: &rp_database::StoreError) -> Self {
        tracing::error!(error = %chain(error), "store");
        Self::store_away().why("Nothing was changed. It usually answers again within seconds.")
    }

    /// The session could not be written; the session layer has logged it.
    pub fn session_not_stored() -> Self {
        Self::store_away()
            .why("Your session could not be stored. The store usually answers again within seconds.")
    }

    fn store_away() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", Side::Us, "The store did not answer")
            .action("Try again in a moment.")
    }

    /// The audit trail could not be written; logged here, once.
    pub fn audit(error: &rp_audit::AuditError) -> Self {
        tracing::error!(error = %chain(error), "audit");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "audit_unavailable",
            Side::Us,
            "The audit trail cannot be written",
        )
        .why("What cannot be recorded is not done: nothing was changed.")
        .action("Try again in a moment.")
    }

    /// The sentence for people.
    pub fn message(&self) -> String {
        match (self.what.as_str(), self.why.as_str()) {
            ("", "") => self.status.canonical_reason().unwrap_or("The request failed").to_owned(),
            (what, "") => what.to_owned(),
            ("", why) => why.to_owned(),
            (what, why) => format!("{what}: {why}"),
        }
    }

    pub fn wire(&self, request_id: &str) -> WireError {
        WireError {
            code: self.code.to_owned(),
            message: self.message(),
            side: self.side,
            action: self.action.clone().into(),
            request_id: request_id.to_owned(),
        }
    }

    /// For a panel of a page.
    pub fn failure(&self, frame: &Frame) -> Failure {
        let mut failure = web::statuses::general(self.status.as_u16(), frame);
        if !self.what.is_empty() {
            failure.what.clone_from(&self.what);
            failure.why = [self.why.as_str(), &self.action].join(" ").trim().to_owned();
        }
        failure.side = match self.side {
            Side::You => web::Side::You,
            Side::Us => web::Side::Us,
            Side::Cluster => web::Side::Cluster,
        };
        if !self.links.is_empty() {
            failure.actions = self.links.iter().map(|(text, href)| web::Link::new(text, href)).collect();
        }
        failure
    }
}

fn word(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "bad_request",
        401 => "not_signed_in",
        403 => "forbidden",
        404 => "not_found",
        405 => "method_not_allowed",
        413 => "too_large",
        415 => "unsupported_media_type",
        422 => "invalid",
        429 => "too_many_requests",
        500 => "internal",
        502 => "bad_gateway",
        503 => "unavailable",
        504 => "timeout",
        _ => "failed",
    }
}

impl IntoResponse for Fault {
    /// Bare, with the fault in the extensions: the layer that knows the request dresses it.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        if self.retry_after > 0 {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(self.retry_after));
        }
        response.extensions_mut().insert(self);
        response
    }
}
