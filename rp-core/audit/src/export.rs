//! The log as lines, and its check without a process that writes it.

use rp_database::{SharedStore, Stored};
use rp_documents::Collection;

use crate::batch::BatchView;
use crate::verify::verify;
use crate::{Audit, AuditError, CheckpointKey, SignedCheckpoint, Verdict};

/// Documents that are read at once.
const PAGE: u32 = 32;

/// Checks the log in a store, without writing to it.
///
/// # Errors
/// The store does not answer. What is wrong with the log is in the verdict.
pub async fn verify_store(
    store: &SharedStore,
    key: &CheckpointKey,
    kept: &[SignedCheckpoint],
) -> Result<Verdict, AuditError> {
    verify(store, key, kept, None).await
}

/// What of the log comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Entries,
    Checkpoints,
    /// Those that were written meanwhile: a checkpoint may have signed them.
    LateEntries,
    Tombstones,
    Done,
}

/// The whole log as lines, in the order of the commits, the oldest first: entries as they are stored, then checkpoints
/// and tombstones. [`crate::LineVerifier`] reads them. Entries that are written while it runs stand between those.
#[derive(Debug)]
pub struct Export {
    store: SharedStore,
    stage: Stage,
    position: i64,
    /// Up to where entries have been given out.
    entries: i64,
    /// Where the stage ends: a log that grows faster than it is read would have no end.
    until: Option<i64>,
}

impl Export {
    /// From the first entry on.
    pub fn new(store: SharedStore) -> Self {
        Self { store, stage: Stage::Entries, position: 0, entries: 0, until: None }
    }

    /// Some more lines; `None` at the end. May be empty before that.
    ///
    /// # Errors
    /// The store does not answer; the call can be made again.
    pub async fn next(&mut self) -> Result<Option<Vec<String>>, AuditError> {
        let collection = match self.stage {
            Stage::Entries | Stage::LateEntries => Collection::AuditBatches,
            Stage::Checkpoints => Collection::Checkpoints,
            Stage::Tombstones => Collection::AuditTombstones,
            Stage::Done => return Ok(None),
        };
        let until = match self.until {
            Some(until) => until,
            None => *self.until.insert(self.store.head(collection).await?),
        };
        let changes = self.store.changes(collection, self.position, PAGE).await?;
        let stored = changes.items.iter().filter_map(|change| change.document.as_ref());
        let lines = stored.flat_map(|stored| lines(collection, stored)).collect();
        self.position = changes.cursor;
        if !changes.more || self.position >= until {
            self.begin_next_stage();
        }
        Ok(Some(lines))
    }

    fn begin_next_stage(&mut self) {
        self.until = None;
        (self.stage, self.position, self.entries) = match self.stage {
            Stage::Entries => (Stage::Checkpoints, 0, self.position),
            Stage::Checkpoints => (Stage::LateEntries, self.entries, self.entries),
            Stage::LateEntries => (Stage::Tombstones, 0, self.position),
            Stage::Tombstones | Stage::Done => (Stage::Done, 0, self.entries),
        };
    }
}

fn lines(collection: Collection, stored: &Stored) -> Vec<String> {
    match collection {
        Collection::Checkpoints => vec![format!("{{\"checkpoint\":{}}}", stored.body)],
        Collection::AuditTombstones => vec![format!("{{\"tombstone\":{}}}", stored.body)],
        _ => match serde_json::from_str::<BatchView<'_>>(&stored.body) {
            Ok(batch) => batch.entries.iter().map(|entry| entry.get().to_owned()).collect(),
            // A hole in the numbers then says that something is wrong.
            Err(_) => Vec::new(),
        },
    }
}

impl Audit {
    /// The whole log as lines, the oldest first, with what lets it be verified.
    pub fn export(&self) -> Export {
        Export::new(self.0.store.clone())
    }
}
