//! The manifests that are not over.

use std::collections::{BTreeMap, HashMap, HashSet};

use rp_base::Timestamp;
use rp_database::{Span, StoreError, Typed, TypedChange};
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{ManifestState, OPEN};

/// Documents of one page of the scan.
const PAGE: u32 = 500;

/// What is kept of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenManifest {
    pub(crate) id: String,
    pub(crate) cluster: String,
    pub(crate) schedule: String,
    pub(crate) state: ManifestState,
    pub(crate) run_after: i64,
    /// From when on it may be taken: after its time, its wait after a failure, and its lease; Unix seconds.
    pub(crate) free_after: i64,
    pub(crate) priority: i64,
}

/// By cluster, and by id.
#[derive(Debug, Default)]
pub(crate) struct OpenManifests {
    by_id: HashMap<String, OpenManifest>,
    by_cluster: BTreeMap<String, HashSet<String>>,
}

impl OpenManifests {
    /// Reads all of them from the store: as many documents as there are open ones.
    pub(super) async fn load(manifests: &Typed<ManifestDocument>) -> Result<Self, StoreError> {
        let mut open = Self::default();
        let mut after: Option<String> = None;
        loop {
            let page = manifests.scan(Span::Keys(OPEN), after.as_deref(), PAGE).await?;
            for found in page.items {
                open.put(&found.value);
            }
            after = page.next;
            if after.is_none() {
                return Ok(open);
            }
        }
    }

    pub(super) fn apply(&mut self, change: TypedChange<ManifestDocument>) {
        match change.document {
            Some(found) => self.put(&found.value),
            None => self.remove(&change.id),
        }
    }

    pub(crate) fn put(&mut self, document: &ManifestDocument) {
        let manifest = &document.maintenance_manifest;
        if manifest.state.is_terminal() {
            return self.remove(&document.id);
        }
        let open = OpenManifest {
            id: document.id.clone(),
            cluster: document.cluster_resource_id.clone(),
            schedule: manifest.created_by_schedule.clone(),
            state: manifest.state,
            run_after: manifest.run_after,
            free_after: manifest.starts_after().max(document.lease_expires),
            priority: manifest.priority,
        };
        self.by_cluster.entry(open.cluster.clone()).or_default().insert(open.id.clone());
        self.by_id.insert(open.id.clone(), open);
    }

    fn remove(&mut self, id: &str) {
        let Some(gone) = self.by_id.remove(id) else { return };
        if let Some(ids) = self.by_cluster.get_mut(&gone.cluster) {
            ids.remove(id);
            if ids.is_empty() {
                self.by_cluster.remove(&gone.cluster);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Clusters with something that may be taken at that time of the store, those that wait longest first, with the time
    /// since when they wait.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<(i64, &str)> {
        let now = now.seconds();
        let first = |ids: &HashSet<String>| {
            ids.iter().filter_map(|id| self.by_id.get(id)).map(|open| open.free_after).min()
        };
        let mut due: Vec<(i64, &str)> = self
            .by_cluster
            .iter()
            .filter_map(|(cluster, ids)| Some((first(ids)?, cluster.as_str())))
            .filter(|(free, _)| *free < now)
            .collect();
        due.sort_unstable();
        due
    }

    /// How many may be taken at that time.
    pub(crate) fn count_due(&self, now: Timestamp) -> usize {
        self.by_id.values().filter(|open| open.free_after < now.seconds()).count()
    }

    /// Ids of a cluster's manifests, those first that run first: by time, then priority (`contract/mimo.md` §4).
    pub(crate) fn of_cluster(&self, cluster: &str, now: Timestamp) -> Vec<String> {
        let ids = self.by_cluster.get(cluster).into_iter().flatten();
        let mut open: Vec<&OpenManifest> = ids.filter_map(|id| self.by_id.get(id)).collect();
        open.retain(|open| open.free_after < now.seconds());
        open.sort_by(|a, b| (a.run_after, a.priority, &a.id).cmp(&(b.run_after, b.priority, &b.id)));
        open.into_iter().map(|open| open.id.clone()).collect()
    }

    /// Manifests of schedules that wait for a time that is to come.
    pub(crate) fn future(&self, now: Timestamp) -> impl Iterator<Item = &OpenManifest> {
        self.by_id.values().filter(move |open| {
            open.state == ManifestState::Pending
                && !open.schedule.is_empty()
                && open.run_after > now.seconds()
        })
    }

    /// The same of one cluster and schedule.
    pub(crate) fn future_of(&self, cluster: &str, schedule: &str, now: Timestamp) -> Vec<OpenManifest> {
        let ids = self.by_cluster.get(cluster).into_iter().flatten();
        ids.filter_map(|id| self.by_id.get(id))
            .filter(|open| {
                open.schedule == schedule
                    && open.state == ManifestState::Pending
                    && open.run_after > now.seconds()
            })
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use rp_documents::maintenance::Manifest;

    use super::*;

    fn manifest(id: &str, cluster: &str, run_after: i64, priority: i64) -> ManifestDocument {
        ManifestDocument::new(id, cluster, Manifest { run_after, priority, ..Manifest::default() })
    }

    #[test]
    fn what_is_due_is_ordered_and_what_is_over_is_forgotten() {
        let mut open = OpenManifests::default();
        for (id, cluster, after, priority) in
            [("a", "/x", 5, 2), ("b", "/x", 5, 1), ("c", "/x", 3, 9), ("d", "/y", 1, 0), ("e", "/x", 50, 0)]
        {
            open.put(&manifest(id, cluster, after, priority));
        }
        let now = Timestamp::from_seconds(10);
        assert_eq!(open.of_cluster("/x", now), ["c", "b", "a"]);
        assert_eq!(open.due(now), [(1, "/y"), (3, "/x")]);
        assert_eq!(open.count_due(now), 4);
        let mut held = manifest("d", "/y", 1, 0);
        held.lease_expires = 10;
        open.put(&held);
        assert_eq!(open.due(now), [(3, "/x")]);
        let (over, _) = manifest("d", "/y", 1, 0).with_state(ManifestState::Cancelled, "", now).unwrap();
        open.put(&over);
        assert_eq!((open.len(), open.due(Timestamp::from_seconds(99)).len()), (4, 1));
    }
}
