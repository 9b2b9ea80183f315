//! Limits the rate at which looks begin: never much above twice the steady load.

use std::time::Duration;

use tokio::time::Instant;

/// Factor above the steady load; with the burst it stays below twice the steady load in any second.
const ABOVE: f64 = 1.75;
/// Lower bound of the rate, for small fleets.
const LEAST: f64 = 2.0;
const MOST_AT_ONCE: f64 = 10.0;

/// A token bucket whose rate follows the number of clusters.
#[derive(Debug)]
pub(super) struct Pace {
    tokens: f64,
    filled: Instant,
}

impl Pace {
    pub(super) const fn new(now: Instant) -> Self {
        Self { tokens: 1.0, filled: now }
    }

    /// Takes a token, or returns when the next one is available.
    pub(super) fn take(&mut self, now: Instant, clusters: usize, interval: Duration) -> Result<(), Instant> {
        #[expect(clippy::cast_precision_loss, reason = "clusters are far fewer than 2^53")]
        let steady = clusters as f64 / interval.as_secs_f64().max(1e-3);
        let rate = (steady * ABOVE).max(LEAST);
        let most = (steady / 5.0).clamp(1.0, MOST_AT_ONCE);
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + passed * rate).min(most);
        self.filled = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        Err(now + Duration::from_secs_f64((1.0 - self.tokens) / rate).max(Duration::from_millis(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backlog_is_worked_off_below_twice_the_steady_load() {
        let start = Instant::now();
        let (mut pace, mut now) = (Pace::new(start), start);
        let mut begun: Vec<Duration> = Vec::new();
        while begun.len() < 2500 {
            match pace.take(now, 2500, Duration::from_secs(60)) {
                Ok(()) => begun.push(now - start),
                Err(at) => now = at,
            }
        }
        let steady = 2500.0 / 60.0;
        for from in 0..begun.len() {
            let second =
                begun[from..].iter().take_while(|at| **at < begun[from] + Duration::from_secs(1)).count();
            assert!(second as f64 <= 2.0 * steady, "{second} looks within a second");
        }
        let took = begun.last().unwrap().as_secs_f64();
        assert!(took < 40.0, "{took} s");
    }

    #[test]
    fn one_cluster_waits_for_nothing() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        assert_eq!(pace.take(start, 1, Duration::from_secs(60)), Ok(()));
        assert_eq!(pace.take(start + Duration::from_secs(60), 1, Duration::from_secs(60)), Ok(()));
    }
}
