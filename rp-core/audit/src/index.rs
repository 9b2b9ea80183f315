//! The index behind searches: which blocks of the log may hold what is looked for. It is made from the batches,
//! in the order of their commits, by every process alike, and can be made anew at any time. It is not used when
//! the log is verified: [`crate::Audit::verify`] does not read it.

pub(crate) mod bits;
pub(crate) mod heads;
pub(crate) mod lookup;
mod open;
pub(crate) mod part;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{Timestamp, chain};
use rp_database::{Change, Expect, SharedStore, Span, StoreError};
use rp_documents::Collection;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::AuditError;
use heads::Heads;
use open::OpenPart;
use part::{FORM, HEADERS, Header};

/// Batches that are read at once: at most 512 entries each.
const PAGE: u32 = 32;
/// The shortest time between two reads of the feed: entries that came together are read together.
const PAUSE: Duration = Duration::from_millis(200);
/// The feed is read this often even without a notification.
const POLL: Duration = Duration::from_secs(5);
/// After a failure of the store.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Documents that are removed at once when the index is made anew.
const REMOVED: u32 = 200;
/// The one document of the collection that is no part of the index.
pub(crate) const CURSOR_KEY: &str = "cursor-key";

/// The index as one process sees it.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) store: SharedStore,
    open: Arc<Mutex<OpenPart>>,
    /// Held while the index is made: by one task at a time.
    making: tokio::sync::Mutex<()>,
    pub(crate) heads: Heads,
    /// Position up to which the open part was made, and the time of the last entry in it.
    progress: watch::Sender<(i64, Option<Timestamp>)>,
}

impl Index {
    pub(crate) fn new(store: SharedStore, heads: Heads) -> Arc<Self> {
        let progress = watch::channel((0, None)).0;
        let (open, making) = (Arc::default(), tokio::sync::Mutex::new(()));
        Arc::new(Self { store, open, making, heads, progress })
    }

    /// The time of the last entry that the index has.
    pub(crate) fn indexed_to(&self) -> Option<Timestamp> {
        self.progress.borrow().1
    }

    /// What is not in a stored part yet, for a search.
    pub(crate) fn open(&self) -> parking_lot::MutexGuard<'_, OpenPart> {
        self.open.lock()
    }

    /// Waits until it is known what the index has; a search before that would read the log from its end.
    pub(crate) async fn ready(&self) -> Result<(), AuditError> {
        if self.open.lock().loaded { Ok(()) } else { self.load().await }
    }

    /// Follows the log until `closing`.
    pub(crate) async fn run(self: Arc<Self>, mut closing: watch::Receiver<bool>) {
        let mut changed = self.store.subscribe(Collection::AuditBatches);
        let mut failing = false;
        let work = async {
            loop {
                changed.mark_unchanged();
                match self.catch_up().await {
                    Ok(()) => failing = false,
                    Err(error) => {
                        if !std::mem::replace(&mut failing, true) {
                            tracing::warn!(error = %chain(&error), "the audit index does not follow; searches take longer");
                        }
                        sleep(AFTER_FAILURE).await;
                        continue;
                    }
                }
                // Errors do not matter: the value is only a hint.
                let _ = timeout(POLL, changed.changed()).await;
                sleep(PAUSE).await;
            }
        };
        tokio::select! {
            () = work => {}
            _ = closing.wait_for(|closing| *closing) => {}
        }
    }

    /// Reads what was written since the last time, and stores parts that are full.
    pub(crate) async fn catch_up(&self) -> Result<(), AuditError> {
        let _making = self.making.lock().await;
        if !self.open.lock().loaded {
            self.load().await?;
        }
        loop {
            if self.open.lock().is_full() {
                self.seal().await?;
            }
            let end = self.open.lock().end;
            let changes = self.store.changes(Collection::AuditBatches, end, PAGE).await?;
            let more = changes.more;
            let (open, heads) = (Arc::clone(&self.open), self.heads.clone());
            // Thousands of entries are read again: a worker that did it would keep requests waiting for milliseconds.
            let added = tokio::task::spawn_blocking(move || add_all(&open, &heads, &changes.items));
            let last = added.await.map_err(|_| AuditError::Closed)?;
            let end = self.open.lock().end;
            self.progress.send_modify(|progress| *progress = (end, last.or(progress.1)));
            if !more && !self.open.lock().is_full() {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
    }

    /// Goes on after the last stored part.
    async fn load(&self) -> Result<(), AuditError> {
        let newest = self.store.scan(Collection::AuditIndex, Span::Partition(HEADERS), None, 1).await?;
        let mut open = OpenPart::after(0, 0);
        if let Some(stored) = newest.first() {
            match serde_json::from_str::<Header>(&stored.body).ok().filter(|header| header.form == FORM) {
                Some(header) if self.fits(&header).await? => {
                    open = OpenPart::after(header.number, header.end());
                }
                _ => {
                    tracing::info!("the audit index is of another form or another store; making it anew");
                    self.clear().await?;
                }
            }
        }
        self.heads.load(&self.store).await?;
        let mut current = self.open.lock();
        // A search and the follower may both have come here.
        if !current.loaded {
            *current = open;
        }
        Ok(())
    }

    /// Whether positions mean what they meant: a log that was copied into another store has others.
    async fn fits(&self, header: &Header) -> Result<bool, StoreError> {
        match self.store.get(Collection::AuditBatches, &header.mark).await? {
            Some(stored) => Ok(stored.seq == header.end()),
            // Retention took it.
            None => Ok(self.store.head(Collection::AuditBatches).await? >= header.end()),
        }
    }

    /// Removes the index; it is made anew from the batches.
    pub(crate) async fn rebuild(&self) -> Result<(), AuditError> {
        let _making = self.making.lock().await;
        self.clear().await?;
        self.load().await
    }

    async fn clear(&self) -> Result<(), StoreError> {
        let mut after: Option<String> = None;
        loop {
            let some = self.store.scan(Collection::AuditIndex, Span::All, after.as_deref(), REMOVED).await?;
            let Some(last) = some.last().map(|stored| stored.id.clone()) else { break };
            let ids = some.iter().map(|stored| &stored.id).filter(|id| *id != CURSOR_KEY);
            // Another process may be at it as well.
            let gone = |outcome| match outcome {
                Err(StoreError::Gone { .. }) => Ok(()),
                other => other,
            };
            let removals = ids.map(|id| self.store.delete(Collection::AuditIndex, id, Expect::Any));
            futures_util::future::join_all(removals).await.into_iter().try_for_each(gone)?;
            after = Some(last);
        }
        *self.open.lock() = OpenPart::default();
        Ok(())
    }

    /// Stores the open part. The process that comes second finds that another process did, and goes on after it.
    async fn seal(&self) -> Result<(), AuditError> {
        let (header, columns) = self.open.lock().whole();
        let made = tokio::task::spawn_blocking(move || part::drafts(&header, &columns)).await;
        let drafts = made.map_err(|_| AuditError::Closed)??;
        match self.store.create_all(Collection::AuditIndex, drafts).await {
            Ok(_) => {
                self.open.lock().sealed();
                Ok(())
            }
            Err(StoreError::Exists { .. }) => {
                *self.open.lock() = OpenPart::default();
                self.load().await
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Takes changes in until the part is full; gives the time of the last entry. A search may come in between two batches.
fn add_all(open: &Mutex<OpenPart>, heads: &Heads, changes: &[Change]) -> Option<Timestamp> {
    let mut last = None;
    for change in changes {
        let mut open = open.lock();
        if open.is_full() {
            break;
        }
        if let Some(stored) = &change.document {
            last = open.add(stored, heads).or(last);
        }
        open.end = change.seq;
    }
    last
}
