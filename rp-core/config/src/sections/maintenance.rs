//! `[maintenance]`: when the scheduler and the actuator look, and how the actuator holds and repeats what it runs
//! (`contract/mimo.md` §3, §4, §6).

use std::time::Duration;

use rp_settings::check::at_most_a_minute;
use rp_settings::{Reader, count, duration, section, switch};

section! {
    /// Maintenance of clusters.
    "maintenance" pub struct Maintenance {
        /// Whether `aro serve` and `aro rp` schedule and run maintenance beside their workers; `aro maintenance` always does.
        enabled: bool = switch(true),
        /// Clusters that a process maintains at once.
        workers: usize = count("20", 1..=1000),
        /// Between two looks of the actuator for manifests that are due.
        poll: Duration = duration("15s"),
        /// Between two looks of the scheduler for schedules that are due.
        schedule_poll: Duration = duration("15s"),
        /// A schedule is worked through again after this and up to twice this, by chance for each process and schedule.
        schedule_again: Duration = duration("60m"),
        /// How long a process that does not renew keeps a cluster and a manifest.
        lease: Duration = duration("60s"),
        /// Longest run of a task.
        timeout: Duration = duration("60m"),
        /// A manifest that was started more often without success has failed.
        attempts: u32 = count("5", 1..=100),
        /// The first wait after a failure that may pass; it doubles.
        retry: Duration = duration("90s"),
        /// The longest such wait.
        retry_most: Duration = duration("30m"),
        /// How often the change feeds are read when nothing wakes them.
        feed_poll: Duration = duration("10s"),
        /// How often a process shows that it lives and reads which buckets are its own; at most 45s and 75 % of
        /// `worker_ttl`.
        bucket_interval: Duration = duration("10s"),
        /// How long a process counts as living after it showed so; at most 60s.
        worker_ttl: Duration = duration("60s"),
        /// A younger process is not ready: a crash loop shows as a gap of the heartbeat.
        ready_delay: Duration = duration("120s"),
        /// Between two emissions of heartbeat and queue length.
        emit_interval: Duration = duration("60s"),
        /// On stop: how long running tasks may take to come to the end of their step.
        drain: Duration = duration("60s"),
    }
}

pub(crate) fn read(r: &mut Reader) -> Maintenance {
    let maintenance = Maintenance::read(r);
    at_most_a_minute(r, "maintenance.worker_ttl", maintenance.worker_ttl);
    if maintenance.lease < Duration::from_secs(1) {
        r.mistake("maintenance.lease", "is at least 1s: leases are counted in whole seconds");
    }
    if maintenance.retry_most < maintenance.retry {
        r.mistake("maintenance.retry_most", "is at least maintenance.retry");
    }
    maintenance
}
