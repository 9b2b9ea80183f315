//! Streams that are open: counted for each person, written down for other replicas.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use rp_base::{Id, Timestamp, chain, text};
use rp_database::{Expect, StoreError};
use rp_documents::StreamRecord;

use crate::access::Access;
use crate::active_grant::{ActiveGrant, GrantLifetime};

/// How often other replicas learn what changed.
const TELL_EVERY: Duration = Duration::from_secs(2);
/// A record that did not change is written again before the store forgets it.
const AGAIN_AFTER: Duration = Duration::from_secs(12);
const FORGET_AFTER: Duration = Duration::from_secs(30);
/// Records written at a time; the rest follow in the next round.
const MOST_WRITES: usize = 500;
const AT_ONCE: usize = 16;
/// Characters of a description.
const MOST_TEXT: usize = 120;

/// What a person or a robot has open on this replica.
#[derive(Debug, Default)]
pub(crate) struct OwnerUsage {
    streams: AtomicUsize,
    requests: AtomicUsize,
}

/// The first streams of a grant, for people.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams {
    next: u64,
    shown: Vec<(u64, Timestamp, Box<str>)>,
}

/// Too many streams of one person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{most} streams are open already")]
pub struct TooManyStreams {
    pub most: usize,
}

/// Too many requests of one person at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{most} requests are under way already")]
pub struct TooManyRequests {
    pub most: usize,
}

/// A request that is under way; counted until its drop.
#[derive(Debug)]
pub struct RequestGuard(Arc<OwnerUsage>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One open stream of a grant.
#[derive(Debug)]
pub struct StreamGuard {
    life: Arc<GrantLifetime>,
    /// Its place among those shown, in each grant of the lineage.
    places: Vec<u64>,
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.life.owner.streams.fetch_sub(1, Ordering::Relaxed);
        for (life, place) in self.life.lineage().zip(&self.places) {
            life.streams.fetch_sub(1, Ordering::Relaxed);
            life.open.lock().shown.retain(|(at, ..)| at != place);
        }
    }
}

impl Access {
    /// Counts a stream while the guard lives. `what` describes it in a few words, such as `watch pods`.
    ///
    /// # Errors
    /// [`TooManyStreams`]: the owner has as many open on this replica as the policy allows.
    pub fn stream(
        &self,
        live: &ActiveGrant,
        what: impl FnOnce() -> String,
    ) -> Result<StreamGuard, TooManyStreams> {
        let most = self.policy.access.max_streams;
        let life = Arc::clone(live.life());
        let before = life.owner.streams.fetch_add(1, Ordering::Relaxed);
        if before >= most {
            life.owner.streams.fetch_sub(1, Ordering::Relaxed);
            return Err(TooManyStreams { most });
        }
        let (now, mut what) = (self.clock.now(), Some(what));
        let mut described: Option<Box<str>> = None;
        let mut places = Vec::with_capacity(1);
        for life in life.lineage() {
            life.streams.fetch_add(1, Ordering::Relaxed);
            let mut open = life.open.lock();
            open.next += 1;
            let place = open.next;
            if open.shown.len() < StreamRecord::MOST_SHOWN {
                if let Some(what) = what.take() {
                    described = Some(text::clean(&what(), MOST_TEXT).into());
                }
                open.shown.push((place, now, described.clone().unwrap_or_default()));
            }
            places.push(place);
        }
        Ok(StreamGuard { life, places })
    }

    /// Counts a request that is no stream while the guard lives: from before it is sent until the client has its
    /// answer.
    ///
    /// # Errors
    /// [`TooManyRequests`]: the owner has as many under way on this replica as the policy allows.
    pub fn request(&self, live: &ActiveGrant) -> Result<RequestGuard, TooManyRequests> {
        let most = self.policy.access.max_requests;
        let guard = RequestGuard(Arc::clone(&live.life().owner));
        // The guard of one too many counts it out again.
        if guard.0.requests.fetch_add(1, Ordering::Relaxed) < most {
            Ok(guard)
        } else {
            Err(TooManyRequests { most })
        }
    }

    /// Requests of a person or robot under way on this replica.
    pub fn requests_of(&self, sub: &str) -> usize {
        let owner = self.owners.lock().get(sub).and_then(Weak::upgrade);
        owner.map_or(0, |owner| owner.requests.load(Ordering::Relaxed))
    }

    /// Streams of a person or robot open on this replica.
    pub fn streams_of(&self, sub: &str) -> usize {
        let owner = self.owners.lock().get(sub).and_then(Weak::upgrade);
        owner.map_or(0, |owner| owner.streams.load(Ordering::Relaxed))
    }

    /// The one counter of a person.
    pub(crate) fn owner(&self, sub: &str) -> Arc<OwnerUsage> {
        let mut owners = self.owners.lock();
        if let Some(owner) = owners.get(sub).and_then(Weak::upgrade) {
            return owner;
        }
        let owner = Arc::new(OwnerUsage::default());
        owners.insert(sub.to_owned(), Arc::downgrade(&owner));
        owner
    }

    /// What is open for a grant on this replica; `None` when nothing is.
    pub(crate) fn open_here(&self, id: &Id) -> Option<StreamRecord> {
        let live = self.cache.read().get(id).cloned()?;
        self.record_of(&live)
    }

    fn record_of(&self, live: &ActiveGrant) -> Option<StreamRecord> {
        let count = live.streams();
        if count == 0 {
            return None;
        }
        let open = live.life().open.lock();
        let first = open.shown.iter().map(|(_, at, _)| *at).min().unwrap_or(live.grant.created);
        Some(StreamRecord {
            id: format!("{}/{}", self.replica, live.grant.id),
            grant: live.grant.id.clone(),
            replica: self.replica.to_string(),
            count,
            first_opened: first,
            what: open.shown.iter().map(|(.., what)| what.to_string()).collect(),
        })
    }

    /// What is open for a grant on other replicas, as they last wrote it down.
    pub(crate) async fn open_elsewhere(&self, id: &Id) -> Result<Vec<StreamRecord>, StoreError> {
        let found = self.records.list(Some(id.as_str()), None, 100).await?;
        let here = self.replica.as_str();
        Ok(found.items.into_iter().map(|each| each.value).filter(|each| each.replica != here).collect())
    }
}

/// The stream records that were last written to the store.
#[derive(Default)]
struct WrittenRecords {
    records: HashMap<Id, (StreamRecord, Timestamp)>,
}

/// Writes the streams that are open here to the store, for other replicas, until `Access` is dropped.
pub(crate) async fn publish_streams(access: Weak<Access>) {
    let mut told = WrittenRecords::default();
    loop {
        tokio::time::sleep(TELL_EVERY).await;
        let Some(access) = access.upgrade() else { return };
        access.owners.lock().retain(|_, owner| owner.strong_count() > 0);
        if let Err(error) = told.round(&access).await {
            tracing::warn!(error = %chain(&error), "cannot write down open streams");
        }
    }
}

impl WrittenRecords {
    async fn round(&mut self, access: &Access) -> Result<(), StoreError> {
        let now = access.clock.now();
        let open: Vec<StreamRecord> = {
            let cache = access.cache.read();
            let known = cache.values().filter(|live| live.streams() > 0 && !live.grant.renewal);
            known.filter_map(|live| access.record_of(live)).collect()
        };
        let still: HashSet<&Id> = open.iter().map(|each| &each.grant).collect();
        let closed: Vec<Id> = self.records.keys().filter(|id| !still.contains(id)).cloned().collect();
        let due = open.into_iter().filter(|record| match self.records.get(&record.grant) {
            Some((before, at)) => before != record || now.since(*at) >= AGAIN_AFTER,
            None => true,
        });
        let due: Vec<StreamRecord> = due.take(MOST_WRITES).collect();
        let writes = due.into_iter().map(|record| async move {
            // This replica is the only writer of the record.
            let written =
                access.records.put_until(record.clone(), Some(now + FORGET_AFTER), Expect::Any).await;
            written.map(|_| record)
        });
        let mut written = futures_util::stream::iter(writes).buffer_unordered(AT_ONCE);
        while let Some(record) = written.next().await {
            let record = record?;
            self.records.insert(record.grant.clone(), (record, now));
        }
        for id in closed {
            let Some((record, _)) = self.records.remove(&id) else { continue };
            match access.records.delete(&record.id, Expect::Any).await {
                Ok(()) | Err(StoreError::Gone { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
