//! The elevation that a change wants which no access gives.

use std::sync::Arc;

use rp_access::{Caller, IssueError};
use rp_documents::{Elevation, ResourceId, Rights};

use crate::fault::Fault;
use crate::refusals;
use crate::state::SessionState;

/// The caller's elevation in force with these rights for this cluster; refuses a caller who has none.
///
/// # Errors
/// 403 `elevation_needed`, or the store's.
pub async fn require_elevation(
    state: &SessionState,
    caller: &Caller,
    cluster: &ResourceId,
    rights: Rights,
) -> Result<Arc<Elevation>, Fault> {
    let elevation = state.access.elevation_of(caller, cluster, rights).await;
    elevation
        .map_err(|error| Fault::store(&error))?
        .ok_or_else(|| refusals::issue(&IssueError::ElevationNeeded { rights }))
}
