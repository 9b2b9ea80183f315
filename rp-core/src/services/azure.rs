//! `[azure]` into the one client of Azure: connections and tokens are shared by everything in the process that asks it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use rp_azure::{
    Arm, ArmOptions, BootDiagnostics, Cloud, Credential, Diagnosis, Endpoints, IdentityEndpoint, RetryPolicy,
    Tenants,
};
use rp_base::{Secret, SharedClock, SharedRandom};
use rp_config::{AzureCredential, Settings, Word as _};
use rp_database::Typed;
use rp_documents::SubscriptionDocument;
use rp_metrics::Registry;
use url::Url;

use crate::files::read;

/// For one call with its repeats: within a look's deadline, and before a page gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Azure as the process reaches it. A cheap clone.
#[derive(Debug, Clone)]
pub struct Azure(Arc<Inner>);

struct Inner {
    settings: rp_config::Azure,
    clock: SharedClock,
    random: SharedRandom,
    registry: Registry,
    /// `None`: `azure.credential` says that Azure is not asked.
    client: Option<Arm>,
    tenants: Arc<dyn Tenants>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Azure {
    /// Asks nothing yet.
    pub(super) fn open(
        settings: &Settings,
        clock: &SharedClock,
        random: &SharedRandom,
        registry: &Registry,
        tenants: Arc<dyn Tenants>,
    ) -> anyhow::Result<Self> {
        let mut inner = Inner {
            settings: settings.azure.clone(),
            clock: Arc::clone(clock),
            random: Arc::clone(random),
            registry: registry.clone(),
            client: None,
            tenants,
        };
        let own = settings.azure.identity().as_ref().map(credential).transpose()?;
        inner.client = own.map(|own| inner.connect(own)).transpose()?;
        Ok(Self(Arc::new(inner)))
    }

    /// The client, for pages, looks and customers' requests: quick tries. Other uses take it with a policy of their own
    /// ([`Arm::with_policy`]), other identities with a credential of their own ([`Arm::with_credential`]).
    pub fn client(&self) -> Option<&Arm> {
        self.0.client.as_ref()
    }

    /// A client for what is reached by shared access signatures, which needs no identity.
    ///
    /// # Errors
    /// The CA cannot be read, or the cloud is not known.
    pub fn without_identity(&self) -> anyhow::Result<Arm> {
        let nobody = Credential::Secret { client_id: String::new(), secret: Secret::new(String::new()) };
        match self.client() {
            Some(arm) => Ok(arm.with_credential(nobody)),
            None => self.0.connect(nobody),
        }
    }

    /// Tenants of subscriptions, as the store tells them.
    pub fn tenants(&self) -> Arc<dyn Tenants> {
        Arc::clone(&self.0.tenants)
    }

    /// What the machines of clusters say and show while they start; `None`: Azure is not asked.
    pub fn boot_diagnostics(&self) -> Option<Arc<dyn BootDiagnostics>> {
        self.client().map(|arm| arm.boot_diagnostics(self.tenants()))
    }
}

impl Inner {
    fn connect(&self, credential: Credential) -> anyhow::Result<Arm> {
        let options = ArmOptions {
            endpoints: endpoints(&self.settings)?,
            credential,
            ca_pem: self.settings.ca_file.as_deref().map(read).transpose()?,
            clock: Arc::clone(&self.clock),
            random: Arc::clone(&self.random),
            registry: self.registry.clone(),
            observer: None,
            retry: RetryPolicy::QUICK,
            patience: PATIENCE,
        };
        Arm::new(options).context("[azure]")
    }
}

/// Where the parts of Azure are: the cloud's, unless the settings name another resource manager, which then has all of
/// them.
fn endpoints(told: &rp_config::Azure) -> anyhow::Result<Endpoints> {
    let cloud: Cloud = told.environment.word().parse().context("azure.environment")?;
    let found = of_cloud(cloud, told.resource_manager.as_ref(), told.authority.as_ref());
    let mut found = found.ok_or_else(|| anyhow!("azure.environment: the cloud has no endpoints"))?;
    if let Some(told) = told.diagnosed_at() {
        let own = found.diagnosis.as_ref().map_or(&found.scope, |own| &own.scope);
        let scope = told.scope.unwrap_or(own).to_owned();
        found.diagnosis = Some(Diagnosis { url: told.url.clone(), scope, tenant: told.tenant.to_owned() });
    }
    Ok(found)
}

fn of_cloud(cloud: Cloud, manager: Option<&Url>, authority: Option<&Url>) -> Option<Endpoints> {
    let own = Endpoints::for_cloud(cloud)?;
    let authority = authority.unwrap_or(&own.authority).clone();
    Some(match manager {
        Some(manager) => Endpoints::at(manager.clone(), authority),
        None => Endpoints { authority, ..own },
    })
}

/// The identity of the settings, as Azure is shown it.
///
/// # Errors
/// There is no metadata service.
pub(crate) fn credential(told: &AzureCredential) -> anyhow::Result<Credential> {
    Ok(match told {
        AzureCredential::Certificate { client_id, cert_file, key_file } => Credential::Certificate {
            client_id: client_id.clone(),
            certificate: cert_file.clone(),
            key: key_file.path().to_owned(),
        },
        AzureCredential::ManagedIdentity { client_id } => Credential::ManagedIdentity {
            client_id: client_id.clone(),
            endpoint: IdentityEndpoint::metadata().ok_or_else(|| anyhow!("no metadata service"))?,
        },
        AzureCredential::WorkloadIdentity { client_id, token_file } => {
            Credential::WorkloadIdentity { client_id: client_id.clone(), token_file: token_file.clone() }
        }
    })
}

/// Tenants as the store's subscriptions tell them.
#[derive(Debug)]
pub(super) struct StoreTenants(pub(super) Typed<SubscriptionDocument>);

#[async_trait]
impl Tenants for StoreTenants {
    async fn tenant(&self, subscription: &str) -> Option<String> {
        let found = match self.0.get(&subscription.to_ascii_lowercase()).await {
            Ok(found) => found?,
            Err(error) => {
                tracing::warn!(error = %rp_base::chain(&error), "the subscription's tenant cannot be read");
                return None;
            }
        };
        let tenant = found.value.subscription.properties?.tenant_id.to_ascii_lowercase();
        (!tenant.is_empty()).then_some(tenant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloud_has_all_its_parts_and_another_resource_manager_stands_for_them() {
        let other: Url = "https://azure.invalid".parse().unwrap();
        let own = of_cloud(Cloud::Public, None, Some(&other)).unwrap();
        assert_eq!(own.graph.as_str(), "https://graph.microsoft.com/");
        assert_eq!(own.authorization, Some("authorization.azure.net"));
        assert!(own.key_vault_scope.contains("vault.azure.net") && own.authority == other);
        let told = of_cloud(Cloud::Public, Some(&other), None).unwrap();
        assert_eq!((&told.graph, told.authorization), (&other, None));
        assert_eq!(told.authority.as_str(), "https://login.microsoftonline.com/");
    }
}
