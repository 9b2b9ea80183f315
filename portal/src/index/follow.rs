//! Keeps the projection like the store.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rp_base::chain;
use rp_database::{SharedStore, StoreError, Stored};
use rp_documents::{ClusterDocument, ClusterHealth, Collection, Document, ImportedCluster};
use tokio::time::Instant;

use super::{ClusterIndex, Entry};

/// Changes are put together for so long; ten thousand clusters are sorted at most four times a second.
const POLL: Duration = Duration::from_millis(250);
const FOLLOWED: [Collection; 3] =
    [Collection::OpenShiftClusters, Collection::ImportedClusters, Collection::ClusterHealth];

pub(super) struct Follower {
    store: SharedStore,
    cursors: [i64; 3],
    clusters: HashMap<String, ClusterDocument>,
    imports: HashMap<String, ImportedCluster>,
    health: HashMap<String, ClusterHealth>,
    entries: HashMap<(Collection, String), Arc<Entry>>,
}

impl Follower {
    pub(super) fn new(store: SharedStore) -> Self {
        Self {
            store,
            cursors: [0; 3],
            clusters: HashMap::new(),
            imports: HashMap::new(),
            health: HashMap::new(),
            entries: HashMap::new(),
        }
    }

    /// Applies everything that changed.
    pub(super) async fn read(&mut self, index: &ClusterIndex) -> Result<(), StoreError> {
        let asked = Instant::now();
        let mut changed = Vec::new();
        for (at, collection) in FOLLOWED.into_iter().enumerate() {
            loop {
                let changes = self.store.changes(collection, self.cursors[at], 1000).await?;
                for change in changes.items {
                    self.apply(collection, &change.id, change.document.as_ref());
                    changed.push(change.id);
                }
                self.cursors[at] = changes.cursor;
                if !changes.more {
                    break;
                }
            }
        }
        if !changed.is_empty() {
            for id in changed {
                self.project(&id);
            }
            index.set(self.entries.values().cloned().collect());
        }
        index.mark_fresh(asked);
        Ok(())
    }

    fn apply(&mut self, collection: Collection, id: &str, document: Option<&Stored>) {
        match collection {
            Collection::OpenShiftClusters => keep(&mut self.clusters, id, document),
            Collection::ImportedClusters => keep(&mut self.imports, id, document),
            _ => keep(&mut self.health, id, document),
        }
    }

    /// Makes the entries of a document id anew: its health has the same id.
    fn project(&mut self, id: &str) {
        let health = self.health.get(id);
        let cluster = self.clusters.get(id).map(|document| Entry::of_cluster(document, health));
        let import = self.imports.get(id).map(|document| Entry::of_import(document, health));
        for (collection, entry) in
            [(Collection::OpenShiftClusters, cluster), (Collection::ImportedClusters, import)]
        {
            let key = (collection, id.to_owned());
            match entry {
                Some(entry) => self.entries.insert(key, Arc::new(entry)),
                None => self.entries.remove(&key),
            };
        }
    }

    pub(super) async fn run(mut self, index: Weak<ClusterIndex>) {
        let mut poll = tokio::time::interval(POLL);
        poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            poll.tick().await;
            let Some(index) = index.upgrade() else { return };
            match self.read(&index).await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) => tracing::warn!(error = %chain(&error), "clusters cannot be followed"),
            }
        }
    }
}

/// A document that cannot be read is left out, loudly; the others stay.
fn keep<T: Document>(into: &mut HashMap<String, T>, id: &str, document: Option<&Stored>) {
    let parsed = document.map(|stored| serde_json::from_str::<T>(&stored.body));
    match parsed {
        Some(Ok(document)) => {
            into.insert(id.to_owned(), document);
        }
        Some(Err(error)) => {
            tracing::error!(collection = T::COLLECTION.name(), id, error = %error, "a document cannot be read");
            into.remove(id);
        }
        None => {
            into.remove(id);
        }
    }
}
