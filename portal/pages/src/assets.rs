//! Scripts, styles and pictures.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use portal_session::accepted_encodings::AcceptedEncodings;
use portal_session::fault::Fault;

/// `GET /static/…`: by hash for ever, by name to be asked again.
pub async fn asset(uri: Uri, headers: HeaderMap) -> Result<Response, Fault> {
    let asset = web::assets::get(uri.path()).ok_or_else(Fault::not_found)?;
    let mut response = Response::default();
    let held = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let weak = |tag: &str| tag.trim().trim_start_matches("W/") == asset.etag.trim_start_matches("W/");
    if held.is_some_and(|held| held.split(',').any(weak)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        let accepted = AcceptedEncodings::from_headers(&headers);
        let (bytes, coding) = match (asset.brotli, asset.gzip) {
            (Some(brotli), _) if accepted.brotli => (brotli, Some("br")),
            (_, Some(gzip)) if accepted.gzip => (gzip, Some("gzip")),
            _ => (asset.bytes, None),
        };
        *response.body_mut() = Body::from(bytes);
        if let Some(coding) = coding {
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
    }
    let keep = if asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Ok(response)
}
