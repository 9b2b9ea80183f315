//! How often somebody may do something (`contract/portal.md` "Do better" 41).
//!
//! Each limit lets a minute's worth through at once and refills steadily. Memory is bounded: keys are kept as
//! hashes with a secret of the process, in a space of fixed size.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use rp_metrics::{Counter, Family, Registry, labels, metrics};

/// Keys that are told apart.
const KEYS: u64 = 1 << 20;
/// Checks between two clean-ups of keys that may be forgotten.
const CHECKS: u32 = 16_384;

/// Said no: when to come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too often; try again in {} s", .0.as_secs().max(1))]
pub struct TooOften(pub Duration);

impl TooOften {
    /// For `Retry-After`, in whole seconds, at least one.
    pub fn seconds(self) -> u64 {
        self.0.as_secs() + u64::from(self.0.subsec_nanos() > 0).max(u64::from(self.0.is_zero()))
    }
}

/// One limit over many keys.
#[derive(Debug)]
pub(crate) struct Rate {
    limiter: Option<DefaultKeyedRateLimiter<u64>>,
    secret: RandomState,
    checks: AtomicU32,
}

impl Rate {
    /// `0`: no limit.
    pub(crate) fn per_minute(count: u32) -> Self {
        let limiter = NonZeroU32::new(count).map(|count| RateLimiter::keyed(Quota::per_minute(count)));
        Self { limiter, secret: RandomState::new(), checks: AtomicU32::new(0) }
    }

    pub(crate) fn check(&self, key: impl Hash) -> Result<(), TooOften> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        if self.checks.fetch_add(1, Ordering::Relaxed) % CHECKS == CHECKS - 1 {
            limiter.retain_recent();
        }
        let key = self.secret.hash_one(key) % KEYS;
        limiter.check_key(&key).map_err(|no| TooOften(no.wait_time_from(DefaultClock::default().now())))
    }
}

/// The limits, each per minute; `0`: none.
#[derive(Debug, Clone, Copy)]
pub struct PerMinute {
    /// Sign-ins begun or finished, by address.
    pub sign_in: u32,
    /// Grants, elevations and robots asked for, by person.
    pub issue: u32,
    /// Further tokens and certificates of a grant, by person.
    pub renew: u32,
    /// Tokens and codes that open nothing, by address.
    pub misses: u32,
    /// Streams opened, by grant.
    pub streams: u32,
}

impl Default for PerMinute {
    fn default() -> Self {
        Self { sign_in: 60, issue: 60, renew: 600, misses: 120, streams: 600 }
    }
}

labels! {
    /// What was done too often.
    pub(crate) struct LimitLabels { limit: &'static str }
}

metrics! {
    /// Refusals for haste.
    pub(crate) struct RateMetrics("aro_rate") {
        /// Requests refused because they came too often, by limit.
        pub refused: Family<LimitLabels, Counter> = "refused_total";
    }
}

/// Registers what is counted here.
pub fn register_metrics(registry: &Registry) {
    RateMetrics::register(registry);
}

/// Every limit of one process.
#[derive(Debug)]
pub struct Rates {
    sign_in: Rate,
    issue: Rate,
    renew: Rate,
    misses: Rate,
    streams: Rate,
    metrics: RateMetrics,
}

impl Rates {
    /// Limits that count into `registry`.
    pub fn new(limits: &PerMinute, registry: &Registry) -> Self {
        Self {
            sign_in: Rate::per_minute(limits.sign_in),
            issue: Rate::per_minute(limits.issue),
            renew: Rate::per_minute(limits.renew),
            misses: Rate::per_minute(limits.misses),
            streams: Rate::per_minute(limits.streams),
            metrics: RateMetrics::register(registry),
        }
    }

    /// A step of a sign-in from this address.
    ///
    /// # Errors
    /// Too often.
    pub fn sign_in(&self, from: IpAddr) -> Result<(), TooOften> {
        self.counted("sign_in", self.sign_in.check(network(from)))
    }

    /// Something asked for by the person of this subject.
    ///
    /// # Errors
    /// Too often.
    pub fn issue(&self, sub: &str) -> Result<(), TooOften> {
        self.counted("issue", self.issue.check(sub))
    }

    /// A further token or certificate that the person of this subject asks for.
    ///
    /// # Errors
    /// Too often.
    pub fn renew(&self, sub: &str) -> Result<(), TooOften> {
        self.counted("renew", self.renew.check(sub))
    }

    /// A token or code that opened nothing.
    ///
    /// # Errors
    /// On `Err`, answer with the rate limit instead of what was wrong with the token.
    pub fn miss(&self, from: IpAddr) -> Result<(), TooOften> {
        self.counted("misses", self.misses.check(network(from)))
    }

    /// A stream opened with this grant.
    ///
    /// # Errors
    /// Too often.
    pub fn stream(&self, grant: &str) -> Result<(), TooOften> {
        self.counted("streams", self.streams.check(grant))
    }

    fn counted(&self, limit: &'static str, checked: Result<(), TooOften>) -> Result<(), TooOften> {
        if checked.is_err() {
            self.metrics.refused.with(&LimitLabels { limit }).inc();
        }
        checked
    }
}

/// The network that an address counts as. Anyone who has an IPv6 address mostly has 2^64 of them: those count as one.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_worth_passes_and_keys_do_not_mix() {
        let rates = Rates::new(&PerMinute { misses: 3, ..PerMinute::default() }, &Registry::new());
        let from = |text: &str| text.parse::<IpAddr>().unwrap();
        for _ in 0..3 {
            rates.miss(from("192.0.2.1")).unwrap();
        }
        let no = rates.miss(from("::ffff:192.0.2.1")).unwrap_err();
        assert!((1..=20).contains(&no.seconds()), "{no}");
        rates.miss(from("192.0.2.2")).unwrap();
        for host in 0..3 {
            rates.miss(from(&format!("2001:db8::{host}"))).unwrap();
        }
        assert!(rates.miss(from("2001:db8::ffff")).is_err());
        rates.miss(from("2001:db8:0:1::")).unwrap();
    }

    #[test]
    fn zero_is_no_limit() {
        let rates = Rates::new(&PerMinute { issue: 0, ..PerMinute::default() }, &Registry::new());
        assert!((0..10_000).all(|_| rates.issue("somebody").is_ok()));
    }

    #[test]
    fn waits_are_told_in_whole_seconds() {
        for (millis, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2)] {
            assert_eq!(TooOften(Duration::from_millis(millis)).seconds(), seconds);
        }
    }
}
