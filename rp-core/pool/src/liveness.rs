//! Liveness by this process's own observations: the store's clock may jump, our monotonic clock does not.

use std::collections::HashMap;
use std::time::Duration;

use rp_base::Timestamp;
use rp_database::Version;
use tokio::time::Instant;

/// Tracks when documents were last seen to change.
#[derive(Debug, Default)]
pub(super) struct LivenessTracker {
    seen: HashMap<String, (Version, Instant)>,
    store: Option<(Timestamp, Instant)>,
    jumped: Option<Instant>,
}

impl LivenessTracker {
    /// Records the store's clock; a deviation from our own of more than a quarter of `length` is a jump.
    pub(super) fn clock(&mut self, store: Timestamp, now: Instant, length: Duration) {
        if let Some((before, at)) = self.store.replace((store, now)) {
            let expected = before + now.saturating_duration_since(at);
            let off = store.since(expected).max(expected.since(store));
            if off > length / 4 {
                tracing::warn!(off_ms = off.as_millis(), "the store's clock jumped");
                self.jumped = Some(now);
            }
        }
    }

    /// Whether the store's clock jumped less than `length` ago: then it cannot be trusted.
    pub(super) fn jumped(&self, now: Instant, length: Duration) -> bool {
        self.jumped.is_some_and(|at| now.saturating_duration_since(at) < length)
    }

    /// Records a document; returns how long ago this version was first seen.
    pub(super) fn note(&mut self, id: &str, version: Version, now: Instant) -> Duration {
        match self.seen.get_mut(id) {
            Some((known, at)) if *known == version => now.saturating_duration_since(*at),
            Some(entry) => {
                *entry = (version, now);
                Duration::ZERO
            }
            None => {
                self.seen.insert(id.to_owned(), (version, now));
                Duration::ZERO
            }
        }
    }

    /// The listed workers that wrote within `ttl`. While the store's clock cannot be trusted,
    /// also those that are not listed any more and wrote within `ttl`.
    pub(super) fn living(
        &mut self,
        listed: &[(String, Version)],
        now: Instant,
        ttl: Duration,
    ) -> Vec<String> {
        for (id, version) in listed {
            self.note(id, *version, now);
        }
        let trust = !self.jumped(now, ttl);
        self.seen.retain(|id, (_, at)| {
            let is_listed = listed.iter().any(|(listed, _)| listed == id);
            let fresh = now.saturating_duration_since(*at) < ttl;
            is_listed || fresh && !trust
        });
        let fresh = |at: &Instant| now.saturating_duration_since(*at) < ttl;
        self.seen.iter().filter(|(_, (_, at))| fresh(at)).map(|(id, _)| id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(60);

    fn listed(names: &[(&str, i64)]) -> Vec<(String, Version)> {
        names.iter().map(|(name, version)| ((*name).to_owned(), Version(*version))).collect()
    }

    fn sorted(mut names: Vec<String>) -> Vec<String> {
        names.sort();
        names
    }

    #[test]
    fn who_stopped_writing_is_dead_whatever_the_store_thinks() {
        let (mut sight, start) = (LivenessTracker::default(), Instant::now());
        assert_eq!(sorted(sight.living(&listed(&[("a", 1), ("b", 1)]), start, TTL)), ["a", "b"]);
        let later = start + Duration::from_secs(50);
        assert_eq!(sorted(sight.living(&listed(&[("a", 2), ("b", 1)]), later, TTL)), ["a", "b"]);
        let later = start + Duration::from_secs(61);
        assert_eq!(sight.living(&listed(&[("a", 2), ("b", 1)]), later, TTL), ["a"]);
    }

    #[test]
    fn who_is_gone_is_gone_unless_the_clock_jumped() {
        let (mut sight, start) = (LivenessTracker::default(), Instant::now());
        sight.clock(Timestamp::from_seconds(1000), start, TTL);
        sight.living(&listed(&[("a", 1), ("b", 1)]), start, TTL);
        let later = start + Duration::from_secs(10);
        sight.clock(Timestamp::from_seconds(1010), later, TTL);
        assert_eq!(sight.living(&listed(&[("a", 2)]), later, TTL), ["a"]);

        sight.living(&listed(&[("a", 3), ("b", 2)]), later, TTL);
        let jump = later + Duration::from_secs(10);
        sight.clock(Timestamp::from_seconds(5000), jump, TTL);
        assert!(sight.jumped(jump, TTL));
        assert_eq!(sorted(sight.living(&listed(&[("a", 4)]), jump, TTL)), ["a", "b"]);
        let after = jump + Duration::from_secs(51);
        assert_eq!(sight.living(&listed(&[("a", 5)]), after, TTL), ["a"]);
        assert!(!sight.jumped(jump + TTL, TTL));
    }
}
