//! Compression of pages. A page is compressed as a whole before it is
//! sent, so that no encoder stays in memory for a client that does not read.

use std::io::Write as _;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderValue, header};
use http_body::Body as _;
use portal_session::accepted_encodings::AcceptedEncodings;

/// Sizes of pages that are compressed: the upper bound limits the memory that one response holds.
const SIZES: std::ops::RangeInclusive<u64> = 256..=1024 * 1024;

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
            portal_session::fault::Fault::internal().into_response()
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
