//! The Kubernetes API proxy: one request, phase by phase.
//!
//! authenticate → classify → allow → find the target → audit (when it must be durable first) → assemble
//! the request → send → pass the answer on → audit the end.

mod address;
mod audit;
mod body;
mod body_error;
mod error;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod handle;
mod headers;
mod identity;
mod impersonation;
mod metrics;
mod pool;
mod reach;
mod redaction;
mod redirect;
mod request;
mod rules;
mod session_kind;
mod session_recording;
mod session_ways;
mod upgrade;
mod watch_end;

pub(crate) use address::bearer;
pub use body::Body;
pub use error::{ErrorText, ProxyError};
pub use handle::{ApiProxy, ApiProxyParts, PageRequest, Timeouts};
pub(crate) use handle::{ExecRequest, RunningExec};
pub use reach::{DialRecord, ReachReport};
pub use request::{Classified, classify};
pub use rules::{Denied, allow};
pub use session_kind::SessionKind;
pub use session_ways::{WAYS, Way};

/// Registers the proxy's metrics: for the generated reference, and once by [`ApiProxy::new`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::ApiMetrics::register(registry);
}
