//! Queries and bodies of requests, and forms of answers.

use std::borrow::Cow;
use std::fmt;

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use portal_session::fault::Fault;
use portal_session::json::json;
use schemars::JsonSchema;
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

/// The query of a request; one that cannot be read is answered with 400 and the parameter that is wrong.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let read = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        let axum::extract::Query(query) = read.map_err(|rejection| {
            let why = rp_base::text::clean(&rejection.body_text(), 300);
            Fault::bad_input("The query is not what is expected here").why(why)
        })?;
        Ok(Self(query))
    }
}

/// A secret that is shown in this one answer: JSON has its text, nothing else prints it.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct RevealedSecret<'a>(Cow<'a, str>);

impl<'a> RevealedSecret<'a> {
    pub(crate) fn new(text: impl Into<Cow<'a, str>>) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for RevealedSecret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
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
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct Items<T> {
    pub(crate) items: Vec<T>,
    /// How many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<usize>,
    /// For the parameter `continue`; absent at the end of the list.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// Who holds or made something.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Owner {
    /// The subject that the provider knows them by.
    pub(crate) sub: String,
    /// Their account.
    pub(crate) name: String,
}

/// Why something is ended.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(example = serde_json::json!({"why": "the incident is over"}))]
pub struct ReasonRequest {
    /// The reason, for the record.
    pub why: Option<String>,
}
