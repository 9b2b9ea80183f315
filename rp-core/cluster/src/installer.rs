//! How OpenShift gets onto the machines of a new cluster ([decision 20](../../../docs/decisions/0020-assets-or-the-whole.md)).

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use rp_base::Secret;
use rp_documents::OpenShiftVersionDocument;
use rp_install::runner::InstallRunner;
use rp_install::state::InstallerState;
use serde_json::Value;

use crate::progress::ProgressError;

/// How the clusters of a region are installed.
#[derive(Debug, Clone)]
pub enum Installation {
    /// A runner makes the assets of the release's installer; the steps make the machines of them.
    Assets(AssetInstallation),
    /// An installer does all of it.
    Whole(Arc<dyn Installer>),
    /// New clusters end at the step `runInstaller`; the setting that would change it.
    None { setting: &'static str },
}

/// What an installation by the steps needs of its region.
#[derive(Debug, Clone)]
pub struct AssetInstallation {
    pub runner: Arc<dyn InstallRunner>,
    pub versions: Arc<dyn Versions>,
    /// Of the first-party application: with it the installer signs in for clusters with workload identities. `None`: those
    /// are refused.
    pub certificate: Option<PemFiles>,
}

/// A certificate and its key in PEM, read anew each time they are used.
#[derive(Debug, Clone)]
pub struct PemFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl PemFiles {
    /// Both in one text.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn read(&self) -> std::io::Result<Secret<String>> {
        let certificate = std::fs::read_to_string(&self.certificate)?;
        let key = std::fs::read_to_string(&self.key)?;
        Ok(Secret::new(format!("{}\n{}\n", certificate.trim_end(), key.trim_end())))
    }
}

/// The versions that a region offers.
#[async_trait]
pub trait Versions: Send + Sync + std::fmt::Debug + 'static {
    /// All of them, as the store has them now.
    ///
    /// # Errors
    /// The store did not answer.
    async fn all(&self) -> Result<Vec<OpenShiftVersionDocument>, ProgressError>;
}

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

/// Installs the whole of OpenShift: it makes machines too. Every call may be repeated.
#[async_trait]
pub trait Installer: Send + Sync + std::fmt::Debug + 'static {
    /// Begins, unless it has begun. It is given the cluster's stored document with its secrets open.
    ///
    /// # Errors
    /// The installer is away, or refuses.
    async fn begin(&self, document: &Value) -> Result<(), InstallError>;

    /// State of the installation of that cluster, by its lower-cased resource id.
    ///
    /// # Errors
    /// The installer is away.
    async fn state(&self, cluster: &str) -> Result<InstallState, InstallError>;

    /// The installer's state of an installation that is complete: its authorities, kubeconfig and password.
    ///
    /// # Errors
    /// The installer is away, or has no such installation.
    async fn graph(&self, cluster: &str) -> Result<InstallerState, InstallError>;

    /// Removes what the installer itself keeps for a cluster.
    ///
    /// # Errors
    /// The installer is away.
    async fn remove(&self, cluster: &str) -> Result<(), InstallError>;
}
