//! The schedules of maintenance in memory. They follow the change feed, so that a page of them costs no query.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use rp_base::Timestamp;
use rp_database::{SharedStore, StoreError, Typed};
use rp_documents::maintenance::ScheduleState;
use rp_documents::{Collection, ScheduleDocument};

use crate::feed::{Follower, follow};

/// Changes read at once.
const BATCH: u32 = 500;

/// Whether a schedule makes manifests, and why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScheduleStanding {
    /// Its task failed on too many clusters.
    Stopped,
    Enabled,
    Disabled,
}

impl ScheduleStanding {
    /// Of a schedule.
    pub fn of(document: &ScheduleDocument) -> Self {
        match document.maintenance_schedule.state {
            ScheduleState::Disabled => Self::Disabled,
            ScheduleState::Enabled if document.rollout.has_stopped() => Self::Stopped,
            ScheduleState::Enabled => Self::Enabled,
        }
    }

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stopped => "Stopped",
            Self::Enabled => "Enabled",
            Self::Disabled => "Disabled",
        }
    }
}

/// When the next window of a schedule begins; `None`: none is to come, or it makes no manifests.
pub fn next_window(document: &ScheduleDocument, now: Timestamp) -> Option<Timestamp> {
    document.is_active().then(|| document.maintenance_schedule.rules().ok()?.calendar.next(now)).flatten()
}

/// What is known of the schedules.
#[derive(Debug)]
pub struct FleetSchedules {
    store: Typed<ScheduleDocument>,
    /// By the schedule's id.
    known: RwLock<HashMap<String, Arc<ScheduleDocument>>>,
    complete: AtomicBool,
}

impl FleetSchedules {
    /// Reads in the background, then follows.
    pub fn start(store: &SharedStore) -> Arc<Self> {
        let schedules = Arc::new(Self {
            store: Typed::new(Arc::clone(store)),
            known: RwLock::default(),
            complete: AtomicBool::new(false),
        });
        follow(&schedules, store);
        schedules
    }

    /// All of them: first those that stopped, last those that are disabled; and whether everything was read.
    pub fn all(&self) -> (Vec<Arc<ScheduleDocument>>, bool) {
        let complete = self.complete.load(Ordering::Acquire);
        let mut all: Vec<_> = self.known.read().values().cloned().collect();
        all.sort_by_cached_key(|one| {
            let task = one.maintenance_schedule.maintenance_task_id.clone();
            (ScheduleStanding::of(one), task, one.id.clone())
        });
        (all, complete)
    }
}

impl Follower for FleetSchedules {
    const COLLECTION: Collection = Collection::MaintenanceSchedules;

    async fn apply(&self, cursor: i64) -> Result<(i64, bool), StoreError> {
        let changes = self.store.changes(cursor, BATCH).await?;
        if !changes.items.is_empty() {
            let mut known = self.known.write();
            for change in changes.items {
                match change.document {
                    Some(found) => known.insert(change.id, Arc::new(found.value)),
                    None => known.remove(&change.id),
                };
            }
        }
        if !changes.more {
            self.complete.store(true, Ordering::Release);
        }
        Ok((changes.cursor, changes.more))
    }
}
