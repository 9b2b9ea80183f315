//! What a deployment may choose; the defaults are the contract's values (`contract/backend.md` §2).

use std::time::Duration;

/// Settings of the workers.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Documents that are worked on at once, clusters and subscriptions together.
    pub workers: usize,
    /// Of these, clusters of one subscription that are deleted, and as many others.
    pub per_subscription: usize,
    pub lease: Duration,
    /// Between two renewals of a lease.
    pub heartbeat: Duration,
    /// Between two looks at the store when nothing is told.
    pub poll: Duration,
    /// A document that was taken more often without coming to an end is failed.
    pub dequeues: u32,
    /// The first wait after an error of ours; it doubles.
    pub retry: Duration,
    /// The longest such wait, and the pause of a subscription whose clusters are still there.
    pub retry_most: Duration,
    /// For running operations to come to the end of their step, on stop.
    pub drain: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            workers: 100,
            per_subscription: 50,
            lease: Duration::from_secs(60),
            heartbeat: Duration::from_secs(10),
            poll: Duration::from_secs(10),
            dequeues: 5,
            retry: Duration::from_secs(10),
            retry_most: Duration::from_mins(10),
            drain: Duration::from_mins(1),
        }
    }
}

impl Settings {
    /// What works together: at least one worker, and three renewals in a lease. A lease is counted in whole seconds.
    pub(crate) fn normalized(mut self) -> Self {
        self.workers = self.workers.max(1);
        self.per_subscription = self.per_subscription.clamp(1, self.workers);
        self.lease = self.lease.max(Duration::from_secs(1));
        self.heartbeat = self.heartbeat.clamp(Duration::from_millis(10), self.lease / 3);
        self.poll = self.poll.max(Duration::from_millis(10));
        self.retry = self.retry.max(Duration::from_millis(10));
        self.retry_most = self.retry_most.max(self.retry);
        self
    }

    /// Slots that only deletions may use, so that long installations never keep them waiting.
    pub(crate) fn kept_for_deletes(&self) -> usize {
        if self.workers > 1 { (self.workers / 10).max(1) } else { 0 }
    }

    /// So long before the end of a lease that was not renewed its holder gives up; and so long nobody takes a document
    /// whose holder was cut off. What the holder had asked of others comes to its end meanwhile.
    pub(crate) fn margin(&self) -> Duration {
        self.lease / 6
    }
}
