//! A sink as others see it.

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;
use rp_audit::SinkState;
use rp_base::Timestamp;

use crate::{SinkOptions, SinkPolicy};

/// How one sink is doing.
#[derive(Debug)]
pub(crate) struct SinkHealth {
    policy: SinkPolicy,
    /// Milliseconds since the epoch; 0: not failing.
    failing_since: AtomicI64,
    state: Mutex<SinkState>,
}

impl SinkHealth {
    pub(crate) fn new(options: &SinkOptions) -> Self {
        let policy = match options.policy {
            SinkPolicy::Refuse { .. } => "refuse",
            SinkPolicy::Alarm => "alarm",
        };
        let state = SinkState {
            name: options.name.clone(),
            to: options.to.to_string(),
            policy,
            here: false,
            taken_at: None,
            taken_to: None,
            failing_since: None,
            error: None,
        };
        Self { policy: options.policy, failing_since: AtomicI64::new(0), state: Mutex::new(state) }
    }

    pub(crate) fn state(&self) -> SinkState {
        self.state.lock().clone()
    }

    pub(crate) fn refuses(&self, now: Timestamp) -> bool {
        let since = self.failing_since.load(Ordering::Relaxed);
        match self.policy {
            SinkPolicy::Refuse { after } => since > 0 && now.since(Timestamp::from_millis(since)) >= after,
            SinkPolicy::Alarm => false,
        }
    }

    /// Changes the state, and stores since when the sink fails where [`Self::refuses`] reads it without a lock.
    pub(crate) fn update(&self, change: impl FnOnce(&mut SinkState)) {
        let mut state = self.state.lock();
        change(&mut state);
        let since = state.failing_since.map_or(0, |at| at.millis().max(1));
        self.failing_since.store(since, Ordering::Relaxed);
    }
}
