//! Why an operation did not reach its end.

use rp_api::CloudError;

use crate::ProgressError;

/// What ended an operation, after conversion (`contract/backend.md` §9.2).
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An error that the customer reads, with the details for the log.
    #[error("{told}: {detail}")]
    Customer { told: CloudError, detail: String },
    /// An internal error: the customer reads "Internal server error.".
    #[error("{0}")]
    Internal(String),
    /// Nothing is wrong with the cluster; the work is to be tried again later (a store that is away, a tenant's
    /// subscription not read yet).
    #[error("{0}")]
    Later(String),
    /// The lease was lost: nothing may be written any more.
    #[error("the lease was lost")]
    Lost,
    /// The process stops: the lease is handed on, and the work goes on from the last saved step.
    #[error("handed over")]
    HandedOver,
}

impl From<CloudError> for Failure {
    fn from(told: CloudError) -> Self {
        Self::Customer { detail: String::new(), told }
    }
}

impl From<ProgressError> for Failure {
    fn from(error: ProgressError) -> Self {
        match error {
            ProgressError::Lost => Self::Lost,
            ProgressError::Store(text) => Self::Later(text),
        }
    }
}
