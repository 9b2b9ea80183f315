//! JSON: the contract's routes (`contract/portal.md` §8) and `/api/v1/…` for scripts and the CLI.

pub(crate) mod audit;
pub(crate) mod cluster_legacy;
pub(crate) mod cluster_objects;
pub(crate) mod clusters;
pub(crate) mod elevations;
pub(crate) mod fleet;
pub(crate) mod grants;
pub(crate) mod import_ssh;
pub(crate) mod imports;
pub(crate) mod info;
pub(crate) mod login;
pub(crate) mod looks;
pub(crate) mod operations;
pub(crate) mod prom;
pub(crate) mod queries;
pub(crate) mod recordings;
pub(crate) mod robots;
mod saved;
pub(crate) mod serial;
pub(crate) mod ssh;
pub(crate) mod terminals;
pub(crate) mod tunnels;
pub(crate) mod views;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::PrettyFormatter;

use crate::fault::Fault;

/// Rows of one answer, at most.
pub(crate) const MOST: usize = 500;

/// JSON as the contract writes it: four spaces, no newline at the end, `<`, `>` and `&` escaped
/// (`contract/portal.md` §4).
pub(crate) fn json(value: &impl Serialize) -> Result<Response, Fault> {
    let mut out = Vec::with_capacity(256);
    let mut serializer =
        serde_json::Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(b"    "));
    value.serialize(&mut serializer).map_err(|_| Fault::internal())?;
    let mut response = Response::new(Body::from(escaped(&out)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// These three bytes stand only in strings, and never inside another character's bytes.
fn escaped(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + 16);
    for byte in json {
        match byte {
            b'<' => out.extend_from_slice(b"\\u003c"),
            b'>' => out.extend_from_slice(b"\\u003e"),
            b'&' => out.extend_from_slice(b"\\u0026"),
            other => out.push(*other),
        }
    }
    out
}

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

/// A list with its end.
#[derive(Debug, Serialize)]
pub(crate) struct Items<T> {
    pub(crate) items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<usize>,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_could_end_a_script() {
        assert_eq!(escaped(br#"{"a":"<b>&"}"#), br#"{"a":"\u003cb\u003e\u0026"}"#);
    }
}
