//! Connecting to and querying a cluster's Prometheus and Alertmanager (`contract/portal.md` §13, §14).
//!
//! Connections are port-forwards with the service credential through the one dialer, shared and kept for a
//! while; callers audit the user. Responses are streamed: a large one is never held in memory.
//! Entry rule: what is specific to Prometheus and needs no store and no page.

pub mod alertmanager;
pub mod alerts;
mod body;
mod call;
mod cluster;
mod connection_pool;
mod error;
mod exchange;
pub mod fleet;
mod form;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod names;
mod reach;
mod reduce;
mod response;
mod scan;
mod source;
pub mod statistics;
mod step;
mod table;
mod unquote;
mod upstream_address;

pub use body::{ResponseBody, TransferStats};
pub use call::{Call, Endpoint, Limits};
pub use cluster::SourceState;
pub use error::{ErrorView, PromError};
pub use names::{CompletionKind, CompletionRequest, Suggestion, Suggestions};
pub use reach::{Options, Prometheus};
pub use response::{PromResponse, Range};
pub use source::{Instance, Source, SourceChoice};
pub use step::{MOST_POINTS, fit};
pub use table::{Series, Table};
pub use upstream_address::{InvalidUpstreamAddress, UpstreamAddress};

/// Registers the metrics: for the generated reference, and once by [`Prometheus::new`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    reach::PrometheusMetrics::register(registry);
}
