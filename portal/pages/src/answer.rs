//! Answers with a page, a part of one, or a way to another.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use portal_session::context::{Context, ResponseKind};
use portal_session::fault::Fault;
use portal_session::flash;
use portal_session::json::json;
use rp_documents::WireError;
use web::{Frame, PageFragment, SoloPage, View};

/// Rows of a list on one page.
pub const PAGE: usize = 50;

/// A page, or the part that was asked for.
pub fn answer(context: &Context, status: StatusCode, page: &(impl View + ?Sized)) -> Result<Response, Fault> {
    let text = page.render(context.part).map_err(|error| {
        tracing::error!(error = %error, "a page could not be rendered");
        Fault::internal()
    })?;
    let mut response = html(text);
    *response.status_mut() = status;
    let vary = "HX-Request, HX-Target, HX-History-Restore-Request, Cookie";
    response.headers_mut().insert(header::VARY, HeaderValue::from_static(vary));
    if context.flash.is_some() && context.part == PageFragment::Page {
        flash::clear_cookie(&mut response);
    }
    Ok(response)
}

/// A part of a page that is as the asker has it.
pub fn unchanged() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// To another page of ours, by GET.
pub fn see_other(path: &str) -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SEE_OTHER;
    let location = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, location);
    response
}

/// An HTML body.
pub fn html(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A failed request in the form that was asked for: page, fragment or JSON.
pub fn failure(fault: &Fault, context: &Context, frame: Frame) -> Response {
    let mut response = match context.wants {
        ResponseKind::Json => failure_json(fault, context.id.as_str()),
        ResponseKind::Page | ResponseKind::Fragment => failure_page(fault, frame, context.part),
    };
    *response.status_mut() = fault.status;
    response
}

fn failure_json(fault: &Fault, request_id: &str) -> Response {
    #[derive(serde::Serialize)]
    struct Wire<'a> {
        #[serde(flatten)]
        error: WireError,
        #[serde(skip_serializing_if = "Option::is_none")]
        login_url: Option<&'a str>,
    }
    json(&Wire { error: fault.wire(request_id), login_url: fault.login_url() }).unwrap_or_default()
}

fn failure_page(fault: &Fault, frame: Frame, part: PageFragment) -> Response {
    let failure = fault.failure(&frame);
    html(SoloPage::failure(frame, failure).render(part).unwrap_or_default())
}
