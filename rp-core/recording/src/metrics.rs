//! What recordings count.

use rp_metrics::{Counter, Gauge, Histogram, Registry, buckets, metrics};

metrics! {
    /// Recordings of sessions.
    pub(crate) struct RecordingMetrics("aro_recording") {
        /// Recordings that were begun.
        pub(crate) begun: Counter = "begun_total";
        /// Recordings being written now.
        pub(crate) open: Gauge = "open";
        /// Recordings that could not be begun or broke off: the session was refused or cut (policy required), or went on without.
        pub(crate) failures: Counter = "failures_total";
        /// Bytes of sessions that passed unrecorded after a failure (policy wanted).
        pub(crate) lost: Counter = "lost_bytes_total";
        /// Bytes of sessions that were recorded, before compression.
        pub(crate) recorded: Counter = "recorded_bytes_total";
        /// Bytes of chunks that were stored.
        pub(crate) stored: Counter = "stored_bytes_total";
        /// Seconds until a chunk was stored for certain.
        pub(crate) append: Histogram = "append_seconds", buckets::REQUESTS;
        /// Recordings that were removed because their time was over.
        pub(crate) removed: Counter = "removed_total";
    }
}

/// Registers them: for the generated reference, and once by each process that records.
pub fn register(registry: &Registry) {
    RecordingMetrics::register(registry);
}
