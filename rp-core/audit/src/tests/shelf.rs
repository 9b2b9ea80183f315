//! A store in memory that fails on demand and can be tampered with.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_base::Timestamp;
use rp_database::{Changes, Draft, Expect, Page, Store, StoreError, Stored, Version};
use rp_documents::Collection;
use tokio::sync::watch;

type Key = (&'static str, String, String);

#[derive(Debug)]
pub(crate) struct Shelf {
    items: Mutex<BTreeMap<Key, Stored>>,
    /// Writes fail without effect.
    pub(crate) failing: AtomicBool,
    /// That many writes happen but their answers are lost.
    pub(crate) lost_answers: AtomicUsize,
    pub(crate) writes: watch::Sender<u64>,
}

impl Shelf {
    pub(crate) fn new() -> Self {
        Self {
            items: Mutex::default(),
            failing: AtomicBool::new(false),
            lost_answers: AtomicUsize::new(0),
            writes: watch::channel(0).0,
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
}

fn failed() -> StoreError {
    StoreError::Unavailable("as the test asked".into())
}

#[async_trait]
impl Store for Shelf {
    async fn create(&self, collection: Collection, draft: Draft) -> Result<Stored, StoreError> {
        self.writes.send_modify(|writes| *writes += 1);
        if self.failing.load(SeqCst) {
            return Err(failed());
        }
        let key = (collection.name(), draft.partition.clone(), draft.id.clone());
        let mut items = self.items.lock();
        if items.contains_key(&key) {
            return Err(StoreError::Exists { collection, which: "id" });
        }
        let Draft { id, partition, unique_key, body, expires_at } = draft;
        let written = Timestamp::default();
        let stored =
            Stored { id, partition, unique_key, body, version: Version(1), seq: 1, written, expires_at };
        items.insert(key, stored.clone());
        let lose = self.lost_answers.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        if lose { Err(failed()) } else { Ok(stored) }
    }

    async fn create_all(&self, _: Collection, _: Vec<Draft>) -> Result<Vec<Stored>, StoreError> {
        Err(StoreError::BadCall("not on this shelf"))
    }

    async fn get(&self, collection: Collection, id: &str) -> Result<Option<Stored>, StoreError> {
        Ok(self.all(collection).into_iter().find(|stored| stored.id == id))
    }

    async fn get_by_key(&self, _: Collection, _: &str) -> Result<Option<Stored>, StoreError> {
        Err(StoreError::BadCall("not on this shelf"))
    }

    async fn replace(&self, _: Collection, _: Draft, _: Expect) -> Result<Stored, StoreError> {
        Err(StoreError::BadCall("not on this shelf"))
    }

    async fn delete(&self, _: Collection, _: &str, _: Expect) -> Result<(), StoreError> {
        Err(StoreError::BadCall("not on this shelf"))
    }

    async fn scan(
        &self,
        _: Collection,
        _: rp_database::Span<'_>,
        _: Option<&str>,
        _: u32,
    ) -> Result<Vec<Stored>, StoreError> {
        Err(StoreError::BadCall("not on this shelf"))
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

    async fn changes(&self, _: Collection, _: i64, _: u32) -> Result<Changes, StoreError> {
        Err(StoreError::BadCall("not on this shelf"))
    }

    async fn head(&self, _: Collection) -> Result<i64, StoreError> {
        Ok(0)
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
