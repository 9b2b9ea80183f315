//! Bodies of requests, and lists of answers.

use portal_session::fault::Fault;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Rows of one answer, at most.
pub const MOST: usize = 500;

/// A JSON body; none is `{}`.
///
/// # Errors
/// 400: what is wrong with it, where.
pub fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(bytes).map_err(|error| {
        let why = rp_base::text::clean(&error.to_string(), 300);
        Fault::bad_input("The body is not the JSON that is expected here").why(why)
    })
}

/// A list with its end.
#[derive(Debug, Serialize)]
pub struct Items<T> {
    pub items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Who holds or made something.
#[derive(Debug, Serialize)]
pub struct Owner {
    pub sub: String,
    pub name: String,
}

/// Why something is ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ReasonRequest {
    pub why: Option<String>,
}
