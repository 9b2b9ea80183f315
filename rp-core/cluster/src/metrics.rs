//! How long steps take, and how they end.

use std::time::Duration;

use rp_metrics::{Counter, Family, Histogram, Registry, Statsd, buckets, labels, metrics};

use crate::manager::Operation;
use crate::step::Step;

labels! {
    /// One step of the plans.
    pub struct StepLabels { operation: &'static str, kind: &'static str, step: &'static str, result: &'static str }
}

labels! {
    /// A step that was not its operation's first try of it.
    pub struct RetryLabels { operation: &'static str, step: &'static str }
}

metrics! {
    /// What the steps of clusters' operations take.
    pub struct ClusterMetrics("aro_cluster") {
        /// Time that steps of operations on clusters took, by how they ended.
        pub duration: Family<StepLabels, Histogram> = "step_duration_seconds", buckets::RUNS;
        /// Steps that were begun again after a worker was lost in them.
        pub again: Family<RetryLabels, Counter> = "steps_again_total";
    }
}

/// Where steps are measured.
#[derive(Debug, Clone)]
pub struct StepMetrics {
    metrics: ClusterMetrics,
    statsd: Statsd,
}

/// A step that came to its end.
#[derive(Debug)]
pub(crate) struct FinishedStep<'a> {
    pub(crate) operation: Operation,
    pub(crate) step: &'a Step,
    pub(crate) attempt: u32,
    pub(crate) took: Duration,
    pub(crate) ok: bool,
}

impl StepMetrics {
    /// Registers them; [`Statsd::none`] where nobody listens.
    pub fn new(registry: &Registry, statsd: Statsd) -> Self {
        Self { metrics: ClusterMetrics::register(registry), statsd }
    }

    /// One step, at once and also of operations that fail later (`contract/backend.md` "Do better" 11).
    pub(crate) fn ended(&self, ended: &FinishedStep<'_>) {
        let FinishedStep { operation, step, attempt, took, ok } = *ended;
        let result = if ok { "success" } else { "failure" };
        let topic = operation.topic();
        let labels = StepLabels { operation: topic, kind: step.kind.name(), step: step.name, result };
        self.metrics.duration.with(&labels).observe_duration(took);
        if attempt > 1 {
            self.metrics.again.with(&RetryLabels { operation: topic, step: step.name }).inc();
        }
        let name = format!("backend.openshiftcluster.{topic}.{}.duration.seconds", step.stored_name());
        let attempt = attempt.min(99).to_string();
        self.statsd.gauge(&name, whole(took), &[("result", result), ("attempt", &attempt)]);
    }

    /// A plan that ran to its end in this process.
    pub(crate) fn finished(&self, operation: Operation, took: Duration) {
        let name = format!("backend.openshiftcluster.{}.duration.total.seconds", operation.topic());
        self.statsd.gauge(&name, whole(took), &[]);
    }
}

fn whole(took: Duration) -> i64 {
    i64::try_from(took.as_secs()).unwrap_or(i64::MAX)
}

impl Operation {
    /// The word in the contract's metric names.
    pub const fn topic(self) -> &'static str {
        match self {
            Self::Create => "install",
            Self::Update => "update",
            Self::AdminUpdate => "adminUpdate",
            Self::Delete => "delete",
        }
    }
}
