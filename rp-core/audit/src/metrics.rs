//! What the log counts.

use rp_metrics::{Counter, Gauge, Histogram, buckets, metrics};

metrics! {
    /// Metrics of the audit log.
    pub(crate) struct AuditMetrics("aro_audit") {
        /// Entries written.
        pub(crate) entries: Counter = "entries_total";
        /// Commits that failed; each is tried again until it succeeds.
        pub(crate) failures: Counter = "commit_failures_total";
        /// Promises that were refused because the log could not be written.
        pub(crate) refused: Counter = "refused_promises_total";
        /// Refusals of unknown peers that have no entry of their own: the sum of their minute tells of them.
        pub(crate) summed: Counter = "refusals_summed_total";
        /// Checkpoints signed and stored.
        pub(crate) checkpoints: Counter = "checkpoints_total";
        /// Checkpoints that could not be stored.
        pub(crate) checkpoint_failures: Counter = "checkpoint_failures_total";
        /// Time of a commit.
        pub(crate) commit: Histogram = "commit_duration_seconds", buckets::SHORT;
        /// Entries per commit.
        pub(crate) size: Histogram = "batch_entries", buckets::SIZES;
        /// Entries that wait to be written.
        pub(crate) waiting: Gauge = "waiting_entries";
        /// 1 while the log cannot be written.
        pub(crate) stuck: Gauge = "stuck";
        /// 1 while entries are written to the local disk, for the store is away.
        pub(crate) spooling: Gauge = "spooling";
    }
}

metrics! {
    /// Metrics of retention.
    pub(crate) struct RetentionMetrics("aro_audit_retention") {
        /// Entries removed because of their age.
        pub(crate) removed: Counter = "removed_entries_total";
        /// Rounds that could not be finished; the next one goes on.
        pub(crate) failures: Counter = "failures_total";
    }
}
