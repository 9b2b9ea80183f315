//! What maintenance counts, for Prometheus (`contract/mimo.md` "Do better" 14). The contract's statsd lines are
//! emitted where the same is counted.

use rp_documents::maintenance::{ManifestState, Task};
use rp_metrics::{Counter, Family, Gauge, Histogram, Registry, buckets, labels, metrics};

labels! {
    /// A task, by its name, and how its manifest ended or goes on.
    pub struct OutcomeLabels { task: &'static str, state: &'static str }
}
labels! {
    /// A task, by its name.
    pub struct TaskLabels { task: &'static str }
}
labels! {
    /// `created` or `cancelled`.
    pub struct ActionLabels { action: &'static str }
}

/// Seconds, from a check to the longest task.
const RUNS: &[f64] = &[0.1, 0.5, 2.0, 10.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0];

metrics! {
    /// Maintenance of clusters.
    pub struct MaintenanceMetrics("aro_mimo") {
        /// Clusters that this process maintains now.
        pub workers: Gauge = "workers";
        /// Manifests that could start, of all clusters, as this process last saw.
        pub queue: Gauge = "queue_length";
        /// How long the manifest that waits longest could have started, in seconds; of all clusters.
        pub oldest: Gauge = "queue_oldest_seconds";
        /// Ends of runs, and manifests whose time was over.
        pub outcomes: Family<OutcomeLabels, Counter> = "outcomes_total";
        /// Time of one run of a task.
        pub duration: Family<TaskLabels, Histogram> = "run_seconds", RUNS;
        /// Time from the moment a manifest could start to its first start.
        pub delay: Histogram = "start_delay_seconds", buckets::REQUESTS;
        /// Leases that this process lost.
        pub leases_lost: Counter = "leases_lost_total";
        /// Manifests that the scheduler created and took back.
        pub manifests: Family<ActionLabels, Counter> = "manifests_total";
        /// Schedules that stopped because their task failed on too many clusters.
        pub schedules_stopped: Counter = "schedules_stopped_total";
        /// Passes of schedules that failed.
        pub failures: Counter = "schedule_failures_total";
    }
}

impl MaintenanceMetrics {
    pub(crate) fn ended(&self, task: Option<Task>, state: ManifestState) {
        let labels = OutcomeLabels { task: task.map_or("unknown", Task::name), state: state.name() };
        self.outcomes.with(&labels).inc();
    }
}

/// Registers everything that maintenance counts, for lists of metrics.
pub fn register_metrics(registry: &Registry) {
    MaintenanceMetrics::register(registry);
}
