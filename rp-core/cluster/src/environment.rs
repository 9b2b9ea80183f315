//! The environment of all steps: the region's names, clients, clock and limits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_azure::{AzureClients, Cloud};
use rp_base::{Secret, SharedClock, SharedRandom};
use rp_documents::RoleSetDocument;
use rp_kube::connect::{ClientOptions, Identity};
use rp_kube::{ExecError, ExecOutput, ExecRequest, KubeClient};
use rp_net::{Dialer, Target};
use rp_openshift::pull_secret::{PullSecret, PullSecretError};
use rp_seal::Keyring;

use crate::errors::StepError;
use crate::installer::Installation;
use crate::progress::ProgressError;
use crate::vault::CertificateVault;

/// A region with its clients. There is one per process.
#[derive(Debug)]
pub struct Environment {
    /// Azure location, e.g. `eastus`.
    pub region: String,
    /// Parent of managed domains, e.g. `eastus.aroapp.io`; also the name of the public DNS zone.
    pub domain: String,
    /// The resource provider's own subscription, directory and resource groups.
    pub rp_subscription: String,
    pub rp_tenant: String,
    pub rp_group: String,
    pub gateway_group: String,
    /// Virtual network and subnet of private endpoints, in `rp_group`.
    pub endpoint_vnet: String,
    pub endpoint_subnet: String,
    /// Resource id of the container registry; empty: no tokens are made.
    pub registry_id: String,
    /// The registry's host, e.g. `arosvc.azurecr.io`.
    pub registry_host: String,
    /// The first-party application and, in the customer's directory, its service principal's object id.
    pub fp_client_id: String,
    pub fp_service_principal: String,
    /// Where issuers of workload identities are published; `None`: such clusters are refused.
    pub oidc: Option<OidcStorage>,
    /// Issuer of certificates, `OneCertV2-PublicCA` in production.
    pub certificate_issuer: String,
    /// Git commit of this software.
    pub commit: String,
    /// What the operator of a cluster is deployed with.
    pub operator: OperatorSettings,
    pub features: Features,
    /// Azure as the different identities see it (`contract/cluster.md` §1.2).
    pub azure: Arc<dyn AzureClients>,
    /// The vault of clusters' certificates; `None`: no certificates are ordered.
    pub certificates: Option<Arc<dyn CertificateVault>>,
    pub role_sets: Arc<dyn RoleSets>,
    /// Records of the gateway; `None`: there is no gateway.
    pub gateways: Option<Arc<dyn Gateways>>,
    /// How OpenShift gets onto the machines.
    pub installation: Installation,
    pub keyring: Keyring,
    pub clock: SharedClock,
    pub random: SharedRandom,
    /// How the clusters' API servers are reached.
    pub clusters: Arc<dyn ClusterClients>,
    pub periods: Periods,
}

/// Where OpenID documents of clusters lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcStorage {
    /// Storage account.
    pub account: String,
    /// Where the container `$web` is written, e.g. `https://ACCOUNT.blob.core.windows.net`.
    pub blob_url: String,
    /// Where everybody reads, without scheme and without a slash at the end.
    pub endpoint: String,
}

/// What the operator of a cluster is deployed with (`contract/operator.md` §5).
#[derive(Debug, Clone)]
pub struct OperatorSettings {
    /// Reference of the image; empty: `aro` of the registry, with the commit as its tag.
    pub image: String,
    /// Registries from which every operator may pull, beside those of the cluster's own tokens.
    pub pull_secret: PullSecret,
    /// The cloud that clusters are in.
    pub cloud: Cloud,
    /// Domains that clusters reach through the gateway.
    pub gateway_domains: Vec<String>,
    /// Parent of the service's own domains.
    pub parent_domain: String,
    /// Name of the environment, for the flag `aro.environment`; empty: it is not set.
    pub environment: String,
}

impl OperatorSettings {
    /// Reads the JSON of a pull secret; none of it: no registries.
    ///
    /// # Errors
    /// It has another form.
    pub fn registries(text: Option<&Secret<String>>) -> Result<PullSecret, PullSecretError> {
        text.map_or_else(|| Ok(PullSecret::default()), |text| PullSecret::parse(text.expose()))
    }
}

/// Switches of a region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Features {
    /// A laptop or a test: no registry tokens, storage accounts open.
    pub development: bool,
    pub disable_signed_certificates: bool,
    pub disable_deny_assignments: bool,
    /// Other zones than 1, 2 and 3 count.
    pub expanded_zones: bool,
}

/// Intervals and time limits of waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// Between two looks of a condition.
    pub poll: Duration,
    /// Between two tries while rights are not known yet, and how long this may go on.
    pub authorization_retry: Duration,
    pub authorization_limit: Duration,
    /// No step may take longer than this, whatever its own limit is; for tests and drills.
    pub longest: Option<Duration>,
    /// What the gathering of diagnostics may take.
    pub diagnostics: Duration,
}

impl Periods {
    /// The contract's (`contract/backend.md` §9.1).
    pub const CONTRACT: Self = Self {
        poll: Duration::from_secs(10),
        authorization_retry: Duration::from_secs(30),
        authorization_limit: Duration::from_mins(10),
        longest: None,
        diagnostics: Duration::from_mins(2),
    };
}

/// The role sets of workload identities.
#[async_trait]
pub trait RoleSets: Send + Sync + std::fmt::Debug + 'static {
    /// All of them.
    ///
    /// # Errors
    /// The store did not answer.
    async fn all(&self) -> Result<Vec<RoleSetDocument>, ProgressError>;
}

/// One cluster's record of the gateway, by private link id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayRecord {
    pub link_id: String,
    /// The cluster's resource id.
    pub cluster: String,
    pub storage_suffix: String,
    pub registry_account: String,
}

/// The records by which the gateway knows the cluster of a connection.
#[async_trait]
pub trait Gateways: Send + Sync + std::fmt::Debug + 'static {
    /// The record of a link.
    ///
    /// # Errors
    /// The store did not answer.
    async fn get(&self, link_id: &str) -> Result<Option<GatewayRecord>, ProgressError>;

    /// Creates the record; `false`: the link has one already.
    ///
    /// # Errors
    /// The store did not answer.
    async fn create(&self, record: &GatewayRecord) -> Result<bool, ProgressError>;

    /// Marks the record as being deleted; it expires within a minute. Does nothing when there is none.
    ///
    /// # Errors
    /// The store did not answer, or others write the record all the time.
    async fn delete(&self, link_id: &str) -> Result<(), ProgressError>;
}

/// Makes clients of clusters' API servers.
#[async_trait]
pub trait ClusterClients: Send + Sync + std::fmt::Debug + 'static {
    /// A client with the service's own rights.
    ///
    /// # Errors
    /// What is stored of the cluster cannot be used.
    fn client(&self, target: Arc<Target>) -> Result<KubeClient, StepError>;

    /// Runs a command in a container, by a client of the cluster, and waits until it ends.
    ///
    /// # Errors
    /// [`ExecError`]; the command may have run.
    async fn exec(&self, client: &KubeClient, command: ExecRequest<'_>) -> Result<ExecOutput, ExecError> {
        rp_kube::exec(client, command).await
    }
}

/// [`ClusterClients`] over private links.
#[derive(Debug, Clone)]
pub struct PrivateLinkClients(pub Dialer);

impl ClusterClients for PrivateLinkClients {
    fn client(&self, target: Arc<Target>) -> Result<KubeClient, StepError> {
        let options = ClientOptions { user_agent: "aro-rp".to_owned(), ..ClientOptions::default() };
        rp_kube::connect::client(self.0.clone(), target, Identity::Admin, &options)
            .map_err(|error| StepError::other(rp_base::chain(&error).to_string()))
    }
}
