//! `[backend]`: how workers take and hold documents (`contract/backend.md` §2).

use std::time::Duration;

use crate::check;
use crate::reader::Reader;

/// Settings of the workers; the defaults are the contract's values.
#[derive(Debug, Clone)]
pub struct Backend {
    /// Documents that are worked on at once, clusters and subscriptions together.
    pub workers: usize,
    /// Of these, clusters of one subscription.
    pub per_subscription: usize,
    pub lease: Duration,
    pub heartbeat: Duration,
    pub poll: Duration,
    /// Takes without an end before a document is failed.
    pub dequeues: u32,
    pub retry: Duration,
    pub retry_most: Duration,
    /// For running operations, on stop.
    pub drain: Duration,
}

pub(crate) fn backend(r: &mut Reader<'_>) -> Backend {
    let backend = Backend {
        workers: r.count("backend.workers"),
        per_subscription: r.count("backend.per_subscription"),
        lease: r.duration("backend.lease"),
        heartbeat: r.duration("backend.heartbeat"),
        poll: r.duration("backend.poll"),
        dequeues: r.count("backend.dequeues"),
        retry: r.duration("backend.retry"),
        retry_most: r.duration("backend.retry_most"),
        drain: r.duration("backend.drain"),
    };
    check::at_most_a_minute(r, "backend.lease", backend.lease);
    if backend.lease < Duration::from_secs(1) {
        r.mistake("backend.lease", "is at least 1s: leases are counted in whole seconds");
    }
    if backend.heartbeat * 3 > backend.lease {
        r.mistake("backend.heartbeat", "is at most a third of backend.lease, so that one may fail");
    }
    backend
}
