//! Content encodings that a client accepts.

use http::{HeaderMap, header};

/// Content encodings that a client accepts (RFC 9110 §12.5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedEncodings {
    pub gzip: bool,
    pub brotli: bool,
}

impl AcceptedEncodings {
    pub fn from_headers(headers: &HeaderMap) -> Self {
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

#[cfg(test)]
mod tests {
    use http::HeaderValue;

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
