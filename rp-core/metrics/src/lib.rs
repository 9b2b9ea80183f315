//! Metrics: a registry, instruments that cost an atomic each, labels with a bound, the Prometheus text
//! exposition and the statsd lines of `contract/metrics.md`.
//!
//! A crate declares its metrics as one struct with [`metrics!`](crate::metrics) and registers it once:
//!
//! ```
//! use rp_metrics::{Counter, Family, Histogram, Registry, buckets, labels, metrics};
//!
//! labels! {
//!     /// How a request ended.
//!     pub struct RequestLabels { method: &'static str, code: u16 }
//! }
//! metrics! {
//!     /// What the edge counts.
//!     pub struct EdgeMetrics("aro_edge") {
//!         /// Requests that ended.
//!         pub requests: Family<RequestLabels, Counter> = "requests_total";
//!         /// Time from the first byte in to the last byte out.
//!         pub duration: Histogram = "request_duration_seconds", buckets::REQUESTS;
//!     }
//! }
//! let registry = Registry::new();
//! let metrics = EdgeMetrics::register(&registry);
//! metrics.requests.with(&RequestLabels { method: "GET", code: 200 }).inc();
//! assert!(registry.render().contains("aro_edge_requests_total{method=\"GET\",code=\"200\"} 1\n"));
//! ```

pub mod buckets;
mod declare;
mod family;
mod instruments;
mod labels;
pub mod process;
mod registry;
mod rounds;
pub mod statsd;
pub mod text;

pub use family::{Family, MOST_SERIES};
pub use instruments::{Counter, Gauge, GaugeGuard, Histogram};
pub use labels::{LabelValue, Labels};
pub use registry::{Description, Kind, Metric, Register, Registry, Source, Spec};
pub use rounds::{Rounds, register_metrics as register_round_metrics};
pub use statsd::{Statsd, StatsdOptions};
