//! Reaching and asking a cluster's Prometheus and Alertmanager (`contract/portal.md` §13, §14).
//!
//! Connections are port-forwards with the service credential through the one dialer, shared and kept for a
//! while; who asks is audited by the edges. Answers are streamed: a large one never sits in memory.
//! Entry rule: what is specific to Prometheus and needs no store and no page.

pub mod alertmanager;
pub mod alerts;
mod answer;
mod body;
mod call;
mod cluster;
mod error;
mod exchange;
pub mod fleet;
mod form;
mod lane;
mod names;
mod reach;
mod reduce;
mod scan;
mod source;
pub mod statistics;
mod step;
mod table;
mod unquote;
mod way;

pub use answer::{Answer, Range};
pub use body::{AnswerBody, Passed};
pub use call::{Call, Endpoint, Limits};
pub use cluster::SourceState;
pub use error::{PromError, Shown};
pub use names::{Suggestion, Suggestions, What, Wish};
pub use reach::{Options, Prometheus};
pub use source::{Choice, Place, Source};
pub use step::{MOST_POINTS, fit};
pub use table::{Series, Table};
pub use way::{InvalidWay, Way};

/// Registers the metrics: for the generated reference, and once by [`Prometheus::new`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    reach::PrometheusMetrics::register(registry);
}
