//! What the plans of clusters stand on, from the settings: for the workers and for maintenance alike
//! (`contract/cluster.md` §1).

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use rp_azure::{AzureClients as _, CallPolicy, CallSettings, CloudClients, Repeat, RetryPolicy, Vault};
use rp_backend::StoredGateways;
use rp_base::chain;
use rp_cluster::{
    AssetInstallation, CertificateVault, Environment, Features, Gateways, Installation, OidcStorage,
    OperatorSettings, PemFiles, Periods, PrivateLinkClients, ProgressError, RoleSets, Versions,
};
use rp_config::{AzureCredential, AzureEnvironment, RpOidc, RpResources, SecretFile, Settings, Word as _};
use rp_database::Typed;
use rp_documents::{OpenShiftVersionDocument, RoleSetDocument};
use rp_install::runner::LocalProcess;

use crate::services::credential;
use crate::{Services, VERSION};

/// The setting without which no clusters are installed.
const INSTALLER: &str = "rp.install_binary";
/// For one call with its tries: four, fifteen to sixty seconds apart.
const PATIENCE: Duration = Duration::from_mins(15);

/// The environment of the settings; `None`: they do not say where in Azure this is.
///
/// # Errors
/// A part cannot be made; the message names it.
pub(crate) fn own_environment(services: &Services) -> anyhow::Result<Option<Environment>> {
    let settings = &services.settings;
    let (Some(place), Some(_)) = (&settings.rp.resources, settings.azure.identity()) else {
        return Ok(None);
    };
    let environment = environment(services, place)?;
    log_missing_settings(settings, place);
    Ok(Some(environment))
}

/// Parent of clusters' domains.
///
/// # Errors
/// The settings do not tell it.
pub fn domain(settings: &Settings) -> anyhow::Result<String> {
    settings.rp.api.domain.clone().ok_or_else(|| anyhow!("rp.domain is not set"))
}

/// The Azure location that this is in.
///
/// # Errors
/// The settings do not tell it.
pub fn region(settings: &Settings) -> anyhow::Result<String> {
    settings.azure.region.clone().ok_or_else(|| anyhow!("azure.region is not set"))
}

/// What clusters here will be refused or go without, and which setting would change that.
fn log_missing_settings(settings: &Settings, place: &RpResources) {
    if place.certificate_vault.is_none() {
        tracing::warn!(
            "rp.certificate_vault is not set: clusters show the certificates of their installation"
        );
    }
    if settings.rp.oidc.is_none() {
        tracing::warn!("rp.oidc_account is not set: clusters with workload identities are refused");
    }
    if place.registry_id.is_empty() {
        tracing::warn!("rp.registry_id is not set: clusters get no tokens of the registry");
    }
    if !settings.rp.api.gateway && place.gateway_group.is_empty() {
        tracing::info!("rp.gateway is off: clusters reach the outside without a gateway");
    }
    if settings.rp.install.install_binary.is_none() {
        tracing::warn!("{INSTALLER} is not set: creations of clusters fail at the step runInstaller");
    }
}

fn environment(services: &Services, place: &RpResources) -> anyhow::Result<Environment> {
    let settings = &services.settings;
    if settings.rp.api.gateway && place.gateway_group.is_empty() {
        anyhow::bail!(
            "rp.gateway_group is not set: name the gateway's resource group, or set rp.gateway = false"
        );
    }
    let azure = Arc::new(clients(services, place)?);
    let certificates = place.certificate_vault.as_ref().map(|url| {
        // Of the first-party application, in the service's own directory (`contract/cluster.md` §1.2).
        Arc::new(Vault::new(azure.first_party().in_tenant(&place.tenant), url.clone()))
            as Arc<dyn CertificateVault>
    });
    let gateways = (!place.gateway_group.is_empty())
        .then(|| Arc::new(StoredGateways::new(Arc::clone(&services.store))) as Arc<dyn Gateways>);
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
        fp_client_id: settings.azure.identity().as_ref().map(client_id).unwrap_or_default(),
        fp_service_principal: place.service_principal.clone(),
        oidc: settings.rp.oidc.as_ref().and_then(|oidc| issuers(settings, oidc)),
        certificate_issuer: place.certificate_issuer.clone(),
        commit: VERSION.to_owned(),
        operator: operator(settings)?,
        features: features(settings),
        azure,
        certificates,
        role_sets: stored_role_sets(services),
        gateways,
        installation: installation(services)?,
        keyring: services.keyring.clone(),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        clusters: Arc::new(PrivateLinkClients(services.dialer.clone())),
        periods: Periods { poll: settings.backend.condition_poll, ..Periods::CONTRACT },
    })
}

/// What clusters here have or go without.
const fn features(settings: &Settings) -> Features {
    let own = &settings.rp.features;
    Features {
        development: false,
        disable_signed_certificates: false,
        disable_deny_assignments: !own.deny_assignments,
        expanded_zones: own.expanded_zones,
    }
}

/// The installer of the settings, as a process of this machine. It runs in a folder of its own, so paths are made
/// absolute.
///
/// # Errors
/// A path is empty, or this process has no working folder.
fn installation(services: &Services) -> anyhow::Result<Installation> {
    let settings = &services.settings;
    let own = &settings.rp.install;
    let Some(binary) = &own.install_binary else { return Ok(Installation::None { setting: INSTALLER }) };
    let runner = LocalProcess::new(
        std::path::absolute(binary).context("rp.install_binary")?,
        std::path::absolute(&own.install_folder).context("rp.install_folder")?,
        own.install_deadline,
        Arc::clone(&services.clock),
        Arc::clone(&services.random),
    );
    let certificate = match settings.azure.identity() {
        Some(AzureCredential::Certificate { cert_file, key_file, .. }) => {
            Some(PemFiles { certificate: cert_file, key: key_file.path().to_owned() })
        }
        _ => None,
    };
    Ok(Installation::Assets(AssetInstallation {
        runner: Arc::new(runner),
        versions: Arc::new(StoredVersions(Typed::new(Arc::clone(&services.store)))),
        certificate,
    }))
}

/// What the operator of a cluster is deployed with.
///
/// # Errors
/// The file of its pull secret cannot be read, or is none.
pub fn operator(settings: &Settings) -> anyhow::Result<OperatorSettings> {
    let own = &settings.rp.operator;
    let file = own.operator_pull_secret_file.as_ref();
    let text = file.map(SecretFile::read).transpose().context("rp.operator_pull_secret_file")?;
    let pull_secret = OperatorSettings::registries(text.as_ref()).context("rp.operator_pull_secret_file")?;
    Ok(OperatorSettings {
        image: own.operator_image.clone(),
        pull_secret,
        cloud: settings.azure.environment.word().parse().context("azure.environment")?,
        gateway_domains: own.gateway_domains.clone(),
        parent_domain: own.parent_domain.clone(),
        environment: settings.metrics.environment.clone(),
    })
}

/// Where the documents of issuers are written and read.
fn issuers(settings: &Settings, oidc: &RpOidc) -> Option<OidcStorage> {
    let cloud = match settings.azure.environment {
        AzureEnvironment::UsGovernment => "blob.core.usgovcloudapi.net",
        AzureEnvironment::Public => "blob.core.windows.net",
    };
    let (account, endpoint) = oidc.place()?;
    let own = || format!("https://{account}.{cloud}");
    let storage = oidc.oidc_storage.as_ref();
    Some(OidcStorage {
        account: account.to_owned(),
        blob_url: storage.map_or_else(own, |url| url.as_str().trim_end_matches('/').to_owned()),
        endpoint: endpoint.to_owned(),
    })
}

fn client_id(credential: &AzureCredential) -> String {
    match credential {
        AzureCredential::Certificate { client_id, .. }
        | AzureCredential::WorkloadIdentity { client_id, .. } => client_id.clone(),
        AzureCredential::ManagedIdentity { client_id } => client_id.clone().unwrap_or_default(),
    }
}

/// Azure as the identities of the settings see it, with the patience of steps.
fn clients(services: &Services, place: &RpResources) -> anyhow::Result<CloudClients> {
    let arm = services.azure.client().ok_or_else(|| anyhow!("azure.credential is not set"))?;
    let call_settings = CallSettings { repeat: Repeat::STEPS, ..CallSettings::default() };
    let first_party =
        arm.with_policy(CallPolicy { call_settings, ..CallPolicy::new(RetryPolicy::STEPS, PATIENCE) });
    let own = place
        .managed_identity
        .clone()
        .map(|client_id| AzureCredential::ManagedIdentity { client_id: Some(client_id) });
    let managed_identity = match own.as_ref().map(credential).transpose()? {
        Some(own) => first_party.with_credential(own),
        None => first_party.clone(),
    };
    Ok(CloudClients::new(first_party, managed_identity))
}

/// Role sets, as the store has them.
pub fn stored_role_sets(services: &Services) -> Arc<dyn RoleSets> {
    Arc::new(StoredRoleSets(Typed::new(Arc::clone(&services.store))))
}

#[derive(Debug)]
struct StoredVersions(Typed<OpenShiftVersionDocument>);

#[async_trait]
impl Versions for StoredVersions {
    async fn all(&self) -> Result<Vec<OpenShiftVersionDocument>, ProgressError> {
        let all = self.0.all().await.map_err(|error| ProgressError::Store(chain(&error).to_string()))?;
        Ok(all.into_iter().map(|version| version.value).collect())
    }
}

#[derive(Debug)]
struct StoredRoleSets(Typed<RoleSetDocument>);

#[async_trait]
impl RoleSets for StoredRoleSets {
    async fn all(&self) -> Result<Vec<RoleSetDocument>, ProgressError> {
        let all = self.0.all().await.map_err(|error| ProgressError::Store(chain(&error).to_string()))?;
        Ok(all.into_iter().map(|set| set.value).collect())
    }
}
