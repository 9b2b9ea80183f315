//! What the copies count.

use rp_metrics::{Counter, Family, Gauge, labels, metrics};

labels! {
    /// Which copy of the log: a name of the settings.
    pub(crate) struct SinkLabels { sink: &'static str }
}

metrics! {
    /// Metrics of the copies of the log.
    pub(crate) struct SinkMetrics("aro_audit_sink") {
        /// Lines that a sink took.
        pub(crate) entries: Family<SinkLabels, Counter> = "lines_total";
        /// Times that a sink took nothing; each is tried again until it does.
        pub(crate) failures: Family<SinkLabels, Counter> = "failures_total";
        /// 1 while a sink takes nothing.
        pub(crate) failing: Family<SinkLabels, Gauge> = "failing";
        /// Age of the last entry that a sink took, as of the last time it took one.
        pub(crate) taken_seconds_ago: Family<SinkLabels, Gauge> = "last_entry_age_seconds";
    }
}
