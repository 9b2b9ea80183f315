//! The manifests of all clusters in memory: those that run or wait, and those that failed lately. They follow the change
//! feed, so that the page of the fleet costs no query.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use rp_base::{SharedClock, Timestamp};
use rp_database::{SharedStore, StoreError, Typed, TypedChange};
use rp_documents::maintenance::ManifestState;
use rp_documents::{Collection, ManifestDocument};

use crate::feed::{Follower, follow};

/// A manifest that failed is shown for so long.
pub const LATELY: Duration = Duration::from_hours(7 * 24);
/// Changes read at once.
const BATCH: u32 = 500;

/// What is known of the maintenance of all clusters.
#[derive(Debug)]
pub struct FleetMaintenance {
    store: Typed<ManifestDocument>,
    clock: SharedClock,
    /// By the manifest's id.
    known: RwLock<HashMap<String, Arc<ManifestDocument>>>,
    complete: AtomicBool,
}

/// A selection of the manifests of all clusters.
#[derive(Debug, Default)]
pub struct FleetManifests {
    /// The longest running first.
    pub running: Vec<Arc<ManifestDocument>>,
    /// Those that failed, or did not start in their time, within [`LATELY`]; the newest first.
    pub failed: Vec<Arc<ManifestDocument>>,
    /// In the order in which they are due.
    pub waiting: Vec<Arc<ManifestDocument>>,
    /// Everything was read; else some are missing.
    pub complete: bool,
}

impl FleetMaintenance {
    /// Reads in the background, then follows.
    pub fn start(store: &SharedStore, clock: &SharedClock) -> Arc<Self> {
        let fleet = Arc::new(Self {
            store: Typed::new(Arc::clone(store)),
            clock: Arc::clone(clock),
            known: RwLock::default(),
            complete: AtomicBool::new(false),
        });
        follow(&fleet, store);
        fleet
    }

    /// Those of which `fits` holds.
    pub fn select(&self, fits: impl Fn(&ManifestDocument) -> bool) -> FleetManifests {
        let now = self.clock.now();
        let complete = self.complete.load(Ordering::Acquire);
        let mut found = FleetManifests { complete, ..FleetManifests::default() };
        for one in self.known.read().values().filter(|one| fits(one)) {
            let list = match one.maintenance_manifest.state {
                ManifestState::InProgress => &mut found.running,
                ManifestState::Pending => &mut found.waiting,
                _ if is_shown(one, now) => &mut found.failed,
                _ => continue,
            };
            list.push(Arc::clone(one));
        }
        found.running.sort_by_key(|one| (one.maintenance_manifest.started, one.id.clone()));
        found.failed.sort_by_key(|one| (Reverse(one.maintenance_manifest.ended), one.id.clone()));
        found.waiting.sort_by_key(|one| {
            let manifest = &one.maintenance_manifest;
            (manifest.starts_after(), manifest.priority, one.id.clone())
        });
        found
    }

    fn take(&self, changes: Vec<TypedChange<ManifestDocument>>) {
        let now = self.clock.now();
        let mut known = self.known.write();
        known.retain(|_, one| is_shown(one, now));
        for change in changes {
            match change.document.map(|found| found.value).filter(|one| is_shown(one, now)) {
                Some(one) => known.insert(change.id, Arc::new(one)),
                None => known.remove(&change.id),
            };
        }
    }
}

/// It is open, or failed lately.
fn is_shown(document: &ManifestDocument, now: Timestamp) -> bool {
    let manifest = &document.maintenance_manifest;
    match manifest.state {
        ManifestState::Pending | ManifestState::InProgress => true,
        ManifestState::Failed | ManifestState::RetriesExceeded | ManifestState::TimedOut => {
            Timestamp::from_seconds(manifest.ended) + LATELY > now
        }
        ManifestState::Completed | ManifestState::Cancelled => false,
    }
}

impl Follower for FleetMaintenance {
    const COLLECTION: Collection = Collection::MaintenanceManifests;

    async fn apply(&self, cursor: i64) -> Result<(i64, bool), StoreError> {
        let changes = self.store.changes(cursor, BATCH).await?;
        if !changes.items.is_empty() {
            self.take(changes.items);
        }
        if !changes.more {
            self.complete.store(true, Ordering::Release);
        }
        Ok((changes.cursor, changes.more))
    }
}
