//! What a client is made of, and how one use of it asks.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rp_base::{SharedClock, SharedRandom};
use rp_metrics::Registry;

use crate::client::Polling;
use crate::cloud::Endpoints;
use crate::credential::Credential;
use crate::metrics::Observer;
use crate::retry::{RealSleep, Repeat, RetryPolicy, Sleep};

/// What a client is made of.
pub struct ArmOptions {
    pub endpoints: Endpoints,
    pub credential: Credential,
    /// PEM of a CA to trust beside the host's.
    pub ca_pem: Option<String>,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub registry: Registry,
    /// Is told of every call beside the registry: statsd.
    pub observer: Option<Observer>,
    pub retry: RetryPolicy,
    /// For one call with all its tries, unless the caller's own deadline is earlier.
    pub patience: Duration,
}

impl fmt::Debug for ArmOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArmOptions").field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}

/// How a client waits.
#[derive(Debug, Clone)]
pub struct CallSettings {
    /// The second layer of tries; `ArmOptions::retry` is the first.
    pub repeat: Repeat,
    /// For operations that last.
    pub polling: Polling,
    pub sleep: Arc<dyn Sleep>,
}

impl Default for CallSettings {
    /// One layer of tries, real time.
    fn default() -> Self {
        Self { repeat: Repeat::NONE, polling: Polling::STEPS, sleep: Arc::new(RealSleep) }
    }
}

/// How one use of a client asks: its tries, its limits in time, and who is told of its calls.
pub struct CallPolicy {
    pub retry: RetryPolicy,
    /// For one call with all its tries.
    pub patience: Duration,
    pub call_settings: CallSettings,
    /// Is told of every call beside the registry: statsd.
    pub observer: Option<Observer>,
}

impl CallPolicy {
    /// One layer of tries, real time, and no observer.
    pub fn new(retry: RetryPolicy, patience: Duration) -> Self {
        Self { retry, patience, call_settings: CallSettings::default(), observer: None }
    }
}

impl fmt::Debug for CallPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallPolicy").field("retry", &self.retry).finish_non_exhaustive()
    }
}
