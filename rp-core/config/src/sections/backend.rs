//! `[backend]`: how workers take and hold documents (`contract/backend.md` §2).

use std::time::Duration;

use rp_settings::check::at_most_a_minute;
use rp_settings::{Reader, count, duration, section};

/// Between two checks of a condition, at least.
const LEAST_CONDITION_POLL: Duration = Duration::from_millis(100);

section! {
    /// Workers of the resource provider: the defaults are the contract's values.
    "backend" pub struct Backend {
        /// Documents that a process works on at once; a tenth is kept for deletions.
        workers: usize = count("100", 1..=10_000),
        /// Of these, clusters of one subscription.
        per_subscription: usize = count("50", 1..=10_000),
        /// How long a worker that is not heard of keeps a document.
        lease: Duration = duration("60s"),
        /// Between two renewals of a lease.
        heartbeat: Duration = duration("10s"),
        /// Between two looks at the store when it tells nothing.
        poll: Duration = duration("10s"),
        /// A document that was taken more often without coming further is failed.
        dequeues: u32 = count("5", 1..=1000),
        /// The first wait after an error of ours; it doubles.
        retry: Duration = duration("10s"),
        /// The longest such wait.
        retry_most: Duration = duration("10m"),
        /// Between two checks of a condition that a step waits for (`contract/backend.md` §9.1).
        condition_poll: Duration = duration("10s"),
        /// On stop: how long running operations may take to come to the end of their step.
        drain: Duration = duration("60s"),
    }
}

pub(crate) fn read(r: &mut Reader) -> Backend {
    let backend = Backend::read(r);
    at_most_a_minute(r, "backend.lease", backend.lease);
    if backend.lease < Duration::from_secs(1) {
        r.mistake("backend.lease", "is at least 1s: leases are counted in whole seconds");
    }
    at_most_a_minute(r, "backend.condition_poll", backend.condition_poll);
    if backend.condition_poll < LEAST_CONDITION_POLL {
        r.mistake("backend.condition_poll", "is at least 100ms: each check calls the cluster or Azure");
    }
    if backend.heartbeat * 3 > backend.lease {
        r.mistake("backend.heartbeat", "is at most a third of backend.lease, so that one may fail");
    }
    backend
}
