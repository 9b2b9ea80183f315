//! A store with an interceptor: before a call reaches it, and before its answer comes back, a test may wait,
//! fail, count or write something itself.

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::Timestamp;
use rp_database::{Changes, Draft, Expect, Page, SharedStore, Span, Store, StoreError, Stored};
use rp_documents::Collection;
use tokio::sync::watch;

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Create,
    Replace,
    Delete,
    Get,
    /// Lists, scans, counts and reads by the unique key.
    Search,
    Changes,
    Head,
    Now,
    Ready,
}

impl Method {
    /// Whether it changes documents.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Create | Self::Replace | Self::Delete)
    }

    /// Whether it reads or writes documents; looks at the feed and the clock do not.
    pub const fn queries(self) -> bool {
        !matches!(self, Self::Changes | Self::Head | Self::Now | Self::Ready)
    }
}

/// One call.
#[derive(Debug, Clone, Copy)]
pub struct StoreCall<'a> {
    pub method: Method,
    /// None: of the whole store.
    pub collection: Option<Collection>,
    /// Of the one document that it is about, where it stands already.
    pub id: Option<&'a str>,
}

/// Whether the caller gets the store's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Delivered,
    /// The store executes the call, but the caller gets an error.
    Lost,
}

/// Intercepts the calls of a store.
#[async_trait]
pub trait StoreInterceptor: Debug + Send + Sync + 'static {
    /// Before the store is called; an error is the answer, and the store is not called.
    async fn before(&self, _store: &SharedStore, _call: StoreCall<'_>) -> Result<Delivery, StoreError> {
        Ok(Delivery::Delivered)
    }

    /// After the store has executed the call; an error replaces its answer.
    async fn after(&self, _call: StoreCall<'_>) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The error of a test's store that is told to fail.
pub fn told_to_fail() -> StoreError {
    StoreError::Unavailable("told to fail".into())
}

/// The store behind, with `B` in front of it, as which it is asked.
#[derive(Debug)]
pub struct Interposed<B> {
    /// The store itself; calls to it are not intercepted.
    pub inner: SharedStore,
    between: B,
}

impl<B> Deref for Interposed<B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.between
    }
}

impl<B: StoreInterceptor> Interposed<B> {
    /// Puts `between` in front of a store.
    pub fn new(inner: SharedStore, between: B) -> Arc<Self> {
        Arc::new(Self { inner, between })
    }

    async fn through<T: Send>(
        &self,
        method: Method,
        collection: Option<Collection>,
        id: Option<&str>,
        run: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let call = StoreCall { method, collection, id };
        let answered = self.between.before(&self.inner, call).await?;
        let answer = run.await?;
        self.between.after(call).await?;
        if answered == Delivery::Lost { Err(told_to_fail()) } else { Ok(answer) }
    }
}

#[async_trait]
impl<B: StoreInterceptor> Store for Interposed<B> {
    async fn create(&self, collection: Collection, draft: Draft) -> Result<Stored, StoreError> {
        self.through(Method::Create, Some(collection), None, self.inner.create(collection, draft)).await
    }

    async fn create_all(
        &self,
        collection: Collection,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Stored>, StoreError> {
        self.through(Method::Create, Some(collection), None, self.inner.create_all(collection, drafts)).await
    }

    async fn get(&self, collection: Collection, id: &str) -> Result<Option<Stored>, StoreError> {
        self.through(Method::Get, Some(collection), Some(id), self.inner.get(collection, id)).await
    }

    async fn get_by_key(&self, collection: Collection, key: &str) -> Result<Option<Stored>, StoreError> {
        self.through(Method::Search, Some(collection), None, self.inner.get_by_key(collection, key)).await
    }

    async fn replace(
        &self,
        collection: Collection,
        draft: Draft,
        expect: Expect,
    ) -> Result<Stored, StoreError> {
        let id = draft.id.clone();
        let run = self.inner.replace(collection, draft, expect);
        self.through(Method::Replace, Some(collection), Some(&id), run).await
    }

    async fn delete(&self, collection: Collection, id: &str, expect: Expect) -> Result<(), StoreError> {
        let run = self.inner.delete(collection, id, expect);
        self.through(Method::Delete, Some(collection), Some(id), run).await
    }

    async fn list(
        &self,
        collection: Collection,
        partition: Option<&str>,
        continuation: Option<&str>,
        limit: u32,
    ) -> Result<Page, StoreError> {
        let run = self.inner.list(collection, partition, continuation, limit);
        self.through(Method::Search, Some(collection), None, run).await
    }

    async fn scan(
        &self,
        collection: Collection,
        span: Span<'_>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Stored>, StoreError> {
        let run = self.inner.scan(collection, span, after, limit);
        self.through(Method::Search, Some(collection), None, run).await
    }

    async fn count(&self, collection: Collection) -> Result<u64, StoreError> {
        self.through(Method::Search, Some(collection), None, self.inner.count(collection)).await
    }

    async fn changes(&self, collection: Collection, cursor: i64, limit: u32) -> Result<Changes, StoreError> {
        let run = self.inner.changes(collection, cursor, limit);
        self.through(Method::Changes, Some(collection), None, run).await
    }

    async fn head(&self, collection: Collection) -> Result<i64, StoreError> {
        self.through(Method::Head, Some(collection), None, self.inner.head(collection)).await
    }

    fn subscribe(&self, collection: Collection) -> watch::Receiver<u64> {
        self.inner.subscribe(collection)
    }

    fn freshness(&self) -> Duration {
        self.inner.freshness()
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        self.through(Method::Now, None, None, self.inner.now()).await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.through(Method::Ready, None, None, self.inner.ready()).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
