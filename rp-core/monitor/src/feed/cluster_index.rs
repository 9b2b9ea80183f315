//! Index of all existing clusters, monitored or not.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// A cluster's document: names of imported clusters are apart from ids of ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DocumentKey {
    pub(crate) imported: bool,
    pub(crate) id: Box<str>,
}

impl DocumentKey {
    pub(crate) fn new(imported: bool, id: &str) -> Self {
        Self { imported, id: id.into() }
    }
}

/// The index entry of a document, which exists also for clusters that are not monitored.
#[derive(Debug, Clone)]
pub(crate) struct ClusterEntry {
    /// The cluster's lower-case resource id.
    pub(crate) key: Arc<str>,
    pub(crate) bucket: u8,
}

/// All cluster documents. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClusterIndex(Arc<Mutex<HashMap<DocumentKey, ClusterEntry>>>);

impl ClusterIndex {
    pub(crate) fn insert(&self, document: DocumentKey, place: ClusterEntry) {
        self.0.lock().insert(document, place);
    }

    pub(crate) fn remove(&self, document: &DocumentKey) -> Option<ClusterEntry> {
        self.0.lock().remove(document)
    }

    pub(crate) fn get(&self, document: &DocumentKey) -> Option<ClusterEntry> {
        self.0.lock().get(document).cloned()
    }

    /// Whether there is a document, ours or imported, of that id: the id of a [`rp_documents::ClusterHealth`].
    pub(crate) fn has_health(&self, id: &str) -> bool {
        let known = self.0.lock();
        [false, true].into_iter().any(|imported| known.contains_key(&DocumentKey::new(imported, id)))
    }

    /// Those of one kind that are not in `living`.
    pub(crate) fn missing(&self, imported: bool, living: impl Fn(&str) -> bool) -> Vec<DocumentKey> {
        let known = self.0.lock();
        known.keys().filter(|key| key.imported == imported && !living(&key.id)).cloned().collect()
    }
}
