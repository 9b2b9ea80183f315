//! `application/x-www-form-urlencoded`, as queries and bodies have it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// RFC 3986 unreserved characters stay.
const KEEP: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Pairs of a query string or body, decoded; what is no UTF-8 is replaced.
pub(crate) fn pairs(text: &[u8]) -> impl Iterator<Item = (String, String)> + '_ {
    url::form_urlencoded::parse(text).map(|(name, value)| (name.into_owned(), value.into_owned()))
}

/// The other way round.
pub(crate) fn encode<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        if !out.is_empty() {
            out.push('&');
        }
        out.extend(utf8_percent_encode(name, &KEEP));
        out.push('=');
        out.extend(utf8_percent_encode(value, &KEEP));
    }
    out
}

/// One segment of a path.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, &KEEP).to_string()
}
