//! The shared store: PostgreSQL, any number of processes (`contract/database.md` §13.2 to 13.4).
//!
//! Why its feed has no gaps, and what its freshness is: `docs/decisions/0005-counters-order-the-feed.md`.

mod announcer;
mod fault;
mod lane;
mod link;
mod listener;
mod op;
mod options;
mod pulse;
mod reader;
mod row;
mod schema;
mod servers;
mod sweeper;
mod together;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::{Random as _, SystemRandom, Timestamp};
use rp_documents::Collection;
use tokio::sync::{mpsc, oneshot, watch};

use self::announcer::Outbox;
use self::lane::Lane;
use self::link::Link;
use self::listener::Listener;
use self::op::{Op, Request, WriteEffect};
use self::pulse::Pulse;
use self::reader::Reader;
use self::servers::Servers;
use crate::continuation::Continuation;
use crate::notify::Notifiers;
use crate::{Changes, Draft, Expect, Inspection, Page, Span, Store, StoreError, Stored, check};

pub use self::options::{PostgresOptions, PostgresParts, PostgresTls};

/// Writes that may wait in one lane; more callers wait for room.
const WAITING: usize = 1024;

/// The store on PostgreSQL. Cheap to clone. Connections are given back by [`Store::close`], or when the last clone
/// is dropped and everything accepted is written.
#[derive(Debug, Clone)]
pub struct PostgresStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    lanes: Vec<(Collection, mpsc::Sender<Request>)>,
    reader: Reader,
    writing: Link,
    notifiers: Arc<Notifiers>,
    pulse: Arc<Pulse>,
    /// The lanes hold receivers until they have ended.
    stop: watch::Sender<bool>,
    /// Then everything else ends.
    end: watch::Sender<bool>,
    keep_tombstones: Duration,
}

impl PostgresStore {
    /// Connects and brings the schema up. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: the server does not answer, is a standby, is older than 14, its encoding is not
    /// UTF8, or a newer version of this software has written it. [`StoreError::Full`].
    pub async fn connect(options: PostgresOptions) -> Result<Self, StoreError> {
        let servers = Servers::new(&options);
        servers.seek().await;
        schema::migrate(&servers.current().1, options.start_wait).await?;
        let connections = options.max_connections.max(6);
        let writing = Link::new(&options, &servers, connections / 3);
        let reading = Link::new(&options, &servers, connections - connections / 3);
        // Connects now, so that a standby is reported at start.
        drop(reading.acquire_within(options.start_wait).await?);
        let (begun, mut listening) = watch::channel(false);
        let store = Self::start(&options, writing, reading, begun);
        // From now on followers are notified of every change. If it takes too long, followers poll.
        let _ = tokio::time::timeout(options.connect_wait, listening.wait_for(|begun| *begun)).await;
        if let Some(period) = options.sweep_every {
            sweeper::start(&store, period, store.0.end.subscribe());
        }
        Ok(store)
    }

    /// What the database is, as far as a connection tells; changes nothing.
    ///
    /// # Errors
    /// It cannot be reached or used, its server is a standby, or a newer version of this software made its schema.
    pub async fn inspect(options: &PostgresOptions) -> Result<Inspection, StoreError> {
        let servers = Servers::new(options);
        servers.seek().await;
        Ok(schema::inspect(&servers.current().1, options.connect_wait).await?)
    }

    fn start(options: &PostgresOptions, writing: Link, reading: Link, begun: watch::Sender<bool>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (end, ended) = watch::channel(false);
        let notifiers = Arc::new(Notifiers::new());
        let outbox = Arc::new(Outbox::default());
        let pulse = Arc::new(Pulse::new());
        let own = SystemRandom.uuid().simple().to_string();
        let lanes = Collection::ALL.into_iter().map(|collection| {
            let (requests, receiver) = mpsc::channel(WAITING);
            let lane = Lane {
                collection,
                link: writing.clone(),
                requests: receiver,
                notifiers: Arc::clone(&notifiers),
                outbox: Arc::clone(&outbox),
            };
            tokio::spawn(lane.run(stopped.clone()));
            (collection, requests)
        });
        let lanes = lanes.collect();
        tokio::spawn(announcer::run(reading.clone(), outbox, own.clone(), ended.clone()));
        let listener = Listener { link: reading.clone(), notifiers: Arc::clone(&notifiers), own, begun };
        tokio::spawn(listener::run(listener, ended.clone()));
        tokio::spawn(pulse::run(reading.clone(), Arc::clone(&pulse), options.pulse_every, ended));
        let reader = Reader(reading);
        let keep_tombstones = options.keep_tombstones;
        Self(Arc::new(Inner { lanes, reader, writing, notifiers, pulse, stop, end, keep_tombstones }))
    }

    /// Turns expired documents into tombstones and drops old tombstones, all that there are; gives how many rows
    /// it worked on. Zero when nothing is left to do, or another process is at it.
    ///
    /// # Errors
    /// As any write.
    pub async fn sweep(&self) -> Result<u64, StoreError> {
        sweeper::all(self).await
    }

    async fn write(&self, collection: Collection, op: Op) -> Result<WriteEffect, StoreError> {
        let (reply, answer) = oneshot::channel();
        let lane = self.0.lanes.iter().find(|(each, _)| *each == collection).ok_or(StoreError::Closed)?;
        lane.1.send(Request { op, reply }).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    async fn write_one(&self, collection: Collection, op: Op) -> Result<Stored, StoreError> {
        let done = self.write(collection, op).await?;
        done.stored.into_iter().next().ok_or(StoreError::Closed)
    }

    fn open_for_reads(&self) -> Result<&Reader, StoreError> {
        if *self.0.stop.borrow() { Err(StoreError::Closed) } else { Ok(&self.0.reader) }
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn create(&self, collection: Collection, draft: Draft) -> Result<Stored, StoreError> {
        check::draft(&draft)?;
        self.write_one(collection, Op::Create(vec![draft])).await
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
        Ok(self.write(collection, Op::Create(drafts)).await?.stored)
    }

    async fn get(&self, collection: Collection, id: &str) -> Result<Option<Stored>, StoreError> {
        check::id(id)?;
        self.open_for_reads()?.get(collection, id).await
    }

    async fn get_by_key(&self, collection: Collection, key: &str) -> Result<Option<Stored>, StoreError> {
        check::key(key)?;
        self.open_for_reads()?.get_by_key(collection, key).await
    }

    async fn replace(
        &self,
        collection: Collection,
        draft: Draft,
        expect: Expect,
    ) -> Result<Stored, StoreError> {
        check::draft(&draft)?;
        self.write_one(collection, Op::Replace(draft, expect)).await
    }

    async fn delete(&self, collection: Collection, id: &str, expect: Expect) -> Result<(), StoreError> {
        check::id(id)?;
        self.write(collection, Op::Delete(id.to_owned(), expect)).await.map(drop)
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
        self.open_for_reads()?.list(collection, partition, from, limit).await
    }

    async fn scan(
        &self,
        collection: Collection,
        span: Span<'_>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Stored>, StoreError> {
        check::limit(limit)?;
        self.open_for_reads()?.scan(collection, span, after, limit).await
    }

    async fn count(&self, collection: Collection) -> Result<u64, StoreError> {
        self.open_for_reads()?.count(collection).await
    }

    async fn changes(&self, collection: Collection, cursor: i64, limit: u32) -> Result<Changes, StoreError> {
        check::limit(limit)?;
        check::cursor(cursor)?;
        self.open_for_reads()?.changes(collection, cursor, limit).await
    }

    async fn head(&self, collection: Collection) -> Result<i64, StoreError> {
        self.open_for_reads()?.head(collection).await
    }

    fn subscribe(&self, collection: Collection) -> watch::Receiver<u64> {
        self.0.notifiers.subscribe(collection)
    }

    fn freshness(&self) -> Duration {
        self.0.pulse.age()
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        self.open_for_reads()?.now().await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.write(Collection::ALL[0], Op::Probe).await.map(drop)
    }

    async fn close(&self) {
        self.0.stop.send_replace(true);
        // The lanes drop their receivers when the last accepted write is done.
        self.0.stop.closed().await;
        self.0.end.send_replace(true);
        self.0.end.closed().await;
        self.0.writing.close().await;
        self.0.reader.0.close().await;
    }
}
