//! A store that passes everything on until it is told to fail, to hang or to hold something back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_base::Timestamp;
use rp_database::{Changes, Draft, Expect, Page, SharedStore, Store, StoreError, Stored};
use rp_documents::Collection;
use tokio::sync::watch;

/// What a kind of call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Pass,
    Fail,
    /// Never answers while this is the mode.
    Hang,
}

/// The store and its switches.
#[derive(Debug)]
pub(crate) struct Faulty {
    inner: SharedStore,
    pub(crate) changes: watch::Sender<Mode>,
    pub(crate) creates: watch::Sender<Mode>,
    /// Reads are done at once, but their answers come back when this passes.
    pub(crate) reads: watch::Sender<Mode>,
    pub(crate) creating: Mutex<usize>,
    pub(crate) reading: watch::Sender<usize>,
    /// Calls that read or write documents; looks at the feed and the clock are none.
    pub(crate) queries: AtomicUsize,
}

impl Faulty {
    pub(crate) fn new(inner: SharedStore) -> Arc<Self> {
        let mode = || watch::Sender::new(Mode::Pass);
        Arc::new(Self {
            inner,
            changes: mode(),
            creates: mode(),
            reads: mode(),
            creating: Mutex::new(0),
            reading: watch::Sender::new(0),
            queries: AtomicUsize::new(0),
        })
    }
}

async fn gate(mode: &watch::Sender<Mode>) -> Result<(), StoreError> {
    let mut mode = mode.subscribe();
    let now = mode.wait_for(|mode| *mode != Mode::Hang).await.map(|mode| *mode);
    match now {
        Ok(Mode::Pass) => Ok(()),
        Ok(Mode::Fail | Mode::Hang) | Err(_) => Err(StoreError::Unavailable("told to fail".into())),
    }
}

#[async_trait]
impl Store for Faulty {
    async fn create(&self, collection: Collection, draft: Draft) -> Result<Stored, StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        *self.creating.lock() += 1;
        gate(&self.creates).await?;
        self.inner.create(collection, draft).await
    }

    async fn create_all(
        &self,
        collection: Collection,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Stored>, StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        *self.creating.lock() += 1;
        gate(&self.creates).await?;
        self.inner.create_all(collection, drafts).await
    }

    async fn get(&self, collection: Collection, id: &str) -> Result<Option<Stored>, StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        let found = self.inner.get(collection, id).await;
        self.reading.send_modify(|reading| *reading += 1);
        gate(&self.reads).await?;
        found
    }

    async fn get_by_key(&self, collection: Collection, key: &str) -> Result<Option<Stored>, StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.inner.get_by_key(collection, key).await
    }

    async fn replace(
        &self,
        collection: Collection,
        draft: Draft,
        expect: Expect,
    ) -> Result<Stored, StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.inner.replace(collection, draft, expect).await
    }

    async fn delete(&self, collection: Collection, id: &str, expect: Expect) -> Result<(), StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.inner.delete(collection, id, expect).await
    }

    async fn scan(
        &self,
        collection: Collection,
        span: rp_database::Span<'_>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Stored>, StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.inner.scan(collection, span, after, limit).await
    }

    async fn list(
        &self,
        collection: Collection,
        partition: Option<&str>,
        continuation: Option<&str>,
        limit: u32,
    ) -> Result<Page, StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.inner.list(collection, partition, continuation, limit).await
    }

    async fn count(&self, collection: Collection) -> Result<u64, StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.inner.count(collection).await
    }

    async fn changes(&self, collection: Collection, cursor: i64, limit: u32) -> Result<Changes, StoreError> {
        gate(&self.changes).await?;
        self.inner.changes(collection, cursor, limit).await
    }

    async fn head(&self, collection: Collection) -> Result<i64, StoreError> {
        self.inner.head(collection).await
    }

    fn subscribe(&self, collection: Collection) -> watch::Receiver<u64> {
        self.inner.subscribe(collection)
    }

    fn freshness(&self) -> Duration {
        self.inner.freshness()
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        self.inner.now().await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.inner.ready().await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
