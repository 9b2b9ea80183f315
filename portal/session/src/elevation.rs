//! The elevation that a change wants which no access gives.

use rp_access::{Caller, IssueError};
use rp_documents::{ResourceId, Rights};

use crate::fault::Fault;
use crate::refusals;
use crate::state::SessionState;

/// Refuses a caller who has no elevation in force with these rights for this cluster.
///
/// # Errors
/// 403 `elevation_needed`, or the store's.
pub async fn require_elevation(
    state: &SessionState,
    caller: &Caller,
    cluster: &ResourceId,
    rights: Rights,
) -> Result<(), Fault> {
    let elevated = state.access.is_elevated(caller, cluster, rights).await;
    if elevated.map_err(|error| Fault::store(&error))? {
        return Ok(());
    }
    Err(refusals::issue(&IssueError::ElevationNeeded { rights }))
}
