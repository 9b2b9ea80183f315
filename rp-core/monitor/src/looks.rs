//! Stores the time of looks: one document a bucket, written once a minute by the bucket's owner, so that a fleet of any
//! size costs 256 writes a minute. Also removes the mirrored documents of clusters that left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_base::{Timestamp, chain};
use rp_database::{Expect, SharedStore, StoreError, Typed, update};
use rp_documents::{BUCKETS, BucketLooks, ClusterHealth, ClusterMirror, Collection, Document, Look, Unknown};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::feed::ClusterIndex;
use rp_pool::Assignment;

/// Writes are spread over the period in at most this many steps, each no shorter than `LEAST_STEP`.
const STEPS: u32 = 60;
const LEAST_STEP: Duration = Duration::from_millis(50);
/// Interval of the sweep for orphaned documents, and their minimum age.
const SWEEP: Duration = Duration::from_secs(3600);
const SWEEP_AGE: Duration = Duration::from_secs(900);
const PAGE: u32 = 200;

/// Start and duration of a look.
type LookTime = (Timestamp, Duration);

/// Looks that are not written yet. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingLooks(Arc<Mutex<PendingState>>);

#[derive(Debug, Default)]
struct PendingState {
    /// By bucket, then by the health's id.
    looks: BTreeMap<u8, BTreeMap<Box<str>, LookTime>>,
    /// By bucket: ids of clusters that left.
    gone: BTreeMap<u8, BTreeSet<Box<str>>>,
}

impl PendingLooks {
    pub(crate) fn note(&self, bucket: u8, document: &str, at: Timestamp, took: Duration) {
        self.0.lock().looks.entry(bucket).or_default().insert(document.into(), (at, took));
    }

    pub(crate) fn remove(&self, bucket: u8, document: Box<str>) {
        let mut pages = self.0.lock();
        if let Some(looks) = pages.looks.get_mut(&bucket) {
            looks.remove(&document);
        }
        pages.gone.entry(bucket).or_default().insert(document);
    }

    fn take(&self, bucket: u8) -> (BTreeMap<Box<str>, LookTime>, BTreeSet<Box<str>>) {
        let mut pages = self.0.lock();
        (pages.looks.remove(&bucket).unwrap_or_default(), pages.gone.remove(&bucket).unwrap_or_default())
    }

    /// Puts back what could not be written; newer entries win.
    fn put_back(&self, bucket: u8, looks: BTreeMap<Box<str>, LookTime>, gone: BTreeSet<Box<str>>) {
        let mut pages = self.0.lock();
        let held = pages.looks.entry(bucket).or_default();
        for (document, look) in looks {
            held.entry(document).or_insert(look);
        }
        pages.gone.entry(bucket).or_default().extend(gone);
    }
}

/// Writes the pending looks.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) store: SharedStore,
    pub(crate) book: PendingLooks,
    pub(crate) known: ClusterIndex,
    /// The worker's UUID.
    pub(crate) by: Arc<str>,
    pub(crate) assignment: watch::Receiver<Assignment>,
    pub(crate) period: Duration,
    /// Whether every feed was read to its end: before that, an unknown cluster may still exist.
    pub(crate) primed: watch::Receiver<bool>,
}

impl Recorder {
    /// Writes until cancelled, then everything once more.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let step = (self.period / STEPS).max(LEAST_STEP).min(self.period);
        let steps = (self.period.as_millis() / step.as_millis().max(1)).clamp(1, u128::from(STEPS));
        let steps = usize::try_from(steps).unwrap_or(1);
        let mut tick = interval(step);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut swept = Instant::now();
        for turn in (0..steps).cycle() {
            tokio::select! {
                _ = tick.tick() => {}
                () = stop.cancelled() => break,
            }
            for bucket in (0..BUCKETS).filter(|bucket| bucket % steps == turn) {
                self.write_or_keep(u8::try_from(bucket).unwrap_or(0)).await;
            }
            if swept.elapsed() > SWEEP && self.assignment.borrow().buckets(Instant::now()).contains(0) {
                swept = Instant::now();
                if let Err(error) = self.sweep().await {
                    tracing::warn!(error = %chain(&error), "what clusters left behind could not be looked for");
                }
            }
        }
        for bucket in 0..=u8::MAX {
            self.write_or_keep(bucket).await;
        }
    }

    async fn write_or_keep(&self, bucket: u8) {
        let (looks, gone) = self.book.take(bucket);
        if looks.is_empty() && gone.is_empty() {
            return;
        }
        if let Err(error) = self.write(bucket, &looks, &gone).await {
            tracing::warn!(bucket, error = %chain(&error), "looks could not be written");
            self.book.put_back(bucket, looks, gone);
        }
    }

    async fn write(
        &self,
        bucket: u8,
        looks: &BTreeMap<Box<str>, LookTime>,
        gone: &BTreeSet<Box<str>>,
    ) -> Result<(), StoreError> {
        let mut left: BTreeSet<Box<str>> = gone.clone();
        let primed = *self.primed.borrow();
        let mut change = |document: &mut BucketLooks| {
            for (id, (at, took)) in looks {
                merge(document, id, *at, *took, &self.by);
            }
            document.looks.retain(|id, _| {
                let stays = !gone.contains(id.as_str()) && (!primed || self.known.has_health(id));
                if !stays {
                    left.insert(id.as_str().into());
                }
                stays
            });
        };
        let typed: Typed<BucketLooks> = Typed::new(SharedStore::clone(&self.store));
        let id = BucketLooks::id_of(u16::from(bucket));
        match update(&typed, &id, &mut change).await {
            Err(StoreError::Gone { .. }) => {
                let mut document = BucketLooks { id, looks: BTreeMap::new(), unknown: Unknown::new() };
                change(&mut document);
                match typed.create(document).await {
                    // Conflict with another writer: written at the next step.
                    Ok(_) => {}
                    Err(error) => return Err(error),
                }
            }
            settled => {
                settled?;
            }
        }
        for document in &left {
            self.clear(document).await?;
        }
        Ok(())
    }

    /// Removes what was mirrored of a cluster, unless there is one of that id again.
    async fn clear(&self, document: &str) -> Result<(), StoreError> {
        if self.known.has_health(document) {
            return Ok(());
        }
        for collection in [Collection::ClusterHealth, Collection::ClusterMirror] {
            match self.store.delete(collection, document, Expect::Any).await {
                Ok(()) | Err(StoreError::Gone { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes health and mirrors of unknown clusters, whose owner died before it could remove them.
    async fn sweep(&self) -> Result<(), StoreError> {
        if !*self.primed.borrow() {
            return Ok(());
        }
        let now = self.store.now().await?;
        self.sweep_in::<ClusterHealth>(now).await?;
        self.sweep_in::<ClusterMirror>(now).await
    }

    async fn sweep_in<T: Document>(&self, now: Timestamp) -> Result<(), StoreError> {
        let mut after: Option<String> = None;
        loop {
            let page = self.store.scan(T::COLLECTION, rp_database::Span::All, after.as_deref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id.clone());
            for stored in page.iter().filter(|stored| now.since(stored.written) > SWEEP_AGE) {
                self.clear(&stored.id).await?;
            }
        }
    }
}

/// The later of two looks wins.
fn merge(document: &mut BucketLooks, id: &str, at: Timestamp, took: Duration, by: &str) {
    if document.looks.get(id).is_none_or(|look| look.at <= at) {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        document.looks.insert(id.to_owned(), Look { at, took_ms, by: by.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use rp_base::SystemClock;
    use rp_database::in_memory;

    use super::*;
    use crate::feed::{ClusterEntry, DocumentKey};

    fn recorder(store: &SharedStore, known: &ClusterIndex, by: &str) -> Recorder {
        Recorder {
            store: Arc::clone(store),
            book: PendingLooks::default(),
            known: known.clone(),
            by: by.into(),
            assignment: watch::channel(Assignment::none()).1,
            period: Duration::from_secs(60),
            primed: watch::channel(true).1,
        }
    }

    fn knows(known: &ClusterIndex, id: &str) {
        known.insert(DocumentKey::new(false, id), ClusterEntry { key: id.into(), bucket: 7 });
    }

    async fn read(store: &SharedStore) -> BTreeMap<String, (i64, String)> {
        let typed: Typed<BucketLooks> = Typed::new(Arc::clone(store));
        let read = typed.get("bucket-007").await.unwrap().unwrap();
        read.value.looks.into_iter().map(|(id, look)| (id, (look.at.seconds(), look.by))).collect()
    }

    fn health(id: &str) -> ClusterHealth {
        serde_json::from_value(serde_json::json!({"id": id, "looked_at": "2026-01-01T00:00:00Z"})).unwrap()
    }

    #[tokio::test]
    async fn two_owners_leave_the_later_look_and_who_left_leaves_nothing() {
        let store = in_memory(Arc::new(SystemClock));
        let known = ClusterIndex::default();
        ["a", "b"].iter().for_each(|id| knows(&known, id));
        let healths: Typed<ClusterHealth> = Typed::new(Arc::clone(&store));
        for id in ["a", "b"] {
            healths.create(health(id)).await.unwrap();
        }
        let (one, two) = (recorder(&store, &known, "one"), recorder(&store, &known, "two"));
        let at = Timestamp::from_seconds;
        one.book.note(7, "a", at(100), Duration::from_millis(5));
        one.book.note(7, "b", at(200), Duration::ZERO);
        two.book.note(7, "a", at(150), Duration::ZERO);
        two.book.note(7, "b", at(150), Duration::ZERO);
        one.write_or_keep(7).await;
        two.write_or_keep(7).await;
        let expected = [("a", (150, "two")), ("b", (200, "one"))];
        let expected = expected.map(|(id, (at, by))| (id.to_owned(), (at, by.to_owned())));
        assert_eq!(read(&store).await, BTreeMap::from(expected));

        known.remove(&DocumentKey::new(false, "a"));
        two.book.remove(7, "a".into());
        two.write_or_keep(7).await;
        assert_eq!(read(&store).await.into_keys().collect::<Vec<_>>(), ["b"]);
        assert!(healths.get("a").await.unwrap().is_none());
        assert!(healths.get("b").await.unwrap().is_some());
        // Cluster b leaves without an owner: the next writer of the bucket removes it.
        known.remove(&DocumentKey::new(false, "b"));
        knows(&known, "c");
        one.book.note(7, "c", at(300), Duration::ZERO);
        one.write_or_keep(7).await;
        assert_eq!(read(&store).await.into_keys().collect::<Vec<_>>(), ["c"]);
        assert!(healths.get("b").await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_could_not_be_written_is_written_later() {
        let store = in_memory(Arc::new(SystemClock));
        let known = ClusterIndex::default();
        knows(&known, "a");
        let recorder = recorder(&store, &known, "one");
        let at = Timestamp::from_seconds;
        recorder.book.put_back(7, BTreeMap::from([("a".into(), (at(1), Duration::ZERO))]), BTreeSet::new());
        recorder.book.note(7, "a", at(2), Duration::ZERO);
        recorder.book.put_back(7, BTreeMap::from([("a".into(), (at(1), Duration::ZERO))]), BTreeSet::new());
        recorder.write_or_keep(7).await;
        assert_eq!(read(&store).await["a"].0, 2);
    }
}
