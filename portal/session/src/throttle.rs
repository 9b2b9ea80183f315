//! Rate limits for anonymous callers: fixed windows, per key and in total, in this process alone.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::Timestamp;

const WINDOW: Duration = Duration::from_secs(60);

/// Counts within a minute. The table holds at most as many keys as all may ask.
#[derive(Debug)]
pub struct Throttle {
    by_key: u32,
    over_all: u32,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    since: Timestamp,
    all: u32,
    keys: HashMap<String, u32>,
}

impl Throttle {
    /// So many a minute.
    pub fn new(by_key: u32, over_all: u32) -> Self {
        Self { by_key, over_all, counts: Mutex::default() }
    }

    /// Counts one.
    ///
    /// # Errors
    /// Too many; how long to wait.
    pub fn count(&self, key: &str, now: Timestamp) -> Result<(), Duration> {
        let mut counts = self.counts.lock();
        if now.since(counts.since) >= WINDOW {
            *counts = Counts { since: now, ..Counts::default() };
        }
        let used = counts.keys.get(key).copied().unwrap_or(0);
        if counts.all >= self.over_all || used >= self.by_key {
            return Err(WINDOW.saturating_sub(now.since(counts.since)));
        }
        counts.all += 1;
        counts.keys.insert(key.to_owned(), used + 1);
        Ok(())
    }
}

/// The key of an address: one host of IPv4, one network of IPv6, which a single host has to itself.
pub fn network(from: IpAddr) -> String {
    match from.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_bounded_by_key_and_over_all() {
        let throttle = Throttle::new(2, 3);
        let now = Timestamp::from_seconds(1_000_000);
        assert!(throttle.count("a", now).is_ok() && throttle.count("a", now).is_ok());
        assert_eq!(throttle.count("a", now), Err(WINDOW));
        assert!(throttle.count("b", now).is_ok());
        assert_eq!(throttle.count("c", now + Duration::from_secs(20)), Err(Duration::from_secs(40)));
        assert!(throttle.count("a", now + WINDOW).is_ok());
    }

    #[test]
    fn neighbours_of_ipv6_count_together() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
