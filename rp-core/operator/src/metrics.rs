//! Metrics of the process (`contract/operator.md` §9): the names are those of the framework that dashboards and alerts of
//! operators know.

use std::borrow::Cow;
use std::sync::Arc;

use rp_metrics::{
    Counter, Family, Gauge, Histogram, LabelValue, Registry, buckets, label_enum, labels, metrics,
};

label_enum! {
    /// How a reconciliation ended.
    pub enum ReconcileResult { Success = "success", Error = "error", RequeueAfter = "requeue_after" }
}

labels! {
    /// One controller.
    pub struct ControllerLabels { controller: &'static str }
}
labels! {
    /// One controller, and how a reconciliation ended.
    pub struct ResultLabels { controller: &'static str, result: ReconcileResult }
}
labels! {
    /// The queue of one controller.
    pub struct QueueLabels { name: &'static str }
}
labels! {
    /// A request to the API server.
    pub struct RequestLabels { code: u16, method: &'static str, host: Host }
}

/// The address of the API server: one for each process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Host(pub Arc<str>);

impl LabelValue for Host {
    fn label(&self) -> Cow<'static, str> {
        Cow::Owned(self.0.to_string())
    }
}

metrics! {
    /// What controllers do.
    pub struct ReconcileMetrics("controller_runtime") {
        /// Reconciliations by controller and result.
        pub total: Family<ResultLabels, Counter> = "reconcile_total";
        /// Reconciliations that failed.
        pub errors: Family<ControllerLabels, Counter> = "reconcile_errors_total";
        /// Reconciliations that failed and are not repeated; always 0, because every failure is repeated.
        pub terminal_errors: Family<ControllerLabels, Counter> = "terminal_reconcile_errors_total";
        /// Time of one reconciliation.
        pub seconds: Family<ControllerLabels, Histogram> = "reconcile_time_seconds", buckets::REQUESTS;
        /// Most reconciliations of a controller at once.
        pub most_at_once: Family<ControllerLabels, Gauge> = "max_concurrent_reconciles";
        /// Reconciliations that run.
        pub active: Family<ControllerLabels, Gauge> = "active_workers";
    }
}

metrics! {
    /// What waits for controllers.
    pub struct QueueMetrics("workqueue") {
        /// Keys that wait and are due.
        pub depth: Family<QueueLabels, Gauge> = "depth";
        /// Keys that were added.
        pub adds: Family<QueueLabels, Counter> = "adds_total";
        /// Keys that were added again after a failure.
        pub retries: Family<QueueLabels, Counter> = "retries_total";
        /// Time that a key waited after it was due.
        pub waited: Family<QueueLabels, Histogram> = "queue_duration_seconds", buckets::REQUESTS;
        /// Time that the work for a key took.
        pub worked: Family<QueueLabels, Histogram> = "work_duration_seconds", buckets::REQUESTS;
    }
}

metrics! {
    /// Requests to the API server.
    pub struct ClientMetrics("rest_client") {
        /// Requests by status, method and host; status 0: no answer.
        pub requests: Family<RequestLabels, Counter> = "requests_total";
    }
}

label_enum! {
    /// How a repair ended.
    pub enum RepairResult { Success = "success", Error = "error" }
}
labels! {
    /// The result of a repair.
    pub struct RepairLabels { result: RepairResult }
}

metrics! {
    /// What only the operator has.
    pub struct OperatorMetrics("aro") {
        /// Attempts to create or update the global pull secret.
        pub pull_secret: Family<RepairLabels, Counter> = "pullsecret_remediation";
        /// Whether this process holds the lease of its role: 1 or 0.
        pub leader: Gauge = "operator_leader";
        /// Watches that are open.
        pub watches: Gauge = "operator_watches";
    }
}

/// All of them.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub reconcile: ReconcileMetrics,
    pub queue: QueueMetrics,
    pub client: ClientMetrics,
    pub operator: OperatorMetrics,
}

impl Metrics {
    /// Registers them.
    pub fn register(registry: &Registry) -> Self {
        Self {
            reconcile: ReconcileMetrics::register(registry),
            queue: QueueMetrics::register(registry),
            client: ClientMetrics::register(registry),
            operator: OperatorMetrics::register(registry),
        }
    }
}
