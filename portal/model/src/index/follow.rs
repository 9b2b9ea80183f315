//! Keeps the projection up to date with the store.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rp_base::text::clean;
use rp_base::{Timestamp, chain};
use rp_database::{SharedStore, StoreError, Stored};
use rp_documents::{
    BucketLooks, ClusterHealth, Collection, Document, Elevation, Look, ProvisioningState, SavedView,
};
use serde::Deserialize;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::entry::CheckTime;
use super::{ClusterIndex, Entry, Health, OpenRequest};

/// Changes are batched for this long.
const POLL: Duration = Duration::from_millis(250);
const FOLLOWED: [Collection; 7] = [
    Collection::OpenShiftClusters,
    Collection::ImportedClusters,
    Collection::ClusterHealth,
    Collection::Looks,
    Collection::SavedViews,
    Collection::OperationLogs,
    Collection::Elevations,
];
/// Changes that are read at once.
const BATCH: u32 = 1000;
/// Logs of operations that are read at once: each may have tens of KiB.
const BATCH_OF_LOGS: u32 = 50;

/// What is read of an operation's log.
#[derive(Deserialize)]
struct OperationEnd {
    /// The cluster's lower-case resource id.
    key: String,
    started: Timestamp,
    #[serde(default)]
    ended: Option<Timestamp>,
    #[serde(default)]
    result: String,
    #[serde(default)]
    error: String,
}

/// The newest operation of a cluster, and why it failed where it did.
struct NewestOperation {
    id: String,
    started: Timestamp,
    cause: Option<Arc<str>>,
}

/// Characters that are kept of a cause.
const MOST_CAUSE: usize = 300;

pub(super) struct Follower {
    store: SharedStore,
    nudge: Arc<Notify>,
    cursors: [i64; FOLLOWED.len()],
    /// What is kept of the last looks, by the id of the cluster's document; documents themselves are not, for they
    /// hold sealed kubeconfigs.
    health: HashMap<String, Arc<Health>>,
    looks: HashMap<String, CheckTime>,
    /// The clusters that a bucket's document named, so that those it no longer names are removed.
    buckets: HashMap<String, Vec<String>>,
    /// By lower-case resource id: in the order of the snapshot.
    entries: BTreeMap<Arc<str>, Arc<Entry>>,
    /// Under which resource id a document stands.
    by_document: HashMap<(Collection, String), Arc<str>>,
    views: BTreeMap<String, Arc<SavedView>>,
    /// By lower-case resource id.
    operations: HashMap<String, NewestOperation>,
    /// By the elevation's id.
    requests: HashMap<String, OpenRequest>,
    /// The initial load is complete: from now on this process observes changes itself.
    watching: bool,
}

impl Follower {
    pub(super) fn new(store: SharedStore, nudge: Arc<Notify>) -> Self {
        Self {
            store,
            nudge,
            cursors: [0; FOLLOWED.len()],
            health: HashMap::new(),
            looks: HashMap::new(),
            buckets: HashMap::new(),
            entries: BTreeMap::new(),
            by_document: HashMap::new(),
            views: BTreeMap::new(),
            operations: HashMap::new(),
            requests: HashMap::new(),
            watching: false,
        }
    }

    /// Applies everything that changed.
    pub(super) async fn read(&mut self, index: &ClusterIndex) -> Result<(), StoreError> {
        let asked = Instant::now();
        let mut changed = false;
        for (at, collection) in FOLLOWED.into_iter().enumerate() {
            let batch = if collection == Collection::OperationLogs { BATCH_OF_LOGS } else { BATCH };
            loop {
                let changes = self.store.changes(collection, self.cursors[at], batch).await?;
                for change in changes.items {
                    changed |= self.apply_change(collection, &change.id, change.document.as_ref());
                }
                self.cursors[at] = changes.cursor;
                if !changes.more {
                    break;
                }
            }
        }
        self.watching = true;
        if changed {
            index.set(
                self.entries.values().cloned().collect(),
                self.views.values().cloned().collect(),
                self.requests.values().cloned().collect(),
            );
        }
        index.mark_fresh(asked);
        Ok(())
    }

    /// Whether the projection shows the change: a running operation writes its log every second.
    fn apply_change(&mut self, collection: Collection, id: &str, document: Option<&Stored>) -> bool {
        match collection {
            Collection::OperationLogs => self.apply_operation(id, document),
            Collection::Elevations => self.apply_elevation(id, read(id, document)),
            _ => {
                self.apply(collection, id, document);
                true
            }
        }
    }

    fn apply(&mut self, collection: Collection, id: &str, document: Option<&Stored>) {
        let entry = match collection {
            Collection::OpenShiftClusters => read(id, document).map(|cluster| Entry::from_cluster(&cluster)),
            Collection::ImportedClusters => read(id, document).map(|import| Entry::from_import(&import)),
            Collection::Looks => return self.apply_looks(id, read(id, document)),
            Collection::SavedViews => return self.apply_view(id, read(id, document)),
            _ => return self.apply_health(id, read(id, document)),
        };
        let document = (collection, id.to_owned());
        let before = self.by_document.remove(&document).and_then(|key| {
            // The same resource id may have come back in another document.
            let ours = self.entries.get(&key).is_some_and(|entry| entry.document == id);
            if ours { self.entries.remove(&key) } else { None }
        });
        let Some(entry) = entry else { return };
        let cause = self.operations.get(entry.id.key()).and_then(|operation| operation.cause.as_ref());
        let look = self.looks.get(id).copied();
        let entry = entry.finished(self.health.get(id), cause, look, before.as_deref());
        let key: Arc<str> = Arc::from(entry.id.key());
        self.by_document.insert(document, Arc::clone(&key));
        self.entries.insert(key, Arc::new(entry));
    }

    /// A look's id is that of the cluster's document.
    fn apply_health(&mut self, id: &str, look: Option<ClusterHealth>) {
        match look {
            Some(look) => self.health.insert(id.to_owned(), Arc::new(Health::from_record(&look))),
            None => self.health.remove(id),
        };
        self.recompute(id);
    }

    /// When each cluster of a bucket was looked at last.
    fn apply_looks(&mut self, id: &str, bucket: Option<BucketLooks>) {
        let looks = bucket.map(|bucket| bucket.looks).unwrap_or_default();
        let named: Vec<String> = looks.keys().cloned().collect();
        let before = if named.is_empty() {
            self.buckets.remove(id)
        } else {
            self.buckets.insert(id.to_owned(), named)
        };
        for gone in before.unwrap_or_default().into_iter().filter(|one| !looks.contains_key(one)) {
            self.looks.remove(&gone);
            self.recompute(&gone);
        }
        for (cluster, Look { at, took_ms, .. }) in looks {
            let look = CheckTime { at, took_ms };
            if self.looks.insert(cluster.clone(), look) != Some(look) {
                self.recompute(&cluster);
            }
        }
    }

    fn apply_view(&mut self, id: &str, view: Option<SavedView>) {
        match view {
            Some(view) => self.views.insert(id.to_owned(), Arc::new(view)),
            None => self.views.remove(id),
        };
    }

    /// The log of an operation. A newer operation of the cluster replaces what an older one left.
    fn apply_operation(&mut self, id: &str, document: Option<&Stored>) -> bool {
        let Some(stored) = document else { return self.remove_operation(id) };
        let Ok(log) = serde_json::from_str::<OperationEnd>(&stored.body) else {
            // The follower of operations logs what it cannot read.
            return false;
        };
        if self.operations.get(&log.key).is_some_and(|known| known.id != id && known.started > log.started) {
            return false;
        }
        let failed =
            log.ended.is_some() && log.result == ProvisioningState::Failed.name() && !log.error.is_empty();
        let cause: Option<Arc<str>> = failed.then(|| Arc::from(clean(&log.error, MOST_CAUSE)));
        let newest = NewestOperation { id: id.to_owned(), started: log.started, cause: cause.clone() };
        let before = self.operations.insert(log.key.clone(), newest).and_then(|known| known.cause);
        before != cause && self.recompute_cluster(&log.key)
    }

    /// The store deletes a log some time after its last write ([`rp_documents::OperationLog::LIFE`]).
    fn remove_operation(&mut self, id: &str) -> bool {
        let found = self.operations.iter().find(|(_, operation)| operation.id == id);
        let Some(key) = found.map(|(key, _)| key.clone()) else { return false };
        let removed = self.operations.remove(&key);
        removed.is_some_and(|operation| operation.cause.is_some()) && self.recompute_cluster(&key)
    }

    /// Recomputes the cluster of that lower-case resource id; whether there is one.
    fn recompute_cluster(&mut self, key: &str) -> bool {
        let Some(document) = self.entries.get(key).map(|entry| entry.document.clone()) else { return false };
        self.recompute(&document);
        true
    }

    /// A request for an elevation that nobody has decided or taken back; whether one lapsed is a matter of the time.
    fn apply_elevation(&mut self, id: &str, elevation: Option<Elevation>) -> bool {
        let open = elevation.filter(|elevation| {
            elevation.decision.is_none() && elevation.not_before.is_none() && elevation.ended.is_none()
        });
        match open {
            Some(open) => {
                let lapses = open.asked + Elevation::REQUEST_LIFE;
                self.requests.insert(id.to_owned(), OpenRequest { owner: open.owner.sub, lapses });
                true
            }
            None => self.requests.remove(id).is_some(),
        }
    }

    fn recompute(&mut self, id: &str) {
        for collection in [Collection::OpenShiftClusters, Collection::ImportedClusters] {
            let Some(key) = self.by_document.get(&(collection, id.to_owned())) else { continue };
            if let Some(entry) = self.entries.get_mut(key) {
                let before = if self.watching { Some(Arc::clone(entry)) } else { None };
                let next = Entry::clone(entry);
                let cause =
                    self.operations.get(entry.id.key()).and_then(|operation| operation.cause.as_ref());
                let look = self.looks.get(id).copied();
                *entry = Arc::new(next.finished(self.health.get(id), cause, look, before.as_deref()));
            }
        }
    }

    pub(super) async fn run(mut self, index: Weak<ClusterIndex>) {
        let mut poll = tokio::time::interval(POLL);
        poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = poll.tick() => {}
                () = self.nudge.notified() => {}
            }
            let Some(index) = index.upgrade() else { return };
            match self.read(&index).await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) => tracing::warn!(error = %chain(&error), "clusters cannot be followed"),
            }
        }
    }
}

/// A document that cannot be read is logged and left out; the others stay.
fn read<T: Document>(id: &str, document: Option<&Stored>) -> Option<T> {
    let stored = document?;
    serde_json::from_str(&stored.body)
        .inspect_err(|error| {
            tracing::error!(collection = T::COLLECTION.name(), id, error = %error, "a document cannot be read");
        })
        .ok()
}
