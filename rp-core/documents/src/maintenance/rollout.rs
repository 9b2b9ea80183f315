//! How a schedule's latest window goes: on which clusters its task failed, and whether the schedule stopped for that.

use rp_base::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Unknown;

/// Failures that are kept. With so many a schedule stops, whatever share of the clusters they are.
const MOST_FAILED: usize = 1_000;

/// The latest window in which the task of a schedule failed. Writers: the actuator adds failures, the frontend lets a
/// schedule that stopped go on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// When the window began, Unix seconds.
    pub window: i64,
    /// The clusters on which the task failed, by their lower-cased resource ids, at most [`MOST_FAILED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Of how many: the clusters whose wave had begun at the last failure.
    #[serde(default)]
    pub of: i64,
    /// When the schedule stopped, Unix seconds; 0: it goes on.
    #[serde(default)]
    pub stopped: i64,
    #[serde(flatten)]
    pub unknown: Unknown,
}

/// A task of a schedule that failed on a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterFailure<'a> {
    /// The lower-cased resource id.
    pub cluster: &'a str,
    /// When the window began, Unix seconds.
    pub window: i64,
    /// The clusters whose wave has begun.
    pub of: usize,
}

impl Rollout {
    /// Nothing has failed yet.
    pub fn is_empty(&self) -> bool {
        self.window == 0
    }

    /// Whether the schedule stopped.
    pub const fn has_stopped(&self) -> bool {
        self.stopped != 0
    }

    /// Adds a failure. The schedule stops when more than `stop_at` percent of the clusters whose wave has begun failed.
    /// `false`: it is known, or of a window before the latest, which was over then, and nothing changes.
    pub fn add(&mut self, failure: ClusterFailure<'_>, stop_at: u8, now: Timestamp) -> bool {
        let known = self.failed.iter().any(|cluster| cluster == failure.cluster);
        let (is_older, is_newer) = (failure.window < self.window, failure.window > self.window);
        if self.has_stopped() || is_older || (known && !is_newer) {
            return false;
        }
        if is_newer {
            *self = Self {
                window: failure.window,
                unknown: std::mem::take(&mut self.unknown),
                ..Self::default()
            };
        }
        self.failed.push(failure.cluster.to_owned());
        let failed = self.failed.len();
        self.of = i64::try_from(failure.of).unwrap_or(i64::MAX);
        if failed >= MOST_FAILED || failed.saturating_mul(100) > failure.of.saturating_mul(stop_at.into()) {
            self.stopped = now.seconds();
        }
        true
    }

    /// Lets a schedule that stopped go on, and counts anew.
    pub fn resume(&mut self) {
        if self.has_stopped() {
            self.failed.clear();
            self.stopped = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(5_000);

    fn failure(cluster: &str, window: i64, of: usize) -> ClusterFailure<'_> {
        ClusterFailure { cluster, window, of }
    }

    #[test]
    fn it_stops_when_more_than_the_share_failed_and_counts_each_cluster_once() {
        let mut rollout = Rollout::default();
        assert!(rollout.is_empty());
        for name in ["a", "b"] {
            assert!(rollout.add(failure(name, 100, 20), 10, NOW));
            assert!(!rollout.add(failure(name, 100, 20), 10, NOW), "once");
        }
        assert!(!rollout.has_stopped(), "two of twenty are not more than a tenth");
        assert!(rollout.add(failure("c", 100, 20), 10, NOW));
        assert_eq!((rollout.stopped, rollout.failed.len(), rollout.of), (5_000, 3, 20));
        let stopped = rollout.clone();
        assert!(!rollout.add(failure("d", 200, 20), 10, NOW), "it stays as it stopped");
        assert_eq!(rollout, stopped);
    }

    #[test]
    fn windows_count_by_themselves() {
        let mut rollout = Rollout::default();
        rollout.add(failure("a", 100, 10), 10, NOW);
        assert!(rollout.add(failure("a", 200, 10), 10, NOW), "the same cluster in the next window");
        assert!(!rollout.add(failure("b", 100, 10), 10, NOW), "a window that is over");
        assert_eq!((rollout.window, rollout.failed.len()), (200, 1));
    }

    #[test]
    fn it_goes_on_with_a_new_count() {
        let mut rollout = Rollout::default();
        rollout.add(failure("a", 100, 1), 10, NOW);
        assert!(rollout.has_stopped());
        rollout.resume();
        assert_eq!((rollout.window, rollout.failed.len(), rollout.has_stopped()), (100, 0, false));
        rollout.add(failure("a", 100, 100), 10, NOW);
        rollout.resume();
        assert_eq!(rollout.failed, ["a"], "one that goes on keeps its count");
    }

    #[test]
    fn a_thousand_failures_stop_it_whatever_the_share() {
        let mut rollout = Rollout::default();
        for n in 0..MOST_FAILED {
            assert!(!rollout.has_stopped());
            rollout.add(failure(&n.to_string(), 100, 1_000_000), 100, NOW);
        }
        assert!(rollout.has_stopped());
    }
}
