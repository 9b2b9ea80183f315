//! What notifications count.

use rp_metrics::{Counter, Family, Gauge, labels, metrics};

labels! {
    /// Which receiver: a name of the settings.
    pub(crate) struct DestinationLabels { destination: &'static str }
}
labels! {
    /// Which receiver, and how a notification ended: `delivered`, `failed`, `dropped`.
    pub(crate) struct EndLabels { destination: &'static str, result: &'static str }
}

metrics! {
    /// Notifications to receivers outside.
    pub(crate) struct NotifyMetrics("aro_notify") {
        /// Notifications that are over.
        pub(crate) ended: Family<EndLabels, Counter> = "notifications_total";
        /// Attempts that failed; each is repeated within its bounds.
        pub(crate) failures: Family<DestinationLabels, Counter> = "attempt_failures_total";
        /// Notifications that wait; 0 in a process that does not send.
        pub(crate) waiting: Family<DestinationLabels, Gauge> = "waiting";
        /// Age of the notification that waits longest, in seconds; 0 in a process that does not send.
        pub(crate) oldest: Family<DestinationLabels, Gauge> = "oldest_waiting_seconds";
        /// 1 in the process that reads what happened and sends.
        pub(crate) sender: Gauge = "sender";
    }
}
