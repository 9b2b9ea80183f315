//! Heartbeats of tasks that run for as long as their process does: a task that stands still is seen by the age of its last
//! round.

use rp_base::Timestamp;

use crate::{Family, Gauge, Registry, labels, metrics};

labels! {
    /// Which task.
    struct TaskLabels { task: &'static str }
}

metrics! {
    /// Tasks with rounds.
    struct RoundMetrics("aro_task") {
        /// When a task last finished a round, failed or not, in Unix seconds of this process's clock.
        last: Family<TaskLabels, Gauge> = "last_round_timestamp_seconds";
    }
}

/// Registers what is counted here.
pub fn register_metrics(registry: &Registry) {
    RoundMetrics::register(registry);
}

/// The heartbeat of one task. A cheap clone.
#[derive(Debug, Clone)]
pub struct Rounds {
    last: Family<TaskLabels, Gauge>,
    labels: TaskLabels,
}

impl Rounds {
    /// The heartbeat of `task`; two with one name and registry are the same. Nothing is exposed before the first round.
    pub fn new(registry: &Registry, task: &'static str) -> Self {
        Self { last: RoundMetrics::register(registry).last, labels: TaskLabels { task } }
    }

    /// A round ended at `now`.
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit a double exactly")]
    pub fn ended(&self, now: Timestamp) {
        self.last.with(&self.labels).set(now.seconds() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_has_the_time_of_its_last_round() {
        let registry = Registry::new();
        let (feed, index) = (Rounds::new(&registry, "feed"), Rounds::new(&registry, "index"));
        feed.ended(Timestamp::from_millis(1_500));
        feed.ended(Timestamp::from_millis(61_500));
        index.ended(Timestamp::from_millis(2_000));
        let text = registry.render();
        assert!(text.contains("aro_task_last_round_timestamp_seconds{task=\"feed\"} 61\n"), "{text}");
        assert!(text.contains("aro_task_last_round_timestamp_seconds{task=\"index\"} 2\n"), "{text}");
        assert!(registry.mistakes().is_empty());
    }
}
