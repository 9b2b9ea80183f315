//! Time is passed in, so that leases, expiry and back-off are tested by moving a clock.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::Timestamp;

/// Where "now" comes from.
pub trait Clock: Send + Sync + std::fmt::Debug + 'static {
    /// The instant, in milliseconds since the Unix epoch, UTC.
    fn now(&self) -> Timestamp;
}

/// A clock that many parts share.
pub type SharedClock = Arc<dyn Clock>;

/// The host's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the host's clock")]
        let since =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<Timestamp>>);

impl ManualClock {
    /// A clock that shows `at`.
    pub fn at(at: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(at)))
    }

    /// Sets the clock, forward or back.
    pub fn set(&self, to: Timestamp) {
        *self.0.lock() = to;
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock();
        *now = *now + by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}
