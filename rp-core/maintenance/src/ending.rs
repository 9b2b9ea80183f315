//! Manifests that end before they begin: cancelled by maintenance itself, or too late.

use rp_base::Timestamp;
use rp_database::{StoreError, Typed, Versioned};
use rp_documents::ManifestDocument;
use rp_documents::maintenance::{Manifest, ManifestState};

/// The contract's text of what does not fit its schedule any more.
pub(crate) const TAKEN_BACK: &str = "Cancelled by Scheduler as did not match current schedule settings";
/// Text of what was planned by a schedule that stopped. When the schedule goes on, turns of this kind that are still to
/// come are made again.
pub(crate) const STOPPED: &str = "Cancelled: its schedule stopped after failures on other clusters";

/// Whether maintenance itself took the manifest back.
pub(crate) fn is_own(manifest: &Manifest) -> bool {
    let text = manifest.status_text.as_str();
    manifest.state == ManifestState::Cancelled && (text == TAKEN_BACK || text == STOPPED)
}

/// Ends a manifest with that text, and gives what was written; `None`: its state does not allow it, or somebody else
/// wrote it first.
///
/// # Errors
/// The store's.
pub(crate) async fn end(
    manifests: &Typed<ManifestDocument>,
    found: Versioned<ManifestDocument>,
    state: ManifestState,
    text: &str,
    now: Timestamp,
) -> Result<Option<ManifestDocument>, StoreError> {
    let Some(ended) = found.try_map(|one| one.with_state(state, text, now)) else { return Ok(None) };
    match manifests.replace(ended).await {
        Ok(written) => Ok(Some(written.value)),
        Err(StoreError::Stale { .. } | StoreError::Gone { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
