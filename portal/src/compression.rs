//! Content encodings that a client accepts, and the compression of pages. A page is compressed as a whole before it is
//! sent, so that no encoder stays in memory for a client that does not read.

use std::io::Write as _;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, header};
use http_body::Body as _;

/// Sizes of pages that are compressed: the upper bound limits the memory that one response holds.
const SIZES: std::ops::RangeInclusive<u64> = 256..=1024 * 1024;

/// Content encodings that a client accepts (RFC 9110 §12.5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AcceptedEncodings {
    pub(crate) gzip: bool,
    pub(crate) brotli: bool,
}

impl AcceptedEncodings {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let mut accepted = Self { gzip: false, brotli: false };
        let values = headers.get_all(header::ACCEPT_ENCODING);
        for item in values.iter().flat_map(|value| value.to_str().unwrap_or_default().split(',')) {
            let (name, weight) = item.split_once(';').unwrap_or((item, ""));
            let weight = weight.trim().strip_prefix("q=").and_then(|q| q.parse::<f32>().ok());
            let wanted = weight.is_none_or(|weight| weight > 0.0);
            match name.trim().to_ascii_lowercase().as_str() {
                "gzip" => accepted.gzip = wanted,
                "br" => accepted.brotli = wanted,
                _ => {}
            }
        }
        accepted
    }
}

/// Compresses pages only. Tokens and data are never compressed together with text from outside.
pub(crate) async fn pack(request: Request, next: Next) -> Response {
    let accepted = AcceptedEncodings::from_headers(request.headers());
    let response = next.run(request).await;
    let headers = response.headers();
    let plain = headers.get(header::CONTENT_TYPE).is_some_and(is_page)
        && !headers.contains_key(header::CONTENT_ENCODING)
        && !headers.contains_key(header::CONTENT_RANGE);
    let size = response.body().size_hint().exact();
    if !plain || !size.is_some_and(|size| SIZES.contains(&size)) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    if !accepted.gzip {
        return Response::from_parts(head, body);
    }
    let most = usize::try_from(*SIZES.end()).unwrap_or(usize::MAX);
    match to_bytes(body, most).await.map_err(std::io::Error::other).and_then(|page| gzip(&page)) {
        Ok(packed) => {
            head.headers.remove(header::CONTENT_LENGTH);
            head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            Response::from_parts(head, Body::from(packed))
        }
        Err(error) => {
            tracing::error!(error = %rp_base::chain(&error), "a page could not be packed");
            crate::fault::Fault::internal().into_response()
        }
    }
}

fn is_page(kind: &HeaderValue) -> bool {
    let kind = kind.as_bytes();
    kind.starts_with(b"text/html") || kind.starts_with(b"text/csv") || kind.starts_with(b"text/plain")
}

fn gzip(page: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(page.len() / 4), Compression::default());
    encoder.write_all(page)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_takes_is_read_with_its_weights() {
        for (text, gzip, brotli) in [
            ("", false, false),
            ("gzip", true, false),
            ("gzip, deflate, br, zstd", true, true),
            ("GZIP;q=0, br;q=0.5", false, true),
            ("gzip; q=0.0,x", false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            assert_eq!(
                AcceptedEncodings::from_headers(&headers),
                AcceptedEncodings { gzip, brotli },
                "{text}"
            );
        }
    }
}
