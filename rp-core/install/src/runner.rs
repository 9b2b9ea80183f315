//! Who runs the installer (`contract/installer.md` §16). A runner gives the changed Ignition configs and the state; what is
//! made of them is somebody else's work.

mod folder;
mod local;
mod output;

use std::io;

use async_trait::async_trait;
use rp_base::Secret;
use serde_json::{Value, json};

use crate::InputError;
use crate::authority::AuthorityError;
use crate::facts::InstallFacts;
use crate::manifests::ManifestError;
use crate::state::{InstallerState, StateError};
use crate::transform::{BootstrapLogging, TransformError};

pub use local::LocalProcess;

/// What the installer signs in to Azure with (`contract/installer.md` §5, `credentialsMode`).
#[derive(Debug, Clone)]
pub struct AzureCredentials {
    pub tenant: String,
    pub subscription: String,
    pub client_id: String,
    pub proof: Proof,
}

/// How an application proves who it is.
#[derive(Debug, Clone)]
pub enum Proof {
    /// The secret of the cluster's service principal.
    Secret(Secret<String>),
    /// The first-party application's certificate and key, PEM in one text: clusters with workload identities have no
    /// service principal.
    Certificate(Secret<String>),
}

/// The file of a certificate, beside that of the credentials.
const CERTIFICATE: &str = "first-party.pem";

impl AzureCredentials {
    /// `osServicePrincipal.json` of an installer whose home that folder is.
    fn file(&self, home: &std::path::Path) -> Secret<String> {
        let mut file = json!({
            "tenantId": self.tenant,
            "subscriptionId": self.subscription,
            "clientId": self.client_id,
        });
        match &self.proof {
            Proof::Secret(secret) => file["clientSecret"] = json!(secret.expose()),
            Proof::Certificate(_) => file["clientCertificate"] = json!(home.join(CERTIFICATE)),
        }
        Secret::new(file.to_string())
    }
}

/// One installation.
#[derive(Debug, Clone)]
pub struct InstallOrder {
    /// The id of the cluster's document, a UUID.
    pub id: String,
    pub facts: InstallFacts,
    /// The release to install.
    pub release_image: String,
    pub credentials: AzureCredentials,
    /// Name of the file and object.
    pub custom_manifests: Vec<(String, Value)>,
    /// PEM; workload identity only.
    pub bound_signing_key: Option<Secret<String>>,
    pub logging: Option<BootstrapLogging>,
}

/// What an installation needs of the installer.
#[derive(Debug, Clone)]
pub struct Assets {
    /// Ignition configs. That of the bootstrap machine holds all keys of the cluster.
    pub bootstrap: Secret<Vec<u8>>,
    pub master: Secret<Vec<u8>>,
    pub worker: Secret<Vec<u8>>,
    pub state: InstallerState,
}

/// Why there are no assets. No text holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the id of an installation is not a UUID")]
    Id,
    #[error("another worker runs this installation")]
    Busy,
    #[error("cannot {act} in the folder of the installation: {source}")]
    Folder { act: &'static str, source: io::Error },
    #[error("cannot start the installer {binary}: {source}")]
    Start { binary: String, source: io::Error },
    #[error("the installer did not end `{command}` within {seconds} s; its last lines: {output}")]
    Deadline { command: &'static str, seconds: u64, output: String },
    #[error("the installer ended `{command}` with {status}; its last lines: {output}")]
    Failed { command: &'static str, status: String, output: String },
    #[error("the installer ended `{command}` well and made no {path}; its last lines: {output}")]
    NoAsset { command: &'static str, path: &'static str, output: String },
    #[error("{path} of the installer is larger than {most} bytes")]
    Large { path: &'static str, most: u64 },
    #[error("{path} of the installer has another form than YAML")]
    Form { path: &'static str },
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error(transparent)]
    Transform(#[from] TransformError),
}

/// Runs the installer.
#[async_trait]
pub trait InstallRunner: Send + Sync + std::fmt::Debug + 'static {
    /// The assets of an installation. It may be called again after any end of the process: it goes on with the stages
    /// that were done, and gives the same assets from then on.
    ///
    /// # Errors
    /// [`RunError`].
    async fn assets(&self, order: &InstallOrder) -> Result<Assets, RunError>;

    /// Removes everything that is kept of an installation.
    ///
    /// # Errors
    /// [`RunError`].
    async fn remove(&self, id: &str) -> Result<(), RunError>;

    /// Ids of the installations of which this runner keeps something.
    ///
    /// # Errors
    /// [`RunError`].
    async fn kept(&self) -> Result<Vec<String>, RunError>;
}
