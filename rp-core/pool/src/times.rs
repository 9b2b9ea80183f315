//! Intervals of a pool (`contract/monitor.md` §2).

use std::time::Duration;

const MOST_INTERVAL: Duration = Duration::from_secs(45);
const MOST_TTL: Duration = Duration::from_secs(60);

/// Intervals and lifetimes. The default is the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolTimes {
    /// Interval between two passes of the loop.
    pub interval: Duration,
    /// How long a worker counts as alive after its last heartbeat.
    pub ttl: Duration,
    /// How long the master's lease lasts after a renewal.
    pub lease: Duration,
}

impl Default for PoolTimes {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(10),
            ttl: Duration::from_secs(60),
            lease: Duration::from_secs(60),
        }
    }
}

impl PoolTimes {
    /// Applies the contract's bounds: a live worker must never look dead. Larger values are reduced and logged.
    #[must_use]
    pub fn capped(self) -> Self {
        let ttl = cap("worker TTL", self.ttl, MOST_TTL);
        let most = MOST_INTERVAL.min(ttl * 3 / 4);
        Self { interval: cap("bucket interval", self.interval, most), ttl, lease: self.lease }
    }
}

fn cap(what: &str, told: Duration, most: Duration) -> Duration {
    if told > most {
        tracing::error!(
            told_ms = told.as_millis(),
            most_ms = most.as_millis(),
            "the {what} is too long and was cut"
        );
    }
    told.min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(interval: u64, ttl: u64) -> (u64, u64) {
        let told = PoolTimes {
            interval: Duration::from_secs(interval),
            ttl: Duration::from_secs(ttl),
            lease: Duration::from_secs(60),
        };
        let cut = told.capped();
        (cut.interval.as_secs(), cut.ttl.as_secs())
    }

    #[test]
    fn what_the_contract_allows() {
        assert_eq!(PoolTimes::default(), PoolTimes::default().capped());
        assert_eq!(seconds(10, 60), (10, 60));
        assert_eq!(seconds(50, 60), (45, 60));
        assert_eq!(seconds(45, 40), (30, 40));
        assert_eq!(seconds(10, 300), (10, 60));
    }
}
