//! What is kept of an access that left the cache: when it ends by the steady clock.
//!
//! An access in use ends when the time that it had left has passed, whatever becomes of the wall clock. One that is not
//! used leaves the cache, and the store knows its end by the wall clock only: were that all, an access that had ended would
//! come back while the wall clock is set back.

use std::collections::HashMap;
use std::time::Duration;

use rp_base::{Id, Timestamp};
use tokio::time::Instant;

use crate::active_grant::{ActiveGrant, SteadyEnd};

/// How often ends are looked through for those that are past.
const PRUNE_EVERY: Duration = Duration::from_secs(60);

/// The ends of accesses that are not in the cache. An end is kept until both clocks have passed it, so there are no more
/// than grants that live by one of the clocks, are not revoked and were used here: their number is bounded for each person.
#[derive(Debug, Default)]
pub(crate) struct ForgottenEnds {
    ends: HashMap<Id, SteadyEnd>,
    pruned: Option<Instant>,
}

impl ForgottenEnds {
    /// Keeps the end of an access that leaves the cache.
    pub(crate) fn insert(&mut self, live: &ActiveGrant) {
        if let Some(end) = live.steady_end() {
            self.ends.insert(live.grant.id.clone(), end);
        }
    }

    /// The end of an access that comes into the cache again; `None`: it was not there in the life of this process, or
    /// both clocks have passed its end.
    pub(crate) fn take(&mut self, id: &Id) -> Option<SteadyEnd> {
        self.ends.remove(id)
    }

    /// Drops the end of an access that the store ended: it opens nothing, whatever the clocks say.
    pub(crate) fn remove(&mut self, id: &str) {
        self.ends.remove(id);
    }

    /// Drops the ends that both clocks have passed. Does nothing within a minute of the last time.
    pub(crate) fn prune(&mut self, now: Timestamp) {
        let steady = Instant::now();
        if self.pruned.is_some_and(|last| steady.duration_since(last) < PRUNE_EVERY) {
            return;
        }
        self.pruned = Some(steady);
        self.ends.retain(|_, end| !end.is_past(now, steady));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rp_documents::{Grant, GrantKind, Rights};

    use super::*;
    use crate::EndReason;
    use crate::rights::CurrentRights;

    const HOUR: Duration = Duration::from_secs(3600);
    const CREATED: Timestamp = Timestamp::from_seconds(1_700_000_000);
    /// The wall clock is set back by so much when the access is first seen.
    const BACK: Duration = Duration::from_secs(2 * 3600);
    const READS: CurrentRights = CurrentRights { rights: Some(Rights::Read), until: None, why: None };

    fn seen(grant: Grant, now: Timestamp) -> ActiveGrant {
        ActiveGrant::new(grant, READS, Arc::default(), None, now)
    }

    fn of_one_hour() -> Grant {
        tests_kit::grant(GrantKind::Kubeconfig, "ada", CREATED, CREATED + HOUR)
    }

    #[tokio::test(start_paused = true)]
    async fn an_access_that_was_forgotten_lives_no_longer_by_a_wall_clock_that_is_behind() {
        let (grant, mut wall) = (of_one_hour(), CREATED - BACK);
        let mut forgotten = ForgottenEnds::default();
        for past in [false, false, true, true] {
            // Each time the store alone would give it a whole hour.
            let live = seen(grant.clone(), wall);
            let live = match forgotten.take(&grant.id) {
                Some(end) => live.resumed(end),
                None => live,
            };
            assert_eq!(live.ended(wall), past.then_some(EndReason::Expired), "{wall}");
            forgotten.insert(&live);
            tokio::time::advance(HOUR * 2 / 3).await;
            wall = wall + HOUR * 2 / 3;
            forgotten.prune(wall);
        }
        // Both clocks have passed it.
        assert!(wall < CREATED + HOUR);
        tokio::time::advance(HOUR).await;
        forgotten.prune(CREATED + HOUR);
        assert!(forgotten.take(&grant.id).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_access_that_expired_by_a_clock_that_was_ahead_stays_so() {
        let grant = of_one_hour();
        let mut forgotten = ForgottenEnds::default();
        let live = seen(grant.clone(), CREATED);
        live.end(EndReason::Expired);
        forgotten.insert(&live);
        forgotten.prune(CREATED + 2 * HOUR);
        let end = forgotten.take(&grant.id).expect("its end: the steady clock has not passed it");
        assert_eq!(seen(grant, CREATED).resumed(end).ended(CREATED), Some(EndReason::Expired));
    }

    #[tokio::test(start_paused = true)]
    async fn an_extension_counts_while_an_access_is_forgotten() {
        let (grant, wall) = (of_one_hour(), CREATED - BACK);
        let mut forgotten = ForgottenEnds::default();
        forgotten.insert(&seen(grant.clone(), wall));
        let longer = Grant { not_after: CREATED + 3 * HOUR, ..grant };
        let end = forgotten.take(&longer.id).expect("its end");
        let live = seen(longer, wall).resumed(end);
        tokio::time::advance(3 * HOUR - Duration::from_secs(60)).await;
        assert_eq!(live.ended(wall), None);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(live.ended(wall), Some(EndReason::Expired));
    }
}
