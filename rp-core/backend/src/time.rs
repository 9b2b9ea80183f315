//! An estimate of the store's clock, from its last answer.

use std::sync::Arc;

use parking_lot::Mutex;
use rp_base::Timestamp;
use tokio::time::Instant;

/// An estimate that every write and every poll corrects. A cheap clone.
#[derive(Debug, Clone)]
pub(crate) struct StoreTime(Arc<Mutex<(Timestamp, Instant)>>);

impl StoreTime {
    /// Starts at the given time, until the store answers.
    pub(crate) fn new(at: Timestamp) -> Self {
        Self(Arc::new(Mutex::new((at, Instant::now()))))
    }

    pub(crate) fn now(&self) -> Timestamp {
        let (at, read) = *self.0.lock();
        at + read.elapsed()
    }

    /// Sets the time that the store returned just now.
    pub(crate) fn set(&self, now: Timestamp) {
        *self.0.lock() = (now, Instant::now());
    }

    /// A write has this time: the store's clock is at least as late.
    pub(crate) fn advance_to(&self, written: Timestamp) {
        if written > self.now() {
            self.set(written);
        }
    }
}
