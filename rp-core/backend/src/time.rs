//! The store's clock, as of the last time that something was heard of it.

use std::sync::Arc;

use parking_lot::Mutex;
use rp_base::Timestamp;
use tokio::time::Instant;

/// An estimate that every write and every poll corrects. A cheap clone.
#[derive(Debug, Clone)]
pub(crate) struct StoreTime(Arc<Mutex<(Timestamp, Instant)>>);

impl StoreTime {
    /// Nothing was heard yet: it begins at the given instant.
    pub(crate) fn starting(at: Timestamp) -> Self {
        Self(Arc::new(Mutex::new((at, Instant::now()))))
    }

    pub(crate) fn now(&self) -> Timestamp {
        let (at, read) = *self.0.lock();
        at + read.elapsed()
    }

    /// The store said so just now.
    pub(crate) fn set(&self, now: Timestamp) {
        *self.0.lock() = (now, Instant::now());
    }

    /// Something was written then: it is at least as late.
    pub(crate) fn saw(&self, written: Timestamp) {
        if written > self.now() {
            self.set(written);
        }
    }
}
