//! Failures as ARM sees them: one mapping (`contract/frontend.md` §2 Replies).

use rp_api::CloudError;
use rp_base::chain;
use rp_database::StoreError;
use rp_seal::SealError;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// Refused, in the contract's words.
    #[error(transparent)]
    Refused(#[from] CloudError),
    /// The store did not do it.
    #[error("the store did not do it")]
    Store(#[from] StoreError),
    /// A stored secret cannot be opened, or a new one sealed.
    #[error("a secret cannot be opened or sealed")]
    Seal(#[from] SealError),
    /// What is stored is not what we write.
    #[error("a stored document cannot be used: {0}")]
    Stored(&'static str),
}

impl Fault {
    /// What the caller is told. What only we should know is logged here, once.
    pub(crate) fn told(self) -> CloudError {
        match self {
            Self::Refused(error) => error,
            Self::Store(error) if is_away(&error) => {
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

/// Whether trying again may help.
fn is_away(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Unavailable(_) | StoreError::Full | StoreError::Closed | StoreError::Stale { .. }
    )
}

/// What is needed is away for now.
pub(crate) fn unavailable() -> CloudError {
    let message = "The service is temporarily unavailable. Please try again.";
    CloudError::new(503, "ServiceUnavailable", "", message)
}

/// Something of ours is broken.
pub(crate) fn internal() -> CloudError {
    CloudError::new(500, "InternalServerError", "", "Internal server error.")
}
