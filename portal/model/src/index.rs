//! The clusters in memory: a projection of OpenShiftClusters, ImportedClusters, ClusterHealth, Looks, SavedViews, of the
//! ends of OperationLogs and of open requests in Elevations. It follows the change feed, so that lists and search cost no
//! query (`contract/portal.md` "Do better" 32).

mod entry;
mod filter;
mod follow;
mod health;
mod nearest;
mod order;
mod part;
mod search;
mod summary;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rp_base::{SharedClock, Timestamp};
use rp_database::{SharedStore, StoreError};
use rp_documents::{ResourceId, SavedView};
use tokio::sync::{Notify, watch};

pub use entry::{CheckTime, Entry, Imported};
pub use filter::BadFilter;
pub use health::Health;
pub use nearest::nearest;
pub use search::{BadCursor, Page, Selection, jump, open, state_word};
pub use summary::{facets, summarize, views};

/// Every cluster at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// By lower-case resource id.
    pub entries: Vec<Arc<Entry>>,
    /// Views that people keep, by id.
    pub views: Vec<Arc<SavedView>>,
    /// Requests for elevations that wait for a decision, if they have not lapsed.
    pub requests: Vec<OpenRequest>,
    /// Counts changes, from 1.
    pub generation: u64,
}

/// A request for an elevation that nobody has decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    /// Subject of who asks.
    pub owner: String,
    /// When it lapses.
    pub lapses: Timestamp,
}

impl Snapshot {
    /// The cluster of that resource id.
    pub fn get(&self, id: &ResourceId) -> Option<&Arc<Entry>> {
        let at = self.entries.binary_search_by(|entry| entry.id.key().cmp(id.key())).ok()?;
        self.entries.get(at)
    }

    /// Requests that wait at an instant for the decision of a person: those of others.
    pub fn waiting_for(&self, sub: &str, now: Timestamp) -> u64 {
        let open = self.requests.iter().filter(|request| request.owner != sub && request.lapses > now);
        u64::try_from(open.count()).unwrap_or(u64::MAX)
    }
}

/// The projection. Readers take a snapshot without waiting.
#[derive(Debug)]
pub struct ClusterIndex {
    snapshot: ArcSwap<Snapshot>,
    fresh: parking_lot::Mutex<LastRead>,
    clock: SharedClock,
    /// Makes the follower read immediately.
    nudge: Arc<Notify>,
    /// Counts what was read.
    reads: watch::Sender<u64>,
}

#[derive(Debug, Clone, Copy)]
struct LastRead {
    monotonic: tokio::time::Instant,
    at: Timestamp,
}

/// Pages show a notice when the projection is older than this.
const STALE_AFTER: Duration = Duration::from_secs(5);
/// How long a request waits until its own change is visible in the projection.
const SETTLE: Duration = Duration::from_secs(2);

impl ClusterIndex {
    /// Reads everything, then follows.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn start(store: &SharedStore, clock: &SharedClock) -> Result<Arc<Self>, StoreError> {
        let fresh = LastRead { monotonic: tokio::time::Instant::now(), at: clock.now() };
        let nudge = Arc::new(Notify::new());
        let index = Arc::new(Self {
            snapshot: ArcSwap::from_pointee(Snapshot::default()),
            fresh: parking_lot::Mutex::new(fresh),
            clock: Arc::clone(clock),
            nudge: Arc::clone(&nudge),
            reads: watch::Sender::new(0),
        });
        let mut follower = follow::Follower::new(Arc::clone(store), nudge);
        follower.read(&index).await?;
        tokio::spawn(follower.run(Arc::downgrade(&index)));
        Ok(index)
    }

    /// Every cluster as last seen.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Waits until the projection shows a change that the caller has just made, so that the next page does
    /// too; gives up after a moment, for the change itself is stored.
    pub async fn settle(&self, shows: impl Fn(&Snapshot) -> bool) {
        let mut reads = self.reads.subscribe();
        self.nudge.notify_one();
        let shown = async {
            while !shows(&self.snapshot()) {
                if reads.changed().await.is_err() {
                    return;
                }
            }
        };
        if tokio::time::timeout(SETTLE, shown).await.is_err() {
            tracing::warn!("a change is stored, but the list of clusters does not show it yet");
        }
    }

    /// When the store was last read whole.
    pub fn read_at(&self) -> Timestamp {
        self.fresh.lock().at
    }

    /// Since when the projection is older than it should be; `None` while it is fresh.
    pub fn stale(&self) -> Option<Timestamp> {
        let fresh = *self.fresh.lock();
        (fresh.monotonic.elapsed() > STALE_AFTER).then_some(fresh.at)
    }

    fn set(&self, entries: Vec<Arc<Entry>>, views: Vec<Arc<SavedView>>, requests: Vec<OpenRequest>) {
        let generation = self.snapshot.load().generation.wrapping_add(1);
        self.snapshot.store(Arc::new(Snapshot { entries, views, requests, generation }));
    }

    fn mark_fresh(&self, monotonic: tokio::time::Instant) {
        *self.fresh.lock() = LastRead { monotonic, at: self.clock.now() };
        self.reads.send_modify(|reads| *reads = reads.wrapping_add(1));
    }
}

#[cfg(test)]
mod tests;
