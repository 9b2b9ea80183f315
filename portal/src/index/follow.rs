//! Keeps the projection like the store.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rp_base::chain;
use rp_database::{SharedStore, StoreError, Stored};
use rp_documents::{ClusterHealth, Collection, Document};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{ClusterIndex, Entry, Health};

/// Changes are put together for so long; ten thousand clusters are sorted at most four times a second.
const POLL: Duration = Duration::from_millis(250);
const FOLLOWED: [Collection; 3] =
    [Collection::OpenShiftClusters, Collection::ImportedClusters, Collection::ClusterHealth];

pub(super) struct Follower {
    store: SharedStore,
    nudge: Arc<Notify>,
    cursors: [i64; 3],
    /// What is kept of the last looks; documents themselves are not, for they hold sealed kubeconfigs.
    health: HashMap<String, Health>,
    entries: HashMap<(Collection, String), Arc<Entry>>,
}

impl Follower {
    pub(super) fn new(store: SharedStore, nudge: Arc<Notify>) -> Self {
        Self { store, nudge, cursors: [0; 3], health: HashMap::new(), entries: HashMap::new() }
    }

    /// Applies everything that changed.
    pub(super) async fn read(&mut self, index: &ClusterIndex) -> Result<(), StoreError> {
        let asked = Instant::now();
        let mut changed = false;
        for (at, collection) in FOLLOWED.into_iter().enumerate() {
            loop {
                let changes = self.store.changes(collection, self.cursors[at], 1000).await?;
                for change in changes.items {
                    self.apply(collection, &change.id, change.document.as_ref());
                    changed = true;
                }
                self.cursors[at] = changes.cursor;
                if !changes.more {
                    break;
                }
            }
        }
        if changed {
            index.set(self.entries.values().cloned().collect());
        }
        index.mark_fresh(asked);
        Ok(())
    }

    fn apply(&mut self, collection: Collection, id: &str, document: Option<&Stored>) {
        let entry = match collection {
            Collection::OpenShiftClusters => read(id, document).map(|cluster| Entry::of_cluster(&cluster)),
            Collection::ImportedClusters => read(id, document).map(|import| Entry::of_import(&import)),
            _ => return self.apply_health(id, read(id, document).as_ref()),
        };
        let key = (collection, id.to_owned());
        match entry {
            Some(entry) => self.entries.insert(key, Arc::new(entry.with_health(self.health.get(id)))),
            None => self.entries.remove(&key),
        };
    }

    /// A look's id is that of the cluster's document.
    fn apply_health(&mut self, id: &str, look: Option<&ClusterHealth>) {
        match look {
            Some(look) => self.health.insert(id.to_owned(), Health::of(look)),
            None => self.health.remove(id),
        };
        for collection in [Collection::OpenShiftClusters, Collection::ImportedClusters] {
            if let Some(entry) = self.entries.get_mut(&(collection, id.to_owned())) {
                *entry = Arc::new(Entry::clone(entry).with_health(self.health.get(id)));
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

/// A document that cannot be read is left out, loudly; the others stay.
fn read<T: Document>(id: &str, document: Option<&Stored>) -> Option<T> {
    let stored = document?;
    serde_json::from_str(&stored.body)
        .inspect_err(|error| {
            tracing::error!(collection = T::COLLECTION.name(), id, error = %error, "a document cannot be read");
        })
        .ok()
}
