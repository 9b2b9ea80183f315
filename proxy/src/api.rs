//! The Kubernetes API proxy: one request, phase by phase.
//!
//! `admission` authenticates, classifies and allows; `handle` writes the audit trail around `dispatch`, which sends what
//! `assembly` wrote and passes `answer` on; `refusal` answers what fails. What they share is `service` (the proxy) and
//! `request_context` (one request).

mod act;
mod address;
mod admission;
mod answer;
mod assembly;
mod audit;
mod body;
mod body_error;
mod dispatch;
mod error;
mod exec;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod handle;
mod headers;
mod helm_release;
mod identity;
mod impersonation;
mod kube_protobuf;
mod metrics;
mod pings;
mod pool;
mod reach;
mod redaction;
mod redirect;
mod refusal;
mod request;
mod request_context;
mod rules;
mod self_review;
mod service;
mod session_endpoints;
mod session_kind;
mod session_recording;
mod session_status;
mod upgrade;
mod watch_end;
mod web_socket;

pub use act::{ActAnswer, ActRequest};
pub(crate) use address::bearer;
pub use body::Body;
pub use error::{ErrorText, ProxyError};
pub(crate) use exec::{ExecRequest, RunningExec};
pub use handle::PageRequest;
pub use impersonation::ShownPerson;
pub use reach::{DialRecord, ReachReport};
pub use request::{Classified, classify};
pub use rules::{Denied, allow};
pub use service::{ApiProxy, ApiProxyParts, Timeouts};
pub use session_endpoints::{SESSION_ENDPOINTS, SessionEndpoint};
pub use session_kind::SessionKind;

/// Registers the proxy's metrics: for the generated reference, and once by [`ApiProxy::new`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::ApiMetrics::register(registry);
}
