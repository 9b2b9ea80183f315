//! HTTP statuses in words (RFC 9110), for when nothing better is known.

use crate::frame::Frame;
use crate::parts::{Failure, Link, Side};

/// Statuses that have words of their own.
pub const KNOWN: [u16; 13] = [400, 401, 403, 404, 405, 413, 422, 429, 500, 502, 503, 504, 431];

/// "404 Not Found"; a number alone where it is not known.
#[must_use]
pub fn words(status: u16) -> String {
    let phrase = match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => return status.to_string(),
    };
    format!("{status} {phrase}")
}

/// A failure in general words.
#[must_use]
pub fn general(status: u16, frame: &Frame) -> Failure {
    let (side, what, why) = sentences(status);
    let retry = Link::new("Try again", if frame.path.is_empty() { "/" } else { &frame.path });
    let home = Link::new("Go to clusters", "/");
    let actions = match status {
        401 => vec![Link::new("Sign in", "/api/login"), home],
        429 | 500 | 502 | 503 | 504 => vec![retry, home],
        _ => vec![home],
    };
    Failure {
        status,
        what: what.into(),
        why: why.into(),
        side,
        actions,
        request_id: frame.request_id.clone(),
    }
}

fn sentences(status: u16) -> (Side, &'static str, &'static str) {
    match status {
        400 => (
            Side::You,
            "The request could not be read",
            "Something in the address or in what was sent is not as it must be. Nothing was changed.",
        ),
        401 => (
            Side::You,
            "You are not signed in",
            "Your session has ended or never began. Sign in, and you come back to this page.",
        ),
        403 => (
            Side::You,
            "You may not do this",
            "Your groups do not allow it, or the page was open for too long and its form is no longer valid. Reload the page and try again; if it stays, ask for the group that allows it.",
        ),
        404 => (
            Side::You,
            "There is nothing here",
            "The address is mistyped, or what it named is gone. Search finds clusters by any part of their name or resource ID.",
        ),
        405 => (
            Side::You,
            "This address does not work that way",
            "It exists, but not for this kind of request. If a link or button of ours led here, tell us.",
        ),
        413 => (
            Side::You,
            "That is too much to send",
            "What was sent is larger than this service takes. Nothing was changed.",
        ),
        422 => (
            Side::You,
            "Something in the form is not right",
            "Go back: the fields in question say what would be right. Nothing was changed.",
        ),
        429 => (
            Side::You,
            "Too many requests",
            "You, or a script of yours, asked more often than this service allows. It counts anew within a minute.",
        ),
        431 => (
            Side::You,
            "The request's headers are too large",
            "Often too many cookies of this host: clear them and sign in again.",
        ),
        502 => (
            Side::Cluster,
            "The cluster gave no proper answer",
            "A connection was made, but what came back was not an answer. Other clusters are not affected.",
        ),
        503 => (
            Side::Us,
            "This service cannot answer now",
            "It starts, stops, or its store is away. We know and are on it; nothing was changed.",
        ),
        504 => (
            Side::Cluster,
            "The cluster did not answer in time",
            "It did not answer within the time we wait. Other clusters are not affected.",
        ),
        500 => (
            Side::Us,
            "Something broke on our side",
            "It was written down with the request ID below. Whether anything was changed is in the audit.",
        ),
        other if other < 500 => (Side::You, "The request was refused", "Nothing was changed."),
        _ => (Side::Us, "Something broke on our side", "It was written down with the request ID below."),
    }
}
