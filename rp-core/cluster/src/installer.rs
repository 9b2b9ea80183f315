//! The interface of the installer of OpenShift.

use async_trait::async_trait;
use serde_json::Value;

/// Progress of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallState {
    /// None was started under that cluster's id.
    Unknown,
    /// It runs; with the present activity as text for people.
    Running { message: String },
    /// Kubernetes answers, and the installer has done its part.
    Complete,
    /// It failed; with the reason as text for people.
    Failed { reason: String, message: String },
}

/// Why an installer could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// A retry may succeed.
    #[error("the installer is away: {0}")]
    Away(String),
    #[error("the installer refuses: {0}")]
    Refused(String),
}

/// Installs OpenShift. Every call may be repeated.
#[async_trait]
pub trait Installer: Send + Sync + std::fmt::Debug + 'static {
    /// Begins, unless it has begun: the cluster's stored document, its secrets open, and the admin's and the service's
    /// kubeconfigs' certificates made by the steps are in it.
    ///
    /// # Errors
    /// The installer is away, or refuses.
    async fn begin(&self, document: &Value) -> Result<(), InstallError>;

    /// State of the installation of that cluster, by its lower-cased resource id.
    ///
    /// # Errors
    /// The installer is away.
    async fn state(&self, cluster: &str) -> Result<InstallState, InstallError>;

    /// Removes what the installer itself keeps for a cluster.
    ///
    /// # Errors
    /// The installer is away.
    async fn remove(&self, cluster: &str) -> Result<(), InstallError>;
}
