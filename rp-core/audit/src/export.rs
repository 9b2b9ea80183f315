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
    Statements(Collection),
    Done,
}

/// The whole log as lines, in the order of the commits: entries as they are stored, then checkpoints and tombstones.
/// [`crate::LineVerifier`] reads them.
#[derive(Debug)]
pub struct Export {
    store: SharedStore,
    stage: Stage,
    position: i64,
}

impl Export {
    /// From the first entry on.
    pub fn new(store: SharedStore) -> Self {
        Self { store, stage: Stage::Entries, position: 0 }
    }

    /// Some more lines; `None` at the end. May be empty before that.
    ///
    /// # Errors
    /// The store does not answer; the call can be made again.
    pub async fn next(&mut self) -> Result<Option<Vec<String>>, AuditError> {
        let collection = match self.stage {
            Stage::Entries => Collection::AuditBatches,
            Stage::Statements(collection) => collection,
            Stage::Done => return Ok(None),
        };
        let changes = self.store.changes(collection, self.position, PAGE).await?;
        let stored = changes.items.iter().filter_map(|change| change.document.as_ref());
        let lines = stored.flat_map(|stored| lines(collection, stored)).collect();
        self.position = changes.cursor;
        if !changes.more {
            self.position = 0;
            self.stage = match self.stage {
                Stage::Entries => Stage::Statements(Collection::Checkpoints),
                Stage::Statements(Collection::Checkpoints) => Stage::Statements(Collection::AuditTombstones),
                Stage::Statements(_) | Stage::Done => Stage::Done,
            };
        }
        Ok(Some(lines))
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
    /// Signed checkpoints and tombstones as lines: at the end of an export they let it be verified.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn checkpoint_lines(&self) -> Result<Vec<String>, AuditError> {
        let stage = Stage::Statements(Collection::Checkpoints);
        let mut export = Export { store: self.0.store.clone(), stage, position: 0 };
        let mut out = Vec::new();
        while let Some(lines) = export.next().await? {
            out.extend(lines);
        }
        Ok(out)
    }
}
