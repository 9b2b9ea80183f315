//! The credential of an investigation: a client certificate of the cluster's own authority, for one hour.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_azure::{AccountAccess, Arm, AzureError, BlobStore, Tenants};
use rp_base::{Random, Secret, SharedClock, SharedRandom, Timestamp};
use rp_documents::ClusterDocument;
use rp_install::authority::Client;
use rp_install::graph::{self, GraphError};
use rp_install::kubeconfig::{KubeconfigError, client_kubeconfig};
use rp_install::state::InstallerState;
use rp_seal::Keyring;
use serde::Deserialize;
use url::Url;

/// The user that the certificate names. The operator of the cluster keeps its role, which reads no Secrets
/// (`contract/operator.md` §8.26).
pub const DIAGNOSTICS_USER: &str = "system:aro-diagnostics";
/// How long the certificate is good.
const VALIDITY: Duration = Duration::from_hours(1);

/// Why there is no credential. No text holds a key.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The tenant of the cluster is not known.
    #[error("the subscription of the cluster is not registered")]
    NoTenant,
    /// There is nothing that could sign it.
    #[error("the cluster's storage account has no graph of its installation")]
    NoGraph,
    /// Azure does not give the graph.
    #[error("the graph of the cluster's installation cannot be read")]
    Azure(#[from] AzureError),
    /// What is in the account is no graph of this cluster.
    #[error("the graph of the cluster's installation cannot be used")]
    Graph(#[from] GraphError),
    /// The graph has no authority or no kubeconfig.
    #[error("the graph of the cluster's installation gives no kubeconfig")]
    Kubeconfig(#[from] KubeconfigError),
    /// Its kubeconfig names no host.
    #[error("the kubeconfig of the cluster names no server")]
    NoServer,
}

/// A kubeconfig of [`DIAGNOSTICS_USER`].
#[derive(Debug, Clone)]
pub struct DiagnosticsKubeconfig {
    /// The file, JSON.
    pub text: Secret<String>,
    /// The host of its server, which names the private endpoint in the pod.
    pub host: String,
}

impl DiagnosticsKubeconfig {
    /// Of the state of an installation, good from now on for an hour.
    ///
    /// # Errors
    /// The state has no authority or no kubeconfig.
    pub fn of_state(
        state: &InstallerState,
        random: &dyn Random,
        now: Timestamp,
    ) -> Result<Self, CredentialError> {
        let client = Client { user: DIAGNOSTICS_USER, organisation: None, validity: VALIDITY };
        let text = client_kubeconfig(state, client, None, random, now)?;
        let host = host(text.expose()).ok_or(CredentialError::NoServer)?;
        Ok(Self { text, host })
    }
}

/// The host of the first server.
fn host(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct File {
        clusters: Vec<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        cluster: Cluster,
    }
    #[derive(Deserialize)]
    struct Cluster {
        server: Url,
    }
    let file: File = serde_json::from_str(text).ok()?;
    file.clusters.first()?.cluster.server.host_str().map(str::to_owned)
}

/// Issues credentials for one investigation each.
#[async_trait]
pub trait KubeconfigIssuer: Send + Sync + fmt::Debug + 'static {
    /// A new one for that cluster.
    ///
    /// # Errors
    /// [`CredentialError`].
    async fn issue(&self, cluster: &ClusterDocument) -> Result<DiagnosticsKubeconfig, CredentialError>;
}

/// [`KubeconfigIssuer`] by the authority in the graph of a cluster's installation, in the cluster's storage account
/// (`contract/cluster.md` §9).
#[derive(Clone)]
pub struct GraphCredentials {
    /// Azure, as the first-party application.
    pub azure: Arm,
    /// Of the subscriptions of clusters.
    pub tenants: Arc<dyn Tenants>,
    /// Opens the graph.
    pub keyring: Keyring,
    /// The time of the certificate.
    pub clock: SharedClock,
    /// The certificate's number.
    pub random: SharedRandom,
}

impl fmt::Debug for GraphCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphCredentials").field("azure", &self.azure).finish_non_exhaustive()
    }
}

#[async_trait]
impl KubeconfigIssuer for GraphCredentials {
    async fn issue(&self, cluster: &ClusterDocument) -> Result<DiagnosticsKubeconfig, CredentialError> {
        let state = self.graph(cluster).await?;
        DiagnosticsKubeconfig::of_state(&state, &*self.random, self.clock.now())
    }
}

impl GraphCredentials {
    async fn graph(&self, cluster: &ClusterDocument) -> Result<InstallerState, CredentialError> {
        let subscription = cluster.cluster.id.subscription();
        let tenant = self.tenants.tenant(subscription).await.ok_or(CredentialError::NoTenant)?;
        let properties = &cluster.cluster.properties;
        let group = &*properties.cluster_profile.resource_group_id;
        let suffix = &*properties.storage_suffix;
        let account = format!("{group}/providers/Microsoft.Storage/storageAccounts/cluster{suffix}");
        let access = match properties.is_workload_identity() {
            true => AccountAccess::Token,
            false => AccountAccess::Signature("r"),
        };
        let client = self.azure.in_tenant(&tenant);
        let blobs = BlobStore::of_account(client, &account, access, self.clock.now()).await?;
        let blobs = blobs.ok_or(CredentialError::NoGraph)?;
        let blob = blobs.get(graph::CONTAINER, graph::BLOB).await?.ok_or(CredentialError::NoGraph)?;
        let (state, _) = graph::open(&blob, &cluster.id, &self.keyring)?;
        Ok(state)
    }
}
