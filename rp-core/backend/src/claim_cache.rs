//! A cache of documents that can be claimed, as the feed delivered them, so that the claim need not read them again. A
//! claim is conditional on the version: the store refuses it when the cached document is outdated.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rp_database::Stored;

/// Bytes of bodies that are kept; what waits beyond them is read when it is taken.
const MOST: usize = 32 * 1024 * 1024;

/// The cache of a process.
#[derive(Debug, Default)]
pub(crate) struct ClaimCache(Arc<AtomicUsize>);

/// A cached document; dropping it frees its share of the cache.
#[derive(Debug)]
pub(crate) struct CachedClaim {
    stored: Stored,
    bytes: Arc<AtomicUsize>,
}

impl ClaimCache {
    /// Caches the document when there is room.
    pub(crate) fn insert(&self, stored: &Stored) -> Option<Arc<CachedClaim>> {
        let size = stored.body.len();
        if self.0.fetch_add(size, Ordering::Relaxed).saturating_add(size) > MOST {
            self.0.fetch_sub(size, Ordering::Relaxed);
            return None;
        }
        Some(Arc::new(CachedClaim { stored: stored.clone(), bytes: Arc::clone(&self.0) }))
    }
}

impl CachedClaim {
    pub(crate) const fn stored(&self) -> &Stored {
        &self.stored
    }
}

impl Drop for CachedClaim {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.stored.body.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use rp_base::Timestamp;
    use rp_database::Version;

    use super::*;

    #[test]
    fn as_much_is_kept_as_there_is_room_for() {
        let claims = ClaimCache::default();
        let stored = |size: usize| Stored {
            id: "a".into(),
            partition: "p".into(),
            unique_key: None,
            body: "x".repeat(size),
            version: Version(1),
            seq: 1,
            written: Timestamp::from_seconds(1),
            expires_at: None,
        };
        let first = claims.insert(&stored(MOST - 10)).unwrap();
        assert!(claims.insert(&stored(11)).is_none());
        let second = claims.insert(&stored(10)).unwrap();
        assert!(claims.insert(&stored(1)).is_none());
        drop(first);
        assert!(claims.insert(&stored(1)).is_some());
        drop(second);
        assert_eq!(claims.0.load(Ordering::Relaxed), 0);
    }
}
