//! One attempt: a request to a receiver, and what its answer means. Of an answer the status and `Retry-After` are read,
//! never the body, however long it is.

use std::error::Error as _;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use rp_base::{Timestamp, text};
use rp_documents::Notification;
use url::Url;

use crate::options::Destination;
use crate::shapes::{self, Message};
use crate::{ID, SIGNATURE, Shape, TIMESTAMP, signature};

/// The longest wait that a receiver may ask for.
const LONGEST_RETRY: Duration = Duration::from_secs(600);
/// Characters of a cause.
const CAUSE: usize = 200;

/// Why a notification was not taken. No address and no secret is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The receiver is away: nobody answers, or it says that it cannot take anything now.
    Away { what: String, retry_after: Option<Duration> },
    /// It answered this notification with an error.
    Error { what: String },
    /// It does not take this notification, however often it comes.
    Refused { what: String },
}

impl Fault {
    pub(crate) fn what(&self) -> &str {
        match self {
            Self::Away { what, .. } | Self::Error { what } | Self::Refused { what } => what,
        }
    }
}

/// Sends a notification once.
pub(crate) async fn send(
    destination: &Destination,
    notification: &Notification,
    portal: &Url,
    now: Timestamp,
) -> Result<(), Fault> {
    let away = |what: String| Fault::Away { what, retry_after: None };
    if let Some(ip) = destination.endpoint.literal() {
        destination.addresses.check(ip).map_err(|barred| away(barred.to_string()))?;
    }
    let body = shapes::body(&destination.shape, Message { notification, portal }).to_string();
    let mut request = destination
        .client
        .post(destination.endpoint.url().expose())
        .header(CONTENT_TYPE, "application/json")
        .header(ID, &notification.id);
    if let Shape::Webhook(Some(key)) = &destination.shape {
        request =
            request.header(TIMESTAMP, now.seconds()).header(SIGNATURE, signature(key, now, body.as_bytes()));
    }
    let answer = request.body(body).send().await.map_err(|error| away(cause(error)))?;
    judge(answer.status(), || {
        let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(LONGEST_RETRY))
    })
}

/// What an answer means.
fn judge(status: StatusCode, retry_after: impl FnOnce() -> Option<Duration>) -> Result<(), Fault> {
    let what = format!("the receiver answered {}", status.as_u16());
    match status.as_u16() {
        200..=299 => Ok(()),
        408 | 425 | 429 | 502..=504 => Err(Fault::Away { what, retry_after: retry_after() }),
        300..=399 => Err(Fault::Error { what: format!("{what}, a redirect, which is not followed") }),
        400 | 413 | 415 | 422 => Err(Fault::Refused { what }),
        _ => Err(Fault::Error { what }),
    }
}

/// Why nobody answered: the innermost cause. The address may hold a key, and is not told.
fn cause(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "the receiver took too long".to_owned();
    }
    let error = error.without_url();
    let mut innermost = error.source();
    while let Some(deeper) = innermost.and_then(|cause| cause.source()) {
        innermost = Some(deeper);
    }
    let cause = innermost.map(|cause| format!(": {}", text::clean(&cause.to_string(), CAUSE)));
    format!("the receiver could not be reached{}", cause.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_whether_to_try_again() {
        let judge =
            |status: u16| judge(StatusCode::from_u16(status).unwrap(), || Some(Duration::from_secs(7)));
        assert_eq!(judge(204), Ok(()));
        assert!(matches!(judge(429), Err(Fault::Away { retry_after: Some(_), .. })));
        assert!(matches!(judge(503), Err(Fault::Away { .. })));
        assert!(matches!(judge(400), Err(Fault::Refused { .. })));
        for status in [302, 401, 403, 404, 410, 500] {
            assert!(matches!(judge(status), Err(Fault::Error { .. })), "{status}");
        }
    }
}
