//! Counter, gauge, histogram: cheap clones of shared atomics. `Relaxed` is enough, each is read on its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A number that only grows. Its name ends in `_total`.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    /// One more.
    pub fn inc(&self) {
        self.add(1);
    }

    /// `n` more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// The number.
    pub fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// Sets the number.
    pub fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Relaxed);
    }

    /// Sets a count of things.
    pub fn set_count(&self, count: usize) {
        #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
        self.set(count as f64);
    }

    /// Adds, or with a negative number takes away.
    pub fn add(&self, value: f64) {
        add_float(&self.0, value);
    }

    /// One more until the guard is dropped: requests in flight, open streams.
    #[must_use = "the gauge counts down when the guard is dropped"]
    pub fn track(&self) -> GaugeGuard {
        self.add(1.0);
        GaugeGuard(self.clone())
    }

    /// The number.
    pub fn value(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }
}

/// Counts one in a [`Gauge`] until it is dropped.
#[derive(Debug)]
pub struct GaugeGuard(Gauge);

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.add(-1.0);
    }
}

/// Counts of values at or below fixed bounds, and their sum.
#[derive(Debug, Clone)]
pub struct Histogram(Arc<HistogramInner>);

#[derive(Debug)]
struct HistogramInner {
    bounds: &'static [f64],
    /// One counter per bound, and one for values above all bounds.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// A histogram over ascending upper bounds.
    pub fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(HistogramInner { bounds, counts, sum: AtomicU64::new(0) }))
    }

    /// Counts a value; what is not a number is left out.
    pub fn observe(&self, value: f64) {
        if value.is_nan() {
            return;
        }
        let at = self.0.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.0.counts.get(at) {
            count.fetch_add(1, Relaxed);
        }
        add_float(&self.0.sum, value);
    }

    /// Counts a time, in seconds.
    pub fn observe_duration(&self, took: Duration) {
        self.observe(took.as_secs_f64());
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.0.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// The sum of all values.
    pub fn sum(&self) -> f64 {
        f64::from_bits(self.0.sum.load(Relaxed))
    }

    /// Upper bounds with how many values were at or below them; the last is infinity.
    pub(crate) fn cumulative(&self) -> Vec<(f64, u64)> {
        let mut total = 0;
        let bounds = self.0.bounds.iter().copied().chain([f64::INFINITY]);
        let one = |(bound, count): (f64, &AtomicU64)| {
            total += count.load(Relaxed);
            (bound, total)
        };
        bounds.zip(self.0.counts.iter()).map(one).collect()
    }
}

fn add_float(cell: &AtomicU64, value: f64) {
    let add = |bits| Some((f64::from_bits(bits) + value).to_bits());
    // The closure always returns `Some`, so this never fails.
    let _ = cell.fetch_update(Relaxed, Relaxed, add);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_a_bound_belongs_to_it() {
        let histogram = Histogram::new(&[1.0, 2.0]);
        for value in [0.5, 1.0, 1.5, 9.0, f64::NAN] {
            histogram.observe(value);
        }
        assert_eq!(histogram.cumulative(), [(1.0, 2), (2.0, 3), (f64::INFINITY, 4)]);
        assert!((histogram.sum() - 12.0).abs() < 1e-9);
    }

    #[test]
    fn a_guard_counts_while_it_lives() {
        let gauge = Gauge::default();
        let guard = gauge.track();
        assert!((gauge.value() - 1.0).abs() < f64::EPSILON);
        drop(guard);
        assert!(gauge.value().abs() < f64::EPSILON);
    }

    #[test]
    fn threads_lose_nothing() {
        let (counter, gauge) = (Counter::default(), Gauge::default());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        counter.inc();
                        gauge.add(0.5);
                    }
                });
            }
        });
        assert_eq!(counter.value(), 4000);
        assert!((gauge.value() - 2000.0).abs() < 1e-9);
    }
}
