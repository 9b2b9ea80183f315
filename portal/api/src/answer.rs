//! Bodies of requests, and forms of answers.

use axum::response::Response;
use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::json::json;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Rows of one answer, at most.
pub(crate) const MOST: usize = 500;

/// A JSON body; none is `{}`.
///
/// # Errors
/// 400: what is wrong with it, where.
pub(crate) fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes).map_err(|error| {
        let why = rp_base::text::clean(&error.to_string(), 300);
        Fault::bad_input("The body is not the JSON that is expected here").why(why)
    })
}

/// 201, with what was made.
///
/// # Errors
/// It cannot be written as JSON.
pub(crate) fn created(made: &impl Serialize) -> Result<Response, Fault> {
    let mut response = json(made)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// 204: it is not there any more.
pub(crate) fn removed() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// A list with its end.
#[derive(Debug, Serialize)]
pub(crate) struct Items<T> {
    pub(crate) items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<usize>,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// Who holds or made something.
#[derive(Debug, Serialize)]
pub(crate) struct Owner {
    pub(crate) sub: String,
    pub(crate) name: String,
}

/// Why something is ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ReasonRequest {
    pub why: Option<String>,
}
