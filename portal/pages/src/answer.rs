//! Answers with a page, a part of one, or a way to another.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use portal_session::context::Context;
use portal_session::fault::Fault;
use portal_session::flash;
use web::{PageFragment, View};

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
