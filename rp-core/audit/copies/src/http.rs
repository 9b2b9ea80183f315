//! Lines by HTTP POST.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response};
use rp_base::Secret;

use crate::outlet::{DeliveryError, Line};

/// Bytes of one request, unless one line has more.
const MOST_BYTES: usize = 1 << 20;
/// Lines of one request.
const MOST_LINES: usize = 1000;
/// One request, answer included.
const WAIT: Duration = Duration::from_secs(30);
/// The longest that we wait because the other side asks for it.
const LONGEST_RETRY: u64 = 60;

pub(crate) struct HttpOutlet {
    client: Client,
    url: String,
    token: Option<Arc<Secret<String>>>,
}

impl std::fmt::Debug for HttpOutlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpOutlet").finish_non_exhaustive()
    }
}

impl HttpOutlet {
    pub(crate) const fn new(client: Client, url: String, token: Option<Arc<Secret<String>>>) -> Self {
        Self { client, url, token }
    }

    pub(crate) async fn send(&self, lines: &[Line]) -> Result<(), DeliveryError> {
        let mut left = lines;
        while !left.is_empty() {
            let (now, later) = left.split_at(fitting(left));
            let mut body = String::with_capacity(now.iter().map(|line| line.text.len() + 1).sum());
            for line in now {
                body.push_str(&line.text);
                body.push('\n');
            }
            self.post(body).await?;
            left = later;
        }
        Ok(())
    }

    async fn post(&self, body: String) -> Result<(), DeliveryError> {
        let mut request =
            self.client.post(&self.url).timeout(WAIT).header(CONTENT_TYPE, "application/x-ndjson");
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        // The URL may hold a key: it is not told.
        let answer = request.body(body).send().await.map_err(|error| {
            let why = if error.is_timeout() { "took too long" } else { "could not be reached" };
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            DeliveryError::new(format!("the collector {why}{}", cause.unwrap_or_default()))
        })?;
        if answer.status().is_success() {
            return Ok(());
        }
        let retry_after = retry_after(&answer);
        Err(DeliveryError {
            what: format!("the collector answered {}", answer.status().as_u16()),
            retry_after,
        })
    }
}

fn retry_after(answer: &Response) -> Option<Duration> {
    let seconds: u64 = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds.min(LONGEST_RETRY)))
}

/// How many of the first lines go into one request.
fn fitting(lines: &[Line]) -> usize {
    let mut bytes = 0;
    let more = lines.iter().take(MOST_LINES).skip(1).take_while(|line| {
        bytes += line.text.len();
        bytes <= MOST_BYTES
    });
    more.count() + 1
}
