//! A store in memory that fails on demand and can be tampered with.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_base::Timestamp;
use rp_database::{Change, Changes, Draft, Expect, Page, Span, Store, StoreError, Stored, Version};
use rp_documents::Collection;
use tokio::sync::watch;

type Key = (&'static str, String, String);

#[derive(Debug)]
pub(crate) struct Shelf {
    items: Mutex<BTreeMap<Key, Stored>>,
    seq: AtomicI64,
    /// Writes fail without effect.
    pub(crate) failing: AtomicBool,
    /// That many writes happen but their answers are lost.
    pub(crate) lost_answers: AtomicUsize,
    /// Writes of the log itself: batches and checkpoints.
    pub(crate) writes: watch::Sender<u64>,
    /// The store's clock at writes, milliseconds.
    pub(crate) clock: AtomicI64,
}

impl Shelf {
    pub(crate) fn new() -> Self {
        Self {
            items: Mutex::default(),
            seq: AtomicI64::new(0),
            failing: AtomicBool::new(false),
            lost_answers: AtomicUsize::new(0),
            writes: watch::channel(0).0,
            clock: AtomicI64::new(0),
        }
    }

    /// All documents of a collection, in order.
    pub(crate) fn all(&self, collection: Collection) -> Vec<Stored> {
        let items = self.items.lock();
        items.iter().filter(|(key, _)| key.0 == collection.name()).map(|(_, stored)| stored.clone()).collect()
    }

    /// Changes a document's body behind the store's back.
    pub(crate) fn tamper(&self, collection: Collection, id: &str, body: String) {
        let mut items = self.items.lock();
        let (_, stored) =
            items.iter_mut().find(|(key, _)| key.0 == collection.name() && key.2 == id).unwrap();
        stored.body = body;
    }

    /// Removes a document behind the store's back.
    pub(crate) fn remove(&self, collection: Collection, id: &str) {
        self.items.lock().retain(|key, _| key.0 != collection.name() || key.2 != id);
    }

    fn put(&self, collection: Collection, draft: Draft) -> Stored {
        let Draft { id, partition, unique_key, body, expires_at } = draft;
        let seq = self.seq.fetch_add(1, SeqCst) + 1;
        let written = Timestamp::from_millis(self.clock.load(SeqCst));
        let version = Version(seq);
        let stored = Stored { id, partition, unique_key, body, version, seq, written, expires_at };
        let key = (collection.name(), stored.partition.clone(), stored.id.clone());
        self.items.lock().insert(key, stored.clone());
        stored
    }

    fn allow(&self, collection: Collection) -> Result<(), StoreError> {
        if matches!(collection, Collection::AuditBatches | Collection::Checkpoints) {
            self.writes.send_modify(|writes| *writes += 1);
        }
        if self.failing.load(SeqCst) { Err(failed()) } else { Ok(()) }
    }

    fn standing(&self, collection: Collection, id: &str) -> Option<Stored> {
        self.all(collection).into_iter().find(|stored| stored.id == id)
    }

    fn expected(&self, collection: Collection, id: &str, expect: Expect) -> Result<(), StoreError> {
        match (self.standing(collection, id), expect) {
            (None, _) => Err(StoreError::Gone { collection }),
            (Some(stored), Expect::Version(version)) if stored.version != version => {
                Err(StoreError::Stale { collection })
            }
            (Some(_), _) => Ok(()),
        }
    }
}

fn failed() -> StoreError {
    StoreError::Unavailable("as the test asked".into())
}

#[async_trait]
impl Store for Shelf {
    async fn create(&self, collection: Collection, draft: Draft) -> Result<Stored, StoreError> {
        self.allow(collection)?;
        if self.standing(collection, &draft.id).is_some() {
            return Err(StoreError::Exists { collection, which: "id" });
        }
        let stored = self.put(collection, draft);
        let lose = self.lost_answers.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        if lose { Err(failed()) } else { Ok(stored) }
    }

    async fn create_all(
        &self,
        collection: Collection,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Stored>, StoreError> {
        self.allow(collection)?;
        if drafts.iter().any(|draft| self.standing(collection, &draft.id).is_some()) {
            return Err(StoreError::Exists { collection, which: "id" });
        }
        Ok(drafts.into_iter().map(|draft| self.put(collection, draft)).collect())
    }

    async fn get(&self, collection: Collection, id: &str) -> Result<Option<Stored>, StoreError> {
        Ok(self.standing(collection, id))
    }

    async fn get_by_key(&self, _: Collection, _: &str) -> Result<Option<Stored>, StoreError> {
        Err(StoreError::BadCall("not on this shelf"))
    }

    async fn replace(
        &self,
        collection: Collection,
        draft: Draft,
        expect: Expect,
    ) -> Result<Stored, StoreError> {
        self.allow(collection)?;
        self.expected(collection, &draft.id, expect)?;
        Ok(self.put(collection, draft))
    }

    async fn delete(&self, collection: Collection, id: &str, expect: Expect) -> Result<(), StoreError> {
        if self.failing.load(SeqCst) {
            return Err(failed());
        }
        self.expected(collection, id, expect)?;
        self.remove(collection, id);
        Ok(())
    }

    async fn scan(
        &self,
        collection: Collection,
        span: Span<'_>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Stored>, StoreError> {
        let mut items = self.all(collection);
        items.sort_by(|a, b| a.id.cmp(&b.id));
        items.retain(|stored| match span {
            Span::All => true,
            Span::Partition(partition) => stored.partition == partition,
            Span::Keys(prefix) => stored.unique_key.as_ref().is_some_and(|key| key.starts_with(prefix)),
        });
        items.retain(|stored| after.is_none_or(|after| stored.id.as_str() > after));
        items.truncate(usize::try_from(limit).unwrap());
        Ok(items)
    }

    async fn list(
        &self,
        collection: Collection,
        _: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page, StoreError> {
        let limit = usize::try_from(limit).unwrap();
        let mut items = self.all(collection);
        items.retain(|stored| after.is_none_or(|after| stored.id.as_str() > after));
        let more = items.len() > limit;
        items.truncate(limit);
        let continuation = items.last().filter(|_| more).map(|stored| stored.id.clone());
        Ok(Page { items, continuation })
    }

    async fn count(&self, collection: Collection) -> Result<u64, StoreError> {
        Ok(self.all(collection).len() as u64)
    }

    async fn changes(&self, collection: Collection, cursor: i64, limit: u32) -> Result<Changes, StoreError> {
        let limit = usize::try_from(limit).unwrap();
        let mut items = self.all(collection);
        items.retain(|stored| stored.seq > cursor);
        items.sort_by_key(|stored| stored.seq);
        let more = items.len() > limit;
        items.truncate(limit);
        let cursor = items.last().map_or(cursor, |stored| stored.seq);
        let change =
            |stored: Stored| Change { id: stored.id.clone(), seq: stored.seq, document: Some(stored) };
        Ok(Changes { items: items.into_iter().map(change).collect(), cursor, more })
    }

    async fn head(&self, _: Collection) -> Result<i64, StoreError> {
        Ok(self.seq.load(SeqCst))
    }

    fn subscribe(&self, _: Collection) -> watch::Receiver<u64> {
        self.writes.subscribe()
    }

    fn freshness(&self) -> Duration {
        Duration::ZERO
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(Timestamp::default())
    }

    async fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(&self) {}
}
