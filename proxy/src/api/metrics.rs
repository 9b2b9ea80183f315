//! What the proxy counts.

use rp_metrics::{Counter, Family, Gauge, Histogram, buckets, labels, metrics};

labels! {
    /// Verb, status and whose fault a failure was.
    pub(super) struct RequestLabels { verb: &'static str, code: u16, side: &'static str }
}

metrics! {
    /// The Kubernetes API proxy.
    pub(super) struct ApiMetrics("aro_proxy") {
        /// Requests of grants that were answered, by verb, status and whose fault a failure was.
        pub(super) requests: Family<RequestLabels, Counter> = "requests_total";
        /// Seconds until the head of a cluster's answer.
        pub(super) head: Histogram = "head_seconds", buckets::REQUESTS;
        /// Seconds from a request's head until it could be sent: rights, the audit entry, the cluster's address and
        /// credential. The rest of `aro_proxy_head_seconds` is the connection to the cluster and its answer.
        pub(super) admission: Histogram = "admission_seconds", buckets::REQUESTS;
        /// Streams open now: watches, followed logs, upgrades.
        pub(super) streams: Gauge = "streams_open";
        /// Requests refused because they had no living grant.
        pub(super) strangers: Counter = "strangers_total";
    }
}
