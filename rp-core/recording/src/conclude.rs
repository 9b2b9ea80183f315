//! The end of a recording whose writer died: found by reading it to its last chunk, and stored as the writer
//! would have done.

use rp_base::{Timestamp, chain};
use rp_database::{StoreError, Versioned};
use rp_documents::Recording;

use crate::list::{BROKEN_OFF, RecordingState};
use crate::plain::{events, instant};
use crate::recordings::RecordingStore;
use crate::writer::end_entry;
use crate::{ReadError, SharedStorage};

/// Whether nobody writes it any more, though it has no end: it was not heard of for long, or it is older than this
/// process in a place that is this process's alone.
fn is_abandoned(recording: &Recording, storage: &SharedStorage, since: Timestamp, now: Timestamp) -> bool {
    recording.ended.is_none()
        && (RecordingState::from_recording(recording, now) == RecordingState::BrokenOff
            || (storage.is_ours_alone() && recording.started < since))
}

impl RecordingStore {
    /// Gives an end to a recording that was left without one.
    pub(crate) async fn conclude(&self, found: Versioned<Recording>) {
        if !is_abandoned(&found.value, &self.storage, self.since, self.clock.now()) {
            return;
        }
        let id = found.value.id.clone();
        match Box::pin(self.end_of(found)).await {
            Ok(false) => {}
            Ok(true) => {
                tracing::warn!(recording = %id, "a recording broke off with the process that wrote it");
            }
            Err(error) => {
                tracing::warn!(recording = %id, error = %chain(&error), "a recording that broke off could not be ended");
            }
        }
    }

    /// Whether it was us who ended it.
    async fn end_of(&self, mut found: Versioned<Recording>) -> Result<bool, ReadError> {
        let ours = &mut found.value;
        let (mut at, mut bytes) = (0u64, 0u64);
        match self.read(ours).await {
            Ok(mut reader) => {
                while let Some(chunk) = reader.next().await? {
                    for (after, code, data) in events(chunk.text.as_deref().unwrap_or_default()) {
                        at = at.saturating_add(after);
                        bytes += if matches!(code, 'o' | 'e') { data.len() as u64 } else { 0 };
                    }
                    tokio::task::yield_now().await;
                }
                let (chunks, head) = reader.so_far();
                // Fewer chunks than the document states: it was cut. The document keeps the higher number.
                if chunks >= ours.chunks {
                    (ours.chunks, ours.head) = (chunks, head);
                }
            }
            // It died before its first chunk.
            Err(ReadError::Unknown) => {}
            Err(error) => return Err(error),
        }
        ours.bytes = ours.bytes.max(bytes);
        ours.ended = Some(instant(ours.started, at).max(ours.started));
        ours.outcome = Some(BROKEN_OFF.to_owned());
        let entry = end_entry(ours, self.clock.now(), "cut");
        // A writer that lives after all writes over it.
        match self.documents.replace(found).await {
            Ok(_) => {}
            Err(StoreError::Gone { .. } | StoreError::Stale { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        if let Err(error) = self.audit.queue(entry).await {
            tracing::error!(error = %chain(&error), "the end of a recording that broke off could not be audited");
        }
        Ok(true)
    }
}
