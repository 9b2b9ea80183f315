//! What follows from the section `[backend]`, whose defaults are the contract's values (`contract/backend.md` §2).

use std::time::Duration;

/// Values that work together, whatever a caller gives: at least one worker, and three renewals in a lease. A lease is
/// counted in whole seconds.
pub(crate) fn normalized(mut settings: rp_config::Backend) -> rp_config::Backend {
    settings.workers = settings.workers.max(1);
    settings.per_subscription = settings.per_subscription.clamp(1, settings.workers);
    settings.lease = settings.lease.max(Duration::from_secs(1));
    settings.heartbeat = settings.heartbeat.clamp(Duration::from_millis(10), settings.lease / 3);
    settings.poll = settings.poll.max(Duration::from_millis(10));
    settings.retry = settings.retry.max(Duration::from_millis(10));
    settings.retry_most = settings.retry_most.max(settings.retry);
    settings
}

/// Slots that only deletions may use, so that long installations never keep them waiting.
pub(crate) fn kept_for_deletes(settings: &rp_config::Backend) -> usize {
    if settings.workers > 1 { (settings.workers / 10).max(1) } else { 0 }
}

/// So long before the end of a lease that was not renewed its holder gives up; and so long nobody takes a document
/// whose holder was cut off. What the holder had asked of others comes to its end meanwhile.
pub(crate) fn margin(settings: &rp_config::Backend) -> Duration {
    settings.lease / 6
}
