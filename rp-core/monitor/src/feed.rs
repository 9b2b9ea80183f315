//! Following the store: clusters, imported clusters and subscriptions as they change
//! (`contract/monitor.md` §4).
//!
//! The feed reports deletions by tombstones. The known ids are also compared with the store every few minutes:
//! a restored or failed-over database may have a history that this follower did not read.

mod cluster_index;
mod sink;
mod subscriptions;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{SharedClock, chain};
use rp_database::{Change, SharedStore, StoreError};
use rp_documents::Collection;
use rp_metrics::{Family, Gauge, Registry, labels, metrics};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

pub(crate) use cluster_index::{ClusterEntry, ClusterIndex, DocumentKey};
pub(crate) use sink::{Event, Sink};
pub use subscriptions::Subscriptions;

/// How long changes are collected after a notification.
const GATHER: Duration = Duration::from_millis(250);
/// Number of comparisons after which everything is read again, even without a difference.
const WHOLE: u32 = 12;
/// Timeout of a page; a timeout fails the poll.
const PATIENCE: Duration = Duration::from_secs(30);

labels! {
    /// Which feed.
    pub struct FeedLabels { feed: &'static str }
}
metrics! {
    /// Feeds (`contract/metrics.md` "Do better" 10).
    pub struct FeedMetrics("aro_changefeed") {
        /// When the feed was last read to its end, in Unix seconds.
        pub last_success: Family<FeedLabels, Gauge> = "last_success_timestamp_seconds";
    }
}

/// When a feed was last read to its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastPoll(Arc<Mutex<Option<Instant>>>);

impl LastPoll {
    /// `None`: never.
    pub(crate) fn at(&self) -> Option<Instant> {
        *self.0.lock()
    }

    fn set(&self, at: Instant) {
        *self.0.lock() = Some(at);
    }
}

/// How a feed is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FeedTimes {
    pub(crate) poll: Duration,
    pub(crate) page: u32,
    pub(crate) verify: Duration,
}

/// The display name of a feed.
pub(crate) const fn name(collection: Collection) -> &'static str {
    match collection {
        Collection::OpenShiftClusters => "clusters",
        Collection::ImportedClusters => "imported",
        Collection::Subscriptions => "subscriptions",
        other => other.name(),
    }
}

/// One collection, followed.
#[derive(Debug)]
pub(crate) struct Feed {
    store: SharedStore,
    collection: Collection,
    times: FeedTimes,
    sink: Sink,
    cursor: i64,
    /// Ids of existing documents, as far as read.
    ids: HashSet<Box<str>>,
    verified: u32,
    polled: LastPoll,
    clock: SharedClock,
    last_success: Gauge,
}

impl Feed {
    pub(crate) fn new(
        store: &SharedStore,
        collection: Collection,
        times: FeedTimes,
        sink: Sink,
        clock: &SharedClock,
        registry: &Registry,
    ) -> Self {
        let labels = FeedLabels { feed: name(collection) };
        Self {
            store: SharedStore::clone(store),
            collection,
            times,
            sink,
            cursor: 0,
            ids: HashSet::new(),
            verified: 0,
            polled: LastPoll::default(),
            clock: SharedClock::clone(clock),
            last_success: FeedMetrics::register(registry).last_success.with(&labels),
        }
    }

    pub(crate) fn polled(&self) -> LastPoll {
        self.polled.clone()
    }

    /// Reads pages until an empty one.
    pub(crate) async fn poll(&mut self) -> Result<(), StoreError> {
        let began = Instant::now();
        let changed = self.read(&mut HashSet::new()).await?;
        self.sink.complete(changed);
        self.polled.set(began);
        #[expect(clippy::cast_precision_loss, reason = "seconds stay below 2^53")]
        self.last_success.set(self.clock.now().seconds() as f64);
        Ok(())
    }

    /// Applies the changes after the cursor; whether there were any. Adds the ids of changed documents to `living`.
    async fn read(&mut self, living: &mut HashSet<Box<str>>) -> Result<bool, StoreError> {
        let mut changed = false;
        loop {
            let asked = self.store.changes(self.collection, self.cursor, self.times.page);
            let changes =
                timeout(PATIENCE, asked).await.map_err(|late| StoreError::Unavailable(late.into()))??;
            changed |= !changes.items.is_empty();
            for Change { id, document, .. } in &changes.items {
                if document.is_some() {
                    self.ids.insert(id.as_str().into());
                    living.insert(id.as_str().into());
                } else {
                    self.ids.remove(id.as_str());
                    living.remove(id.as_str());
                }
            }
            self.sink.page(&changes.items).await;
            self.cursor = changes.cursor;
            if !changes.more {
                return Ok(changed);
            }
        }
    }

    /// Compares the known ids with the store; reads everything again when they differ, and periodically in any case.
    pub(crate) async fn verify(&mut self) -> Result<(), StoreError> {
        self.verified = (self.verified + 1) % WHOLE;
        let behind = self.store.head(self.collection).await? < self.cursor;
        let count = self.store.count(self.collection).await?;
        let differs = u64::try_from(self.ids.len()).unwrap_or(u64::MAX) != count;
        if !behind && !differs && self.verified != 0 {
            return Ok(());
        }
        if behind || differs {
            tracing::warn!(
                collection = self.collection.name(),
                known = self.ids.len(),
                stored = count,
                "what is cached and what is stored differ: everything is read again"
            );
        }
        self.cursor = 0;
        let mut living = HashSet::new();
        self.read(&mut living).await?;
        self.sink.living(&living).await;
        self.ids = living;
        Ok(())
    }

    /// Polls until cancelled: when notified, and at its period in any case.
    pub(crate) async fn follow(mut self, stop: CancellationToken) {
        let mut wake = self.store.subscribe(self.collection);
        let mut tick = interval(self.times.poll);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut verified = Instant::now();
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                () = news(&mut wake) => {}
                () = stop.cancelled() => return,
            }
            let done = tokio::select! {
                done = self.round(&mut verified) => done,
                () = stop.cancelled() => return,
            };
            match done {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) => {
                    let collection = self.collection.name();
                    tracing::error!(collection, error = %chain(&error), "while calling iterator.Next(): {error}");
                }
            }
        }
    }

    async fn round(&mut self, verified: &mut Instant) -> Result<(), StoreError> {
        self.poll().await?;
        if verified.elapsed() >= self.times.verify {
            self.verify().await?;
            *verified = Instant::now();
        }
        Ok(())
    }
}

/// Waits for a notification and those shortly after it; never returns when the notifier is gone.
async fn news(wake: &mut watch::Receiver<u64>) {
    if wake.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    sleep(GATHER).await;
    wake.mark_unchanged();
}

#[cfg(test)]
mod tests;
