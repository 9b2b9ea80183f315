//! The workers of `aro rp`: settings into what the plans of clusters stand on (`contract/backend.md` §2).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use rp_azure::{
    ArmOptions, AzureClients as _, CloudClients, CloudOptions, Credential, Habits, Repeat, RetryPolicy, Vault,
};
use rp_backend::{Backend, BackendParts, StoredGateways};
use rp_base::chain;
use rp_cluster::{
    CertificateVault, ClusterManager, Environment, Features, Gateways, InstallError, InstallState, Installer,
    OidcStorage, OverPrivateLink, Periods, RoleSets, StepMetrics,
};
use rp_config::{AzureCredential, RpOidc, RpPlace, Settings};
use rp_core::Foundation;
use rp_database::Typed;
use rp_documents::RoleSetDocument;
use rp_runtime::Lifecycle;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::{azure, parts, serve, statsd};

/// For one call with its tries: four, fifteen to sixty seconds apart.
const PATIENCE: Duration = Duration::from_mins(15);

/// Starts them; the task ends when the last operation has been handed on. `None`: the settings do not say where in Azure
/// this is, and what is asked for waits for workers elsewhere.
///
/// # Errors
/// A part cannot be made; the message names it.
pub(super) fn start(
    settings: &Settings,
    foundation: &Foundation,
    life: &Lifecycle,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    let (Some(place), Some(_)) = (&settings.rp.place, &settings.azure.credential) else {
        tracing::warn!("no workers here: rp.subscription or azure.credential is not set");
        return Ok(None);
    };
    let environment = environment(settings, foundation, place)?;
    tell_what_is_missing(settings, place);
    let emitter = || statsd::emitter(settings, "rp", serve::VERSION, foundation);
    let steps = StepMetrics::new(&foundation.registry, emitter()?);
    let backend = Backend::new(BackendParts {
        store: Arc::clone(&foundation.store),
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        manager: Arc::new(ClusterManager::new(Arc::new(environment), steps)),
        settings: backend_settings(&settings.backend),
        registry: foundation.registry.clone(),
        statsd: emitter()?,
        domain: domain(settings)?,
    });
    Ok(Some(tokio::spawn(backend.run(life.stopping()))))
}

/// `[backend]` as the workers take it.
pub const fn backend_settings(told: &rp_config::Backend) -> rp_backend::Settings {
    rp_backend::Settings {
        workers: told.workers,
        per_subscription: told.per_subscription,
        lease: told.lease,
        heartbeat: told.heartbeat,
        poll: told.poll,
        dequeues: told.dequeues,
        retry: told.retry,
        retry_most: told.retry_most,
        drain: told.drain,
    }
}

/// Parent of clusters' domains.
///
/// # Errors
/// The settings do not tell it.
pub fn domain(settings: &Settings) -> anyhow::Result<String> {
    settings.rp.domain.clone().ok_or_else(|| anyhow!("rp.domain is not set"))
}

/// The Azure location that this is in.
///
/// # Errors
/// The settings do not tell it.
pub fn region(settings: &Settings) -> anyhow::Result<String> {
    settings.azure.region.clone().ok_or_else(|| anyhow!("azure.region is not set"))
}

/// What clusters here will be refused or go without, and which setting would change that.
fn tell_what_is_missing(settings: &Settings, place: &RpPlace) {
    if place.certificate_vault.is_none() {
        tracing::warn!(
            "rp.certificate_vault is not set: clusters show the certificates of their installation"
        );
    }
    if place.oidc.is_none() {
        tracing::warn!("rp.oidc_account is not set: clusters with workload identities are refused");
    }
    if place.registry_id.is_empty() {
        tracing::warn!("rp.registry_id is not set: clusters get no tokens of the registry");
    }
    if !settings.rp.gateway && place.gateway_group.is_empty() {
        tracing::info!("rp.gateway is off: clusters reach the outside without a gateway");
    }
    tracing::warn!("{}: creations end at the step runInstaller", NoInstaller::WHY);
}

fn environment(settings: &Settings, foundation: &Foundation, place: &RpPlace) -> anyhow::Result<Environment> {
    if settings.rp.gateway && place.gateway_group.is_empty() {
        anyhow::bail!(
            "rp.gateway_group is not set: name the gateway's resource group, or set rp.gateway = false"
        );
    }
    let azure = Arc::new(clients(settings, foundation, place)?);
    let certificates = place.certificate_vault.as_ref().map(|url| {
        // Of the first-party application, in the service's own directory (`contract/cluster.md` §1.2).
        Arc::new(Vault::new(azure.first_party().in_tenant(&place.tenant), url.clone()))
            as Arc<dyn CertificateVault>
    });
    let gateways = (!place.gateway_group.is_empty())
        .then(|| Arc::new(StoredGateways::new(Arc::clone(&foundation.store))) as Arc<dyn Gateways>);
    Ok(Environment {
        region: region(settings)?,
        domain: domain(settings)?,
        rp_subscription: place.subscription.clone(),
        rp_tenant: place.tenant.clone(),
        rp_group: place.group.clone(),
        gateway_group: place.gateway_group.clone(),
        endpoint_vnet: place.endpoint_vnet.clone(),
        endpoint_subnet: place.endpoint_subnet.clone(),
        registry_id: place.registry_id.clone(),
        registry_host: place.registry_host.clone(),
        fp_client_id: settings.azure.credential.as_ref().map(client_id).unwrap_or_default(),
        fp_service_principal: place.service_principal.clone(),
        oidc: place.oidc.as_ref().map(|oidc| issuers(settings, oidc)),
        certificate_issuer: place.certificate_issuer.clone(),
        commit: serve::VERSION.to_owned(),
        features: Features::default(),
        azure,
        certificates,
        role_sets: stored_role_sets(foundation),
        gateways,
        installer: Arc::new(NoInstaller),
        keyring: foundation.keyring.clone(),
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        clusters: Arc::new(OverPrivateLink(parts::dialer(settings)?)),
        periods: Periods::CONTRACT,
    })
}

/// Where the documents of issuers are written and read.
fn issuers(settings: &Settings, told: &RpOidc) -> OidcStorage {
    let cloud = if settings.azure.environment.eq_ignore_ascii_case("AzureUSGovernmentCloud") {
        "blob.core.usgovcloudapi.net"
    } else {
        "blob.core.windows.net"
    };
    let own = || format!("https://{}.{cloud}", told.account);
    OidcStorage {
        account: told.account.clone(),
        blob_url: told.storage.as_ref().map_or_else(own, |url| url.as_str().trim_end_matches('/').to_owned()),
        endpoint: told.endpoint.clone(),
    }
}

fn client_id(credential: &AzureCredential) -> String {
    match credential {
        AzureCredential::Certificate { client_id, .. }
        | AzureCredential::WorkloadIdentity { client_id, .. } => client_id.clone(),
        AzureCredential::ManagedIdentity { client_id } => client_id.clone().unwrap_or_default(),
    }
}

/// Azure as the identities of the settings see it.
fn clients(settings: &Settings, foundation: &Foundation, place: &RpPlace) -> anyhow::Result<CloudClients> {
    let credential = settings.azure.credential.as_ref();
    let first_party = azure::credential(credential.ok_or_else(|| anyhow!("azure.credential is not set"))?)?;
    let own = place
        .managed_identity
        .clone()
        .map(|client_id| AzureCredential::ManagedIdentity { client_id: Some(client_id) });
    let managed_identity = own.as_ref().map(azure::credential).transpose()?;
    let told = CloudOptions {
        options: options(settings, foundation, RetryPolicy::STEPS, PATIENCE)?,
        managed_identity: managed_identity.unwrap_or_else(|| first_party.clone()),
        first_party,
        habits: Habits { repeat: Repeat::STEPS, ..Habits::default() },
    };
    CloudClients::new(told).context("[azure]")
}

/// What a client with a credential is made of.
pub type Options = Box<dyn Fn(Credential) -> ArmOptions + Send + Sync>;

/// Clients of the settings' Azure that try so often and so long.
///
/// # Errors
/// The CA cannot be read, or the cloud is not known.
pub fn options(
    settings: &Settings,
    foundation: &Foundation,
    retry: RetryPolicy,
    patience: Duration,
) -> anyhow::Result<Options> {
    let endpoints = azure::endpoints(settings)?;
    let ca_pem = settings.azure.ca_file.as_deref().map(parts::read).transpose()?;
    let (clock, random) = (Arc::clone(&foundation.clock), Arc::clone(&foundation.random));
    let registry = foundation.registry.clone();
    Ok(Box::new(move |credential| ArmOptions {
        endpoints: endpoints.clone(),
        credential,
        ca_pem: ca_pem.clone(),
        clock: Arc::clone(&clock),
        random: Arc::clone(&random),
        registry: registry.clone(),
        observer: None,
        retry,
        patience,
    }))
}

/// Role sets, as the store has them.
pub fn stored_role_sets(foundation: &Foundation) -> Arc<dyn RoleSets> {
    Arc::new(StoredRoleSets(Typed::new(Arc::clone(&foundation.store))))
}

#[derive(Debug)]
struct StoredRoleSets(Typed<RoleSetDocument>);

#[async_trait]
impl RoleSets for StoredRoleSets {
    async fn all(&self) -> Result<Vec<RoleSetDocument>, String> {
        let all = self.0.all().await.map_err(|error| chain(&error).to_string())?;
        Ok(all.into_iter().map(|set| set.value).collect())
    }
}

/// There is nobody yet who installs OpenShift on real machines: said when its turn comes. What was made until then goes
/// with the cluster.
#[derive(Debug)]
struct NoInstaller;

impl NoInstaller {
    const WHY: &str = "this release has no installer for machines of Azure, and no setting names one";
}

#[async_trait]
impl Installer for NoInstaller {
    async fn begin(&self, _: &Value) -> Result<(), InstallError> {
        Err(InstallError::Refused(Self::WHY.to_owned()))
    }

    async fn state(&self, _: &str) -> Result<InstallState, InstallError> {
        Ok(InstallState::Unknown)
    }

    async fn remove(&self, _: &str) -> Result<(), InstallError> {
        Ok(())
    }
}
