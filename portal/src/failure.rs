//! The answer to a request that failed.

use axum::response::Response;
use portal_pages::answer::html;
use portal_session::context::{Context, ResponseKind};
use portal_session::fault::Fault;
use portal_session::json::json;
use rp_documents::WireError;
use schemars::JsonSchema;
use serde::Serialize;
use web::{Frame, PageFragment, SoloPage, View as _};

/// A failed request in the form that was asked for: page, fragment or JSON.
pub(crate) fn failure(fault: &Fault, context: &Context, frame: Frame) -> Response {
    let mut response = match context.wants {
        ResponseKind::Json => failure_json(fault, context.id.as_str()),
        ResponseKind::Page | ResponseKind::Fragment => failure_page(fault, frame, context.part),
    };
    *response.status_mut() = fault.status;
    response
}

/// The error of any route of the JSON API.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorAnswer<'a> {
    #[serde(flatten)]
    error: WireError,
    /// Where a sign-in begins that would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    login_url: Option<&'a str>,
}

fn failure_json(fault: &Fault, request_id: &str) -> Response {
    json(&ErrorAnswer { error: fault.wire(request_id), login_url: fault.login_url() }).unwrap_or_default()
}

fn failure_page(fault: &Fault, frame: Frame, part: PageFragment) -> Response {
    let failure = fault.failure(&frame);
    html(SoloPage::failure(frame, failure).render(part).unwrap_or_default())
}
