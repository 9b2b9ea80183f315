//! The store: documents under optimistic concurrency, one suite for every backend
//! (`contract/database.md` §13).
//!
//! Reading gives a [`Version`]; replacing needs it. An unconditional replace must be asked for by name.

mod check;
mod continuation;
mod copy;
mod error;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod inspect;
mod memory;
mod notify;
mod postgres;
mod rules;
mod sqlite;
mod typed;

pub mod conformance;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::Timestamp;
use rp_documents::Collection;
use tokio::sync::watch;

pub use copy::{CopyError, CopyReport, copy, copy_only};
pub use error::StoreError;
pub use inspect::Inspection;
pub use memory::in_memory;
pub use postgres::{PostgresOptions, PostgresParts, PostgresStore, PostgresTls};
pub use sqlite::{SqliteOptions, SqliteStore};
pub use typed::{Scanned, Typed, TypedChange, TypedChanges, TypedPage, Versioned, update, update_if};

/// A store that many parts share.
pub type SharedStore = Arc<dyn Store>;

/// The etag: grows with every write of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub i64);

/// What a write expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The version that was read.
    Version(Version),
    /// Whatever stands there: the last writer wins. Say why at the call.
    Any,
}

/// A document to be written.
#[derive(Debug, Clone)]
pub struct Draft {
    pub id: String,
    pub partition: String,
    /// Unique over the collection, lower case.
    pub unique_key: Option<String>,
    /// The JSON body, kept byte for byte.
    pub body: String,
    /// The store forgets the document at this instant of its own clock: invisible at once, swept later.
    pub expires_at: Option<Timestamp>,
}

/// A document as it stands in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub id: String,
    pub partition: String,
    pub unique_key: Option<String>,
    pub body: String,
    pub version: Version,
    /// Position in the change feed.
    pub seq: i64,
    /// The store's clock at the last write.
    pub written: Timestamp,
    pub expires_at: Option<Timestamp>,
}

impl Stored {
    /// The same document with another body, to be written over this one.
    pub fn with_body(self, body: String) -> Draft {
        Draft { body, ..self.into() }
    }
}

/// As it stands, to be written again or elsewhere.
impl From<Stored> for Draft {
    fn from(stored: Stored) -> Self {
        let Stored { id, partition, unique_key, body, expires_at, .. } = stored;
        Self { id, partition, unique_key, body, expires_at }
    }
}

/// A part of a list, ordered by (partition, id).
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub items: Vec<Stored>,
    /// Opaque; `None` at the end.
    pub continuation: Option<String>,
}

/// What a scan reads, and in what order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span<'a> {
    /// The whole collection, by id.
    All,
    /// One partition, by id.
    Partition(&'a str),
    /// Documents whose unique key starts so, by key.
    Keys(&'a str),
}

/// What happened to one document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub id: String,
    pub seq: i64,
    /// `None`: the document is gone (deleted or expired).
    pub document: Option<Stored>,
}

/// The latest state of every document written after a cursor, in commit order, tombstones included.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    pub items: Vec<Change>,
    /// Pass it to the next call.
    pub cursor: i64,
    /// More may be had at once.
    pub more: bool,
}

/// One store. Every method is one short transaction; a caller may be cancelled at any await, the write
/// then either happened whole or not at all.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// Writes a new document. A living document of the same id or unique key is [`StoreError::Exists`].
    async fn create(&self, collection: Collection, draft: Draft) -> Result<Stored, StoreError>;

    /// Writes several new documents in one transaction: all or none.
    async fn create_all(&self, collection: Collection, drafts: Vec<Draft>)
    -> Result<Vec<Stored>, StoreError>;

    /// Reads by id; `None` when there is none, or it has expired.
    async fn get(&self, collection: Collection, id: &str) -> Result<Option<Stored>, StoreError>;

    /// Reads by the unique key.
    async fn get_by_key(&self, collection: Collection, key: &str) -> Result<Option<Stored>, StoreError>;

    /// Replaces a document. [`StoreError::Gone`] when there is none, [`StoreError::Stale`] when the version differs.
    async fn replace(
        &self,
        collection: Collection,
        draft: Draft,
        expect: Expect,
    ) -> Result<Stored, StoreError>;

    /// Removes a document, leaving a tombstone in the change feed.
    async fn delete(&self, collection: Collection, id: &str, expect: Expect) -> Result<(), StoreError>;

    /// Lists a collection (one partition of it when given), at most `limit` (1 to 1000) documents.
    async fn list(
        &self,
        collection: Collection,
        partition: Option<&str>,
        continuation: Option<&str>,
        limit: u32,
    ) -> Result<Page, StoreError>;

    /// At most `limit` (1 to 1000) documents of a span, in its order, after an id (a whole key for
    /// [`Span::Keys`]). Cheap at any place of a large collection.
    async fn scan(
        &self,
        collection: Collection,
        span: Span<'_>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Stored>, StoreError>;

    /// How many living documents there are.
    async fn count(&self, collection: Collection) -> Result<u64, StoreError>;

    /// What changed after `cursor` (0: everything that lives), at most `limit` changes.
    async fn changes(&self, collection: Collection, cursor: i64, limit: u32) -> Result<Changes, StoreError>;

    /// The cursor after everything written so far: a follower that reads on demand starts here, so that its
    /// start does not depend on the size of the collection.
    async fn head(&self, collection: Collection) -> Result<i64, StoreError>;

    /// Wakes when a collection changed. The value is a hint that only grows: always read [`Store::changes`].
    fn subscribe(&self, collection: Collection) -> watch::Receiver<u64>;

    /// Age of what is certainly seen by [`Store::changes`]; zero on a store with one writer in this process. On a
    /// server: how long ago it last answered as the one that takes writes.
    fn freshness(&self) -> Duration;

    /// The store's clock.
    async fn now(&self) -> Result<Timestamp, StoreError>;

    /// Whether the store can be written: the readiness check.
    async fn ready(&self) -> Result<(), StoreError>;

    /// Writes all of the store, as of one moment, into a new SQLite file (mode 0600) that [`SqliteStore::restore`]
    /// takes. Writes go on meanwhile.
    ///
    /// # Errors
    /// [`StoreError::BadCall`]: this store has tools of its own for that. The file is there already or cannot be made.
    async fn backup(&self, _to: &Path) -> Result<(), StoreError> {
        Err(StoreError::BadCall("this store is backed up by the database's own tools"))
    }

    /// Waits for what was accepted to be written, then closes. Later calls fail with [`StoreError::Closed`].
    async fn close(&self);
}
