//! Sessions in use, so that a request costs no query; follows the change feed, so that an ended session
//! ends here within a second (`contract/rules.md` §3.7).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rp_base::chain;
use rp_database::{SharedStore, StoreError, Version};
use rp_documents::{Collection, SessionRecord};
use serde_json::Value;
use tokio::time::Instant;

const POLL: Duration = Duration::from_millis(250);
/// Older than this, what we know of ended sessions is not trusted.
const REFUSE_AFTER: Duration = Duration::from_secs(5);
/// Sessions kept; beyond, all are forgotten and read again.
const MOST: usize = 20_000;

/// A session as read.
#[derive(Debug)]
pub(crate) struct CachedSession {
    pub(crate) record: SessionRecord,
    pub(crate) version: Version,
    /// The opened content; never printed with values.
    pub(crate) data: HashMap<String, Value>,
}

/// By stored id.
#[derive(Debug)]
pub(crate) struct SessionCache {
    store: SharedStore,
    sessions: RwLock<HashMap<String, Arc<CachedSession>>>,
    /// Grows with each batch of changes: what was read before it is not kept.
    epoch: AtomicU64,
    fresh: Mutex<Instant>,
}

impl SessionCache {
    pub(crate) async fn start(store: SharedStore) -> Result<Arc<Self>, StoreError> {
        let cursor = store.head(Collection::Sessions).await?;
        let cache = Arc::new(Self {
            store,
            sessions: RwLock::default(),
            epoch: AtomicU64::new(0),
            fresh: Mutex::new(Instant::now()),
        });
        tokio::spawn(follow(Arc::downgrade(&cache), cursor));
        Ok(cache)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<CachedSession>> {
        self.sessions.read().get(id).cloned()
    }

    /// Read before a look at the store; pass it to [`SessionCache::put`].
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Keeps what was read, unless something changed meanwhile.
    pub(crate) fn put(&self, epoch: u64, id: &str, cached: Arc<CachedSession>) {
        let mut sessions = self.sessions.write();
        if self.epoch() == epoch {
            if sessions.len() >= MOST {
                sessions.clear();
            }
            sessions.insert(id.to_owned(), cached);
        }
    }

    pub(crate) fn forget(&self, id: &str) {
        let mut sessions = self.sessions.write();
        self.epoch.fetch_add(1, Ordering::AcqRel);
        sessions.remove(id);
    }

    /// Whether ended sessions are surely known.
    pub(crate) fn is_fresh(&self) -> bool {
        self.fresh.lock().elapsed().max(self.store.freshness()) < REFUSE_AFTER
    }

    async fn apply(&self, mut cursor: i64) -> Result<i64, StoreError> {
        loop {
            let asked = Instant::now();
            let changes = self.store.changes(Collection::Sessions, cursor, 1000).await?;
            cursor = changes.cursor;
            if !changes.items.is_empty() {
                let mut sessions = self.sessions.write();
                self.epoch.fetch_add(1, Ordering::AcqRel);
                for change in &changes.items {
                    // Our own write is seen here too; the version tells it apart.
                    let version = change.document.as_ref().map(|document| document.version);
                    if sessions.get(&change.id).is_some_and(|cached| Some(cached.version) != version) {
                        sessions.remove(&change.id);
                    }
                }
            }
            if !changes.more {
                *self.fresh.lock() = asked;
                return Ok(cursor);
            }
        }
    }
}

async fn follow(cache: Weak<SessionCache>, mut cursor: i64) {
    let Some(mut hints) = cache.upgrade().map(|cache| cache.store.subscribe(Collection::Sessions)) else {
        return;
    };
    loop {
        let pushed = tokio::time::timeout(POLL, hints.changed()).await;
        if matches!(pushed, Ok(Err(_))) {
            // The store was closed: what we know grows old and is refused.
            return;
        }
        let Some(cache) = cache.upgrade() else { return };
        match cache.apply(cursor).await {
            Ok(next) => cursor = next,
            Err(error) => tracing::warn!(error = %chain(&error), "sessions cannot be followed"),
        }
    }
}
