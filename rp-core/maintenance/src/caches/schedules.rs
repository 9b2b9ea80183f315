//! The schedules, with the version that each was read at.

use std::collections::HashMap;
use std::sync::Arc;

use rp_database::{TypedChange, Version};
use rp_documents::ScheduleDocument;

/// By id.
#[derive(Debug, Default)]
pub(crate) struct Schedules(HashMap<String, (Version, Arc<ScheduleDocument>)>);

impl Schedules {
    pub(super) fn apply(&mut self, change: TypedChange<ScheduleDocument>) {
        match change.document {
            Some(found) => self.0.insert(change.id, (found.version, Arc::new(found.value))),
            None => self.0.remove(&change.id),
        };
    }

    pub(crate) fn all(&self) -> Vec<(Version, Arc<ScheduleDocument>)> {
        self.0.values().cloned().collect()
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Arc<ScheduleDocument>> {
        self.0.get(id).map(|(_, schedule)| schedule)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
