//! The queue of one controller: keys that wait for their time. A key is there once, however many events name it; one that
//! is added while it is worked on is worked on again afterwards (`contract/operator.md` §7).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{Backoff, Random};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::metrics::{QueueLabels, QueueMetrics};

/// The wait after the first failure, and the longest one.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1000));
/// Repeats after failures: so many at once, then one in each tenth of a second.
const BURST: u32 = 100;
const REFILL: Duration = Duration::from_millis(100);
/// Keys that wait at most: more objects than this no controller watches.
const MOST_KEYS: usize = 10_000;

/// A queue. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Queue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: &'static str,
    state: Mutex<State>,
    changed: Notify,
    metrics: QueueMetrics,
}

#[derive(Debug)]
struct State {
    waiting: HashMap<String, Instant>,
    failures: HashMap<String, Backoff>,
    /// Repeats that may happen now, and when that was worked out.
    allowance: (f64, Instant),
}

impl Queue {
    /// An empty queue for the controller of that name.
    pub fn new(name: &'static str, metrics: &QueueMetrics) -> Self {
        let state = State {
            waiting: HashMap::new(),
            failures: HashMap::new(),
            allowance: (f64::from(BURST), Instant::now()),
        };
        let (metrics, changed) = (metrics.clone(), Notify::new());
        Self(Arc::new(Inner { name, state: Mutex::new(state), changed, metrics }))
    }

    /// Adds a key that is due now.
    pub fn add(&self, key: &str) {
        self.add_after(key, Duration::ZERO);
    }

    /// Adds a key that is due then; if it waits already, the earlier time holds.
    pub fn add_after(&self, key: &str, wait: Duration) {
        let due = Instant::now() + wait;
        {
            let mut state = self.0.state.lock();
            if let Some(present) = state.waiting.get_mut(key) {
                *present = due.min(*present);
            } else if state.waiting.len() < MOST_KEYS {
                state.waiting.insert(key.to_owned(), due);
                self.0.metrics.adds.with(&self.labels()).inc();
            } else {
                return;
            }
            self.count(&state);
        }
        self.0.changed.notify_one();
    }

    /// The work for a key failed: it is repeated later, each time after a longer wait.
    pub fn failed(&self, key: &str, random: &dyn Random) {
        let wait = {
            let mut state = self.0.state.lock();
            let backoff =
                state.failures.entry(key.to_owned()).or_insert_with(|| Backoff::new(BACK_OFF.0, BACK_OFF.1));
            let wait = backoff.step(random);
            wait.max(state.share())
        };
        self.0.metrics.retries.with(&self.labels()).inc();
        self.add_after(key, wait);
    }

    /// The work for a key was done: the next failure is its first.
    pub fn succeeded(&self, key: &str) {
        self.0.state.lock().failures.remove(key);
    }

    /// Waits for a key that is due, and takes it. Cancel-safe.
    pub async fn next(&self) -> String {
        loop {
            let changed = self.0.changed.notified();
            let next = {
                let mut state = self.0.state.lock();
                let first = state.waiting.iter().min_by_key(|(_, due)| **due);
                let first = first.map(|(key, due)| (key.clone(), *due));
                match first {
                    Some((key, due)) if due <= Instant::now() => {
                        state.waiting.remove(&key);
                        self.count(&state);
                        self.0.metrics.waited.with(&self.labels()).observe_duration(due.elapsed());
                        return key;
                    }
                    first => first.map(|(_, due)| due),
                }
            };
            match next {
                Some(due) => tokio::select! { () = changed => {}, () = sleep_until(due) => {} },
                None => changed.await,
            }
        }
    }

    fn labels(&self) -> QueueLabels {
        QueueLabels { name: self.0.name }
    }

    fn count(&self, state: &State) {
        let now = Instant::now();
        let due = state.waiting.values().filter(|due| **due <= now).count();
        self.0.metrics.depth.with(&self.labels()).set_count(due);
    }
}

impl State {
    /// How long a repeat waits for its share of the rate.
    fn share(&mut self) -> Duration {
        let now = Instant::now();
        let (allowance, since) = self.allowance;
        let refilled = now.duration_since(since).as_secs_f64() / REFILL.as_secs_f64();
        let allowance = (allowance + refilled).min(f64::from(BURST)) - 1.0;
        self.allowance = (allowance, now);
        if allowance >= 0.0 { Duration::ZERO } else { REFILL.mul_f64(-allowance) }
    }
}

#[cfg(test)]
mod tests {
    use rp_base::SystemRandom;
    use rp_metrics::Registry;
    use tokio::time::timeout;

    use super::*;

    fn queue() -> Queue {
        Queue::new("Test", &QueueMetrics::register(&Registry::new()))
    }

    #[tokio::test(start_paused = true)]
    async fn events_of_one_key_are_one_piece_of_work() {
        let queue = queue();
        for key in ["a", "a", "b", "a"] {
            queue.add(key);
        }
        let mut keys = [queue.next().await, queue.next().await];
        keys.sort();
        assert_eq!(keys, ["a", "b"]);
        assert!(timeout(Duration::from_secs(3600), queue.next()).await.is_err());
        queue.add_after("a", Duration::from_secs(60));
        queue.add("a");
        let began = Instant::now();
        queue.next().await;
        assert_eq!(began.elapsed(), Duration::ZERO, "an event does not wait for the next period");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_repeated_ever_later_until_a_success() {
        let queue = queue();
        let mut waits = Vec::new();
        for _ in 0..25 {
            let began = Instant::now();
            queue.failed("a", &SystemRandom);
            queue.next().await;
            waits.push(began.elapsed());
        }
        assert!(waits[0] <= Duration::from_millis(6), "{:?}", waits[0]);
        assert!(
            waits[24] >= Duration::from_secs(500) && waits[24] <= Duration::from_secs(1001),
            "{:?}",
            waits[24]
        );
        queue.succeeded("a");
        let began = Instant::now();
        queue.failed("a", &SystemRandom);
        queue.next().await;
        assert!(began.elapsed() <= Duration::from_millis(6));
    }

    #[tokio::test(start_paused = true)]
    async fn many_failures_are_repeated_at_a_rate() {
        let queue = queue();
        for number in 0..200 {
            queue.failed(&number.to_string(), &SystemRandom);
        }
        let began = Instant::now();
        for _ in 0..200 {
            queue.next().await;
        }
        assert!(began.elapsed() >= Duration::from_secs(9), "{:?}", began.elapsed());
    }
}
