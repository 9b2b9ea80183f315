//! The Kubernetes API proxy: one request, phase by phase.
//!
//! authenticate → classify → allow → find the target → audit (when it must be durable first) → assemble
//! the request → send → pass the answer on → audit the end.

mod address;
mod audit;
mod body;
mod cut;
mod error;
mod farewell;
mod handle;
mod headers;
mod identity;
mod metrics;
mod pool;
mod reach;
mod recorded;
mod redirect;
mod request;
mod rules;
mod seen;
mod sessions;
mod upgrade;

pub(crate) use address::bearer;
pub use body::Body;
pub use error::{ProxyError, Told};
pub use handle::{ApiProxy, ApiProxyParts, Look, Timeouts};
pub(crate) use handle::{Exec, Running};
pub use reach::{Dialled, Reach};
pub use request::{Classified, classify};
pub use rules::{Denied, allow};

/// Registers the proxy's metrics: for the generated reference, and once by [`ApiProxy::new`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::ApiMetrics::register(registry);
}
