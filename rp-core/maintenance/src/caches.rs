//! What both roles know of the store, in memory: clusters, subscriptions, schedules, and manifests that are not over.
//! Each is read once and then followed by the change feed, so that no look asks the store, and nothing grows with the
//! manifests that are done.

mod clusters;
mod feed;
mod open;
mod schedules;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::maintenance::{Schedule, Spread};
use rp_documents::{
    ClusterDocument, Collection, ManifestDocument, ScheduleDocument, SubscriptionDocument, SubscriptionState,
};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use clusters::{Cluster, Clusters};
use feed::Feed;
pub(crate) use open::OpenManifests;
pub(crate) use schedules::Schedules;

/// The caches; a cheap clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caches {
    pub(crate) clusters: Arc<RwLock<Clusters>>,
    pub(crate) subscriptions: Arc<RwLock<HashMap<String, SubscriptionState>>>,
    pub(crate) schedules: Arc<RwLock<Schedules>>,
    pub(crate) open: Arc<RwLock<OpenManifests>>,
    /// When each feed was last read to its end.
    polled: Arc<RwLock<HashMap<Collection, Instant>>>,
}

impl Caches {
    /// Reads everything, then follows it in tasks of `tasks` until `stop`. `domain`: the parent of domains that are ours.
    ///
    /// # Errors
    /// The store's: nothing is followed then.
    pub(crate) async fn start(
        &self,
        store: &SharedStore,
        period: Duration,
        domain: &str,
        stop: &CancellationToken,
        tasks: &mut JoinSet<()>,
    ) -> Result<(), StoreError> {
        let (clusters, subscriptions) = (Arc::clone(&self.clusters), Arc::clone(&self.subscriptions));
        let (schedules, open) = (Arc::clone(&self.schedules), Arc::clone(&self.open));
        let domain = domain.to_owned();
        let mut manifests = Feed::<ManifestDocument>::new(store, move |change| open.write().apply(change));
        manifests.begin_at_head().await?;
        self.load_open(store).await?;
        let clusters = Feed::<ClusterDocument>::new(store, move |change| {
            clusters.write().apply(change, &domain);
        });
        let subscriptions = Feed::<SubscriptionDocument>::new(store, move |change| {
            let mut known = subscriptions.write();
            match change.document {
                Some(found) => known.insert(change.id, found.value.subscription.state),
                None => known.remove(&change.id),
            };
        });
        let schedules = Feed::<ScheduleDocument>::new(store, move |change| schedules.write().apply(change));
        self.follow(manifests, period, stop, tasks).await?;
        self.follow(subscriptions, period, stop, tasks).await?;
        self.follow(clusters, period, stop, tasks).await?;
        self.follow(schedules, period, stop, tasks).await
    }

    /// Loads the manifests that are not over; the feed begins before the scan, so that none is missed.
    async fn load_open(&self, store: &SharedStore) -> Result<(), StoreError> {
        let manifests = Typed::<ManifestDocument>::new(SharedStore::clone(store));
        let loaded = OpenManifests::load(&manifests).await?;
        *self.open.write() = loaded;
        Ok(())
    }

    async fn follow<D: rp_documents::Document>(
        &self,
        mut feed: Feed<D>,
        period: Duration,
        stop: &CancellationToken,
        tasks: &mut JoinSet<()>,
    ) -> Result<(), StoreError> {
        feed.poll().await?;
        let polled = Arc::clone(&self.polled);
        polled.write().insert(D::COLLECTION, Instant::now());
        let stop = stop.clone();
        tasks.spawn(async move {
            let done = move || {
                polled.write().insert(D::COLLECTION, Instant::now());
            };
            feed.follow(period, &stop, &done).await;
        });
        Ok(())
    }

    /// How many clusters a schedule chooses whose wave has begun so long after the beginning of the window.
    pub(crate) fn begun(&self, schedule: &Schedule, spread: &Spread, since: Duration) -> usize {
        let (clusters, subscriptions) = (self.clusters.read(), self.subscriptions.read());
        let begun = |key: &str, cluster: &Cluster| {
            spread.has_begun(key, since)
                && cluster.is_chosen(&schedule.selectors, &subscriptions).unwrap_or_default()
        };
        clusters.iter().filter(|(key, cluster)| begun(key, cluster)).count()
    }

    /// The feed that was read to its end longest ago, and how long ago; `None`: none was read.
    pub(crate) fn stalest(&self) -> Option<(Collection, Duration)> {
        let polled = self.polled.read();
        polled.iter().map(|(collection, at)| (*collection, at.elapsed())).max_by_key(|(_, age)| *age)
    }
}
