//! The embedded store: one SQLite file, one process, one writer (`contract/database.md` §13.2 to 13.4).

mod backup;
mod fault;
mod file;
mod link;
mod op;
mod reader;
mod row;
mod schema;
mod sweeper;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::{SharedClock, Timestamp};
use rp_documents::Collection;
use tokio::sync::{mpsc, oneshot, watch};

use self::link::{Link, Readers};
use self::op::{Op, Request, WriteEffect};
use self::reader::Reader;
use self::writer::Writer;
use crate::continuation::Continuation;
use crate::notify::Notifiers;
use crate::{Changes, Draft, Expect, Inspection, Page, Span, Store, StoreError, Stored, check};

/// Writes that may wait for the writer; more callers wait for room.
const WAITING: usize = 1024;
const KEEP_TOMBSTONES: Duration = Duration::from_secs(24 * 3600);

/// How the file is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file; made with mode 0600 when there is none. `-wal`, `-shm` and `.lock` stand beside it.
    pub path: PathBuf,
    /// The store's clock: decides expiry.
    pub clock: SharedClock,
    /// How often expired documents become tombstones and old tombstones are dropped; `None`: never.
    pub sweep_every: Option<Duration>,
    /// How long a follower may be away without missing that a document is gone.
    pub keep_tombstones: Duration,
    /// Connections that read.
    pub readers: u32,
    /// How long one try waits when another process (a backup, a person's shell) has locked the file; three tries.
    pub busy_wait: Duration,
    /// For tests: the file's greatest size in pages of 4096 bytes, a small disk.
    pub max_pages: Option<u32>,
}

impl SqliteOptions {
    /// The usual ones: sweep every 30 s, tombstones for 24 h (`contract/database.md` §13.4), 4 readers.
    pub fn new(path: impl Into<PathBuf>, clock: SharedClock) -> Self {
        Self {
            path: path.into(),
            clock,
            sweep_every: Some(Duration::from_secs(30)),
            keep_tombstones: KEEP_TOMBSTONES,
            readers: 4,
            busy_wait: Duration::from_secs(2),
            max_pages: None,
        }
    }
}

/// The embedded store. Cheap to clone; the file is given back by [`Store::close`], or when the last clone is
/// dropped and everything accepted is written.
#[derive(Debug, Clone)]
pub struct SqliteStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    requests: mpsc::Sender<Request>,
    reader: Reader,
    /// `None`: in memory.
    path: Option<PathBuf>,
    clock: SharedClock,
    notifiers: Arc<Notifiers>,
    /// The writer holds the receiver until it has ended.
    stop: watch::Sender<bool>,
    keep_tombstones: Duration,
}

impl SqliteStore {
    /// What a file is, whether or not a process uses it; changes nothing.
    ///
    /// # Errors
    /// It is not there, is no store, or a newer version of this software made its schema.
    pub async fn inspect(path: &Path) -> Result<Inspection, StoreError> {
        Ok(schema::inspect(path).await?)
    }

    /// Opens the file, makes it when there is none, and brings its schema up. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`StoreError::Held`]: another process has it. [`StoreError::Unavailable`]: it cannot be opened, is no
    /// store, or was written by a newer version. [`StoreError::Full`].
    pub async fn open(options: SqliteOptions) -> Result<Self, StoreError> {
        let lock = file::prepare(&options.path)?;
        let link = Link::new(file::writing(&options));
        // Opens and migrates now, so that a bad file is reported at start.
        drop(link.acquire().await?);
        let readers = Readers::Pool(file::readers(&options));
        let held = Some((options.path.clone(), lock));
        let store = Self::start(link, readers, &options.clock, options.keep_tombstones, held);
        if let Some(period) = options.sweep_every {
            sweeper::start(&store, period);
        }
        Ok(store)
    }

    /// An empty store without a file, for tests; it lives as long as it is held. Needs a tokio runtime.
    /// Nothing sweeps it but [`SqliteStore::sweep`].
    pub fn memory(clock: &SharedClock) -> Self {
        let link = Link::new(file::memory());
        Self::start(link.clone(), Readers::Same(link), clock, KEEP_TOMBSTONES, None)
    }

    fn start(
        link: Link,
        readers: Readers,
        clock: &SharedClock,
        keep_tombstones: Duration,
        held: Option<(PathBuf, std::fs::File)>,
    ) -> Self {
        let (path, lock) = held.unzip();
        let (requests, receiver) = mpsc::channel(WAITING);
        let (stop, stopped) = watch::channel(false);
        let notifiers = Arc::new(Notifiers::new());
        let writer = Writer {
            link,
            requests: receiver,
            clock: Arc::clone(clock),
            notifiers: Arc::clone(&notifiers),
            lock,
        };
        tokio::spawn(writer.run(stopped));
        let clock = Arc::clone(clock);
        let reader = Reader(readers);
        Self(Arc::new(Inner { requests, reader, path, clock, notifiers, stop, keep_tombstones }))
    }

    /// Puts what [`Store::backup`] wrote in the place of a store's file. What was there is kept beside it; gives its
    /// path, or `None` when nothing was there.
    ///
    /// # Errors
    /// [`StoreError::Held`]: a process uses the store; nothing was changed. [`StoreError::Unavailable`]: the backup is
    /// none, is damaged, was written by a newer version, or a file cannot be written.
    pub async fn restore(backup: &Path, path: &Path) -> Result<Option<PathBuf>, StoreError> {
        backup::restore(backup, path).await
    }

    /// Turns expired documents into tombstones and drops old tombstones, a bounded number; gives how many
    /// rows it worked on. Zero: nothing is left to do.
    ///
    /// # Errors
    /// As any write.
    pub async fn sweep(&self) -> Result<u64, StoreError> {
        let drop_before = self.0.clock.now() - self.0.keep_tombstones;
        Ok(self.write(Op::Sweep { drop_before }).await?.swept)
    }

    async fn write(&self, op: Op) -> Result<WriteEffect, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.0.requests.send(Request { op, reply }).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    async fn write_one(&self, op: Op) -> Result<Stored, StoreError> {
        let done = self.write(op).await?;
        done.stored.into_iter().next().ok_or(StoreError::Closed)
    }

    fn open_for_reads(&self) -> Result<&Reader, StoreError> {
        if *self.0.stop.borrow() { Err(StoreError::Closed) } else { Ok(&self.0.reader) }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, collection: Collection, draft: Draft) -> Result<Stored, StoreError> {
        check::draft(&draft)?;
        self.write_one(Op::Create { collection, drafts: vec![draft] }).await
    }

    async fn create_all(
        &self,
        collection: Collection,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Stored>, StoreError> {
        check::drafts(&drafts)?;
        if drafts.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.write(Op::Create { collection, drafts }).await?.stored)
    }

    async fn get(&self, collection: Collection, id: &str) -> Result<Option<Stored>, StoreError> {
        check::id(id)?;
        self.open_for_reads()?.get(collection, id, self.0.clock.now()).await
    }

    async fn get_by_key(&self, collection: Collection, key: &str) -> Result<Option<Stored>, StoreError> {
        check::key(key)?;
        self.open_for_reads()?.get_by_key(collection, key, self.0.clock.now()).await
    }

    async fn replace(
        &self,
        collection: Collection,
        draft: Draft,
        expect: Expect,
    ) -> Result<Stored, StoreError> {
        check::draft(&draft)?;
        self.write_one(Op::Replace { collection, draft, expect }).await
    }

    async fn delete(&self, collection: Collection, id: &str, expect: Expect) -> Result<(), StoreError> {
        check::id(id)?;
        self.write(Op::Delete { collection, id: id.to_owned(), expect }).await.map(drop)
    }

    async fn list(
        &self,
        collection: Collection,
        partition: Option<&str>,
        continuation: Option<&str>,
        limit: u32,
    ) -> Result<Page, StoreError> {
        check::limit(limit)?;
        let from = continuation.map(|text| Continuation::decode(text, collection, partition)).transpose()?;
        self.open_for_reads()?.list(collection, partition, from, limit, self.0.clock.now()).await
    }

    async fn scan(
        &self,
        collection: Collection,
        span: Span<'_>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Stored>, StoreError> {
        check::limit(limit)?;
        self.open_for_reads()?.scan(collection, span, after, limit, self.0.clock.now()).await
    }

    async fn count(&self, collection: Collection) -> Result<u64, StoreError> {
        self.open_for_reads()?.count(collection, self.0.clock.now()).await
    }

    async fn changes(&self, collection: Collection, cursor: i64, limit: u32) -> Result<Changes, StoreError> {
        check::limit(limit)?;
        check::cursor(cursor)?;
        self.open_for_reads()?.changes(collection, cursor, limit, self.0.clock.now()).await
    }

    async fn head(&self, _collection: Collection) -> Result<i64, StoreError> {
        self.open_for_reads()?.head().await
    }

    fn subscribe(&self, collection: Collection) -> watch::Receiver<u64> {
        self.0.notifiers.subscribe(collection)
    }

    fn freshness(&self) -> Duration {
        Duration::ZERO
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.0.clock.now())
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.write(Op::Probe).await.map(drop)
    }

    async fn backup(&self, to: &Path) -> Result<(), StoreError> {
        self.open_for_reads()?;
        let path = self.0.path.as_deref().ok_or(StoreError::BadCall("a store in memory has no backup"))?;
        backup::write(path, to).await
    }

    async fn close(&self) {
        self.0.stop.send_replace(true);
        // The writer drops its receiver when the last accepted write is done and the lock is given back.
        self.0.stop.closed().await;
        self.0.reader.0.close().await;
    }
}
