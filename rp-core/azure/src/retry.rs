//! When a call is made again: two layers, as the contract has them (`contract/backend.md` §10).

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::{Backoff, Random, SharedRandom};

use crate::error::{AzureError, ErrorKind};

/// Passes time; tests pass it without waiting.
#[async_trait]
pub trait Sleep: Send + Sync + fmt::Debug + 'static {
    /// Ends after that time.
    async fn sleep(&self, time: Duration);
}

/// The runtime's timer.
#[derive(Debug, Clone, Copy)]
pub struct RealSleep;

#[async_trait]
impl Sleep for RealSleep {
    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// One request's tries: how often, and how long between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, at least one.
    pub attempts: u32,
    /// Between the first two; doubles up to `most`, with jitter.
    pub first: Duration,
    pub most: Duration,
    /// One try ends after this.
    pub per_try: Duration,
    /// Also repeats what [`Repeat`] would; set where no second layer stands above.
    pub alone: bool,
}

impl RetryPolicy {
    /// The contract's, for steps of an operation that lasts minutes.
    pub const STEPS: Self = Self {
        attempts: 4,
        first: Duration::from_secs(15),
        most: Duration::from_mins(1),
        per_try: Duration::from_mins(10),
        alone: false,
    };
    /// For pages and looks, which end within a minute.
    pub const QUICK: Self = Self {
        attempts: 3,
        first: Duration::from_millis(500),
        most: Duration::from_secs(4),
        per_try: Duration::from_mins(1),
        alone: true,
    };
    /// For AppLens: three repeats, three seconds before the first (`contract/frontend.md` §8.3).
    pub const DIAGNOSES: Self = Self {
        attempts: 4,
        first: Duration::from_secs(3),
        most: Duration::from_secs(12),
        per_try: Duration::from_secs(30),
        alone: true,
    };
    /// One try.
    pub const NONE: Self = Self {
        attempts: 1,
        first: Duration::ZERO,
        most: Duration::ZERO,
        per_try: Duration::from_mins(10),
        alone: true,
    };

    pub(crate) const fn backoff(&self) -> Backoff {
        Backoff::new(self.first, self.most)
    }
}

/// How long to wait before another try; `None`: it would fail the same way, or the last try is done. A
/// `Retry-After` takes the place of our own delay.
pub(crate) fn wait(
    policy: &RetryPolicy,
    tried: u32,
    error: &AzureError,
    backoff: &mut Backoff,
    random: &dyn Random,
) -> Option<Duration> {
    let again = is_transient(error) || (policy.alone && is_retryable(error));
    if tried >= policy.attempts || !again {
        return None;
    }
    let own = backoff.step(random);
    Some(error.retry_after.unwrap_or(own))
}

/// First layer: transport errors, 408, 429, 500, 502, 503, 504, and 409 with `Retry-After`.
pub(crate) fn is_transient(error: &AzureError) -> bool {
    match error.status {
        Some(408 | 429 | 500 | 502 | 503 | 504) => true,
        Some(409) => error.retry_after.is_some(),
        Some(_) => false,
        // A name or a certificate does not change within seconds.
        None => error.kind.is_transport() && !matches!(error.kind, ErrorKind::Tls),
    }
}

/// Second layer: 429, 409 that asks for it, and the texts by which Azure says that it may go away.
pub(crate) fn is_retryable(error: &AzureError) -> bool {
    let status = match error.status {
        Some(429) => true,
        Some(409) => error.retry_after.is_some() || error.has_text("Please retry later"),
        _ => error.has_code("TooManyRequests"),
    };
    // A secret or certificate that was just made is not known everywhere yet.
    status || ["AADSTS7000215", "AADSTS7000216", "RetryableError"].iter().any(|text| error.has_text(text))
}

/// Repeats of a whole call with its answer, above [`RetryPolicy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// Tries in all, at least one.
    pub attempts: u32,
    /// Before the second, third, and every further try; ±10 %.
    pub delays: [Duration; 3],
    /// 403 is repeated as well: roles that were just given spread slowly.
    pub forbidden: bool,
}

impl Repeat {
    /// The contract's wrapper.
    pub const STEPS: Self = Self {
        attempts: 4,
        delays: [Duration::from_secs(15), Duration::from_secs(30), Duration::from_mins(1)],
        forbidden: false,
    };
    /// For what reads by rights that were given a moment ago.
    pub const RBAC: Self = Self { attempts: 12, forbidden: true, ..Self::STEPS };
    /// One try.
    pub const NONE: Self = Self { attempts: 1, delays: [Duration::ZERO; 3], forbidden: false };

    fn delay(&self, tried: u32, error: &AzureError, random: &dyn Random) -> Duration {
        let step = usize::try_from(tried).unwrap_or(usize::MAX).saturating_sub(1);
        let own = self.delays.get(step).or(self.delays.last()).copied().unwrap_or_default();
        error.retry_after.unwrap_or_else(|| own.mul_f64(0.9 + random.unit() * 0.2))
    }

    fn takes(&self, error: &AzureError) -> bool {
        is_retryable(error) || (self.forbidden && error.kind == ErrorKind::Forbidden)
    }
}

/// What repeating needs: time and chance.
#[derive(Debug, Clone)]
pub struct Retrier {
    pub sleep: Arc<dyn Sleep>,
    pub random: SharedRandom,
}

impl Retrier {
    /// Makes a call until it succeeds or the policy has enough. Dropping the future ends it.
    ///
    /// # Errors
    /// The last one.
    pub async fn repeat<T, F: Future<Output = Result<T, AzureError>>>(
        &self,
        policy: Repeat,
        what: &str,
        mut call: impl FnMut() -> F,
    ) -> Result<T, AzureError> {
        let mut tried = 1;
        loop {
            let error = match call().await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            if tried >= policy.attempts || !policy.takes(&error) {
                return Err(error);
            }
            let wait = policy.delay(tried, &error, &*self.random);
            tracing::warn!(retry_after = wait.as_secs(), "error on {what}, retrying: {error}");
            self.sleep.sleep(wait).await;
            tried += 1;
        }
    }
}
