//! Who may do what with a cluster's resources: role assignments, the deny assignment, and what operators need
//! (`contract/cluster.md` §8.4, §13.2). Pure.

pub(crate) mod actions;
pub(crate) mod assignments;
pub(crate) mod deny;
mod sets;

pub(crate) use sets::{OperatorRole, check_operators, needed_minors, roles_for};

/// Azure's own roles (last part of their definitions' ids).
pub(crate) const CONTRIBUTOR: &str = "b24988ac-6180-42a0-ab88-20f7382dd24c";
pub(crate) const OWNER: &str = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635";
pub(crate) const BLOB_CONTRIBUTOR: &str = "ba92f5b4-2d11-453d-a403-e96b0029c3fe";
/// What the cluster's identity must be able to do with the platform's identities.
pub(crate) const FEDERATED_CREDENTIAL: &str = "ef318e2a-8334-4a05-9e4a-295a196c6a6e";

/// The last part of an id.
pub(crate) fn last(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}
