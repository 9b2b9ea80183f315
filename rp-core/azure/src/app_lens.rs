//! AppLens, which diagnoses clusters (`contract/frontend.md` §8.3): one address that takes every question in
//! headers.

use std::fmt;

use async_trait::async_trait;
use http::Method;
use http::header::{HeaderName, HeaderValue};
use rp_base::{SharedClock, SharedRandom, Timestamp};
use serde_json::Value;

use crate::arm::{Arm, HttpRequest};
use crate::cloud::Audience;
use crate::error::{AzureError, ErrorKind};
use crate::token::TokenScope;
use crate::transport::CallName;

const INVOKE: CallName = CallName { client: "applens", operation: "post", shown: "ask for a diagnosis" };

/// Largest diagnosis, bytes.
const MOST: usize = 4 * 1024 * 1024;

/// Asks for diagnoses.
#[async_trait]
pub trait DiagnosisClient: Send + Sync + fmt::Debug + 'static {
    /// What AppLens says to `{cluster}/detectors[/{id}]`; `None`: there is no such thing.
    ///
    /// # Errors
    /// [`AzureError`].
    async fn diagnose(&self, path: &str) -> Result<Option<Value>, AzureError>;
}

/// [`DiagnosisClient`] by one credential.
#[derive(Clone)]
pub struct AppLens {
    arm: Arm,
    clock: SharedClock,
    random: SharedRandom,
}

impl fmt::Debug for AppLens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppLens").finish_non_exhaustive()
    }
}

impl AppLens {
    /// Asks as that application; `None`: the cloud has no AppLens.
    pub fn new(arm: Arm, clock: SharedClock, random: SharedRandom) -> Option<Self> {
        arm.endpoints().diagnosis.is_some().then_some(Self { arm, clock, random })
    }

    /// The question: everything of it is in headers.
    fn headers(&self, path: &str) -> Result<Vec<(HeaderName, HeaderValue)>, AzureError> {
        let not = |_| AzureError::new(INVOKE.shown, ErrorKind::Request, "this is no resource id");
        let id = self.random.uuid().to_string();
        let told = [
            ("x-ms-path-query", path.to_owned()),
            ("x-ms-verb", "POST".to_owned()),
            ("x-ms-date", http_date(self.clock.now())),
            ("x-ms-request-id", id.clone()),
            ("x-ms-client-request-id", id),
        ];
        let header = |(name, value): (&'static str, String)| {
            Ok((HeaderName::from_static(name), value.parse().map_err(not)?))
        };
        told.into_iter().map(header).collect()
    }
}

/// RFC 9110 §5.6.7.
fn http_date(at: Timestamp) -> String {
    let at = at.to_datetime();
    let short = |word: String| word.chars().take(3).collect::<String>();
    let (day, month) = (short(at.weekday().to_string()), short(at.month().to_string()));
    let (hour, minute, second) = (at.hour(), at.minute(), at.second());
    format!("{day}, {:02} {month} {} {hour:02}:{minute:02}:{second:02} GMT", at.day(), at.year())
}

#[async_trait]
impl DiagnosisClient for AppLens {
    async fn diagnose(&self, path: &str) -> Result<Option<Value>, AzureError> {
        let no = || AzureError::new(INVOKE.shown, ErrorKind::Cloud, "the cloud has no AppLens");
        let place = self.arm.endpoints().diagnosis.as_ref().ok_or_else(no)?;
        let http_request = HttpRequest {
            name: INVOKE,
            scope: Some(TokenScope { tenant: &place.tenant, audience: Audience::Diagnosis }),
            method: Method::POST,
            url: place.url.clone(),
            headers: self.headers(path)?,
            body: None,
        };
        let malformed = |words| AzureError::new(INVOKE.shown, ErrorKind::Malformed, words);
        match self.arm.exchange(&http_request).await {
            Ok(answer) if answer.body.len() > MOST => Err(malformed("the diagnosis is too large")),
            Ok(answer) => serde_json::from_slice(&answer.body).map(Some).map_err(|_| malformed("")),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_http() {
        assert_eq!(http_date(Timestamp::from_seconds(784_111_777)), "Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
