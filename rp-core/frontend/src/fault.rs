//! Failures as ARM sees them: one mapping (`contract/frontend.md` §2 Replies).

use rp_api::CloudError;
use rp_base::chain;
use rp_database::StoreError;
use rp_documents::cluster::provisioning::Refusal;
use rp_seal::SealError;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// Refused, with the contract's error.
    #[error(transparent)]
    Refused(#[from] CloudError),
    /// The store did not do it.
    #[error("the store did not do it")]
    Store(#[from] StoreError),
    /// A stored secret cannot be opened, or a new one sealed.
    #[error("a secret cannot be opened or sealed")]
    Seal(#[from] SealError),
    /// A stored document is not of a form that we write.
    #[error("a stored document cannot be used: {0}")]
    Stored(&'static str),
}

impl Fault {
    /// The error for the caller. Internal details are logged here, once.
    pub(crate) fn into_cloud_error(self) -> CloudError {
        match self {
            Self::Refused(error) => error,
            Self::Store(error) if is_temporary(&error) => {
                tracing::error!(error = %chain(&error), "the store did not answer");
                unavailable()
            }
            other => {
                tracing::error!(error = %chain(&other), "a request failed");
                internal()
            }
        }
    }
}

/// A state that does not allow the request (`contract/api.md` §6).
impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let message = match refusal {
            Refusal::State(state) => format!("Request is not allowed in provisioningState '{state}'."),
            Refusal::CreationFailed => {
                "Request is not allowed on cluster whose creation failed. Delete the cluster.".to_owned()
            }
            Refusal::DeletionFailed => {
                "Request is not allowed on cluster whose deletion failed. Delete the cluster.".to_owned()
            }
            Refusal::UnknownFailure => return Self::Refused(internal()),
        };
        Self::Refused(CloudError::bad("RequestNotAllowed", "", message))
    }
}

/// Whether a retry may succeed.
fn is_temporary(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Unavailable(_) | StoreError::Full | StoreError::Closed | StoreError::Stale { .. }
    )
}

/// A dependency is unavailable for now.
pub(crate) fn unavailable() -> CloudError {
    let message = "The service is temporarily unavailable. Please try again.";
    CloudError::new(503, "ServiceUnavailable", "", message)
}

/// An internal error.
pub(crate) fn internal() -> CloudError {
    CloudError::new(500, "InternalServerError", "", "Internal server error.")
}
