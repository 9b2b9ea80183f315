//! Why an investigation fails. No text holds a credential.

use std::time::Duration;

use rp_config::SecretFileError;
use rp_kube::connect::ClientError;
use rp_kube::{ImportError, KubeError};

use crate::credential::CredentialError;

/// Why there is no answer, or no whole one.
#[derive(Debug, thiserror::Error)]
pub enum InvestigateError {
    /// A pod has no way to the cluster.
    #[error("cluster does not have a private endpoint IP configured")]
    NoPrivateEndpoint,
    /// The cluster cannot be read by the program.
    #[error("no credential could be issued for the investigation")]
    Credential(#[from] CredentialError),
    /// The file with the program's configuration cannot be used.
    #[error("the file of rp.investigate_config_file cannot be used: {0}")]
    Configuration(String),
    /// The management cluster did not do something.
    #[error("{doing}")]
    Management {
        /// What was not done, as a sentence.
        doing: &'static str,
        /// Why.
        #[source]
        error: ManagementError,
    },
    /// The program did not start.
    #[error("the investigation pod did not run within {} s: {seen}", within.as_secs())]
    NotRunning {
        /// How long it was waited for.
        within: Duration,
        /// What was last seen of the pod.
        seen: String,
    },
    /// The program ended, and not well.
    #[error("the investigation pod failed: {0}")]
    Failed(String),
    /// What the program prints cannot be read any more.
    #[error("the log of the investigation pod broke off: {0}")]
    Log(String),
}

/// Why the management cluster did not do something.
#[derive(Debug, thiserror::Error)]
pub enum ManagementError {
    /// Its kubeconfig cannot be read.
    #[error("the kubeconfig of the management cluster cannot be read")]
    File(#[from] SecretFileError),
    /// Its kubeconfig cannot be used.
    #[error("the kubeconfig of the management cluster cannot be used")]
    Kubeconfig(#[from] ImportError),
    /// No client can be made.
    #[error("no client of the management cluster can be made")]
    Client(#[from] ClientError),
    /// It did not answer.
    #[error("the management cluster did not answer")]
    Unreached(#[from] KubeError),
    /// It refused.
    #[error("the management cluster answered with status {status}: {message}")]
    Refused {
        /// Of HTTP.
        status: u16,
        /// The API server's sentence, cleaned and bounded.
        message: String,
    },
    /// It answered something else.
    #[error("the management cluster's answer cannot be read")]
    Unreadable,
    /// It did not answer in time.
    #[error("the management cluster did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
}

impl ManagementError {
    /// Whether the object is not there.
    pub(crate) const fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Whether there is an object of that name.
    pub(crate) const fn is_taken(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }

    /// As the reason why that was not done.
    pub(crate) const fn while_doing(self, doing: &'static str) -> InvestigateError {
        InvestigateError::Management { doing, error: self }
    }
}
