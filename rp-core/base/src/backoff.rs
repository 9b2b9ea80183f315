//! Waiting longer after each failure, with jitter.

use std::time::Duration;

use crate::Random;

/// Exponential back-off with full jitter between half and the whole of the step.
#[derive(Debug, Clone)]
pub struct Backoff {
    next: Duration,
    least: Duration,
    most: Duration,
}

impl Backoff {
    /// Starts at `least`, doubles up to `most`.
    pub const fn new(least: Duration, most: Duration) -> Self {
        Self { next: least, least, most }
    }

    /// How long to wait now.
    pub fn step(&mut self, random: &dyn Random) -> Duration {
        let wait = self.next.mul_f64(0.5 + random.unit() / 2.0);
        self.next = (self.next * 2).min(self.most);
        wait
    }

    /// After a success: start again from the least.
    pub const fn reset(&mut self) {
        self.next = self.least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemRandom;

    #[test]
    fn grows_to_its_limit_and_resets() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        let waits: Vec<_> = (0..6).map(|_| backoff.step(&SystemRandom)).collect();
        assert!(waits[0] >= Duration::from_millis(50) && waits[0] <= Duration::from_millis(100));
        assert!(waits[5] >= Duration::from_millis(500) && waits[5] <= Duration::from_secs(1));
        backoff.reset();
        assert!(backoff.step(&SystemRandom) <= Duration::from_millis(100));
    }
}
