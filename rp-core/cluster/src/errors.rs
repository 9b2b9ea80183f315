//! Why a step did not reach its end.

use std::time::Duration;

use rp_actions::ActionError;
use rp_api::CloudError;
use rp_azure::AzureError;
use rp_base::chain;
use rp_base::text::clean;
use rp_kube::{ExecError, KubeError};
use rp_seal::SealError;

use crate::{InstallError, ProgressError};

/// Characters of what a command in a container, or the way to it, tells.
pub(crate) const LONGEST_CAUSE: usize = 1000;

/// What ended a step, before conversion (`contract/backend.md` §9.2).
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// A call to Azure.
    #[error(transparent)]
    Azure(#[from] AzureError),
    /// An error that the customer reads unchanged.
    #[error(transparent)]
    Cloud(#[from] CloudError),
    /// An error for the customer, with a detail for the operation's log.
    #[error("{told}")]
    Explained { told: CloudError, detail: String },
    /// A call to the cluster's API server.
    #[error("{what}: {}", chain(error))]
    Kube {
        what: String,
        #[source]
        error: Box<KubeError>,
    },
    /// A command in a container of the cluster that did not run to its end.
    #[error("{what}: {}", clean(&chain(error).to_string(), LONGEST_CAUSE))]
    Exec {
        what: String,
        #[source]
        error: Box<ExecError>,
    },
    /// The document could not be read or written.
    #[error(transparent)]
    Progress(#[from] ProgressError),
    /// The installer could not be asked.
    #[error(transparent)]
    Installer(#[from] InstallError),
    /// A sealed value of the document.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The condition was not met in time; what it last saw.
    #[error("condition step failed: {name}: timed out after {} s: {seen}", limit.as_secs())]
    Unmet { name: &'static str, limit: Duration, seen: String },
    /// The step itself did not end.
    #[error("step {name} did not end within {} s", limit.as_secs())]
    Overdue { name: &'static str, limit: Duration },
    /// The lease was lost.
    #[error("the lease was lost")]
    Lost,
    /// The process stops; the next worker begins the step again.
    #[error("handed over")]
    Stopping,
    /// An internal error.
    #[error("{0}")]
    Other(String),
}

impl From<ActionError<Self>> for StepError {
    fn from(error: ActionError<Self>) -> Self {
        match error {
            ActionError::Call(call) => call.error,
            other => Self::Other(other.to_string()),
        }
    }
}

impl StepError {
    /// An internal error with that text.
    pub fn other(text: impl Into<String>) -> Self {
        Self::Other(text.into())
    }

    /// A call to the cluster that failed; `what` was to be done.
    pub fn kube(what: impl Into<String>, error: KubeError) -> Self {
        Self::Kube { what: what.into(), error: Box::new(error) }
    }

    /// Whether the API server answered that the object is not there.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Azure(error) => error.is_missing(),
            Self::Kube { error, .. } => rp_kube::api_status(error) == Some(404),
            _ => false,
        }
    }

    /// Whether the work ended for reasons that are not its own: nothing failed.
    pub const fn is_interruption(&self) -> bool {
        matches!(self, Self::Lost | Self::Stopping | Self::Progress(ProgressError::Lost))
    }
}
