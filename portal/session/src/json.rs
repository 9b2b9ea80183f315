//! Answers in JSON.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};
use serde::Serialize;
use serde_json::ser::PrettyFormatter;

use crate::fault::Fault;

/// JSON as the contract writes it: four spaces, no newline at the end, `<`, `>` and `&` escaped
/// (`contract/portal.md` §4).
pub fn json(value: &impl Serialize) -> Result<Response, Fault> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_could_end_a_script() {
        assert_eq!(escaped(br#"{"a":"<b>&"}"#), br#"{"a":"\u003cb\u003e\u0026"}"#);
    }
}
