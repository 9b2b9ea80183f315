//! `[azure]` into the parts that ask Azure: subnets for the monitor, machines for the pages.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use rp_azure::{
    AppLens, Arm, ArmOptions, BootDiagnostics, Cloud, Credential, Diagnosis, Endpoints, IdentityEndpoint,
    Observer, RetryPolicy, Tenants,
};
use rp_config::{AzureCredential, Settings};
use rp_core::Foundation;
use rp_database::Typed;
use rp_documents::SubscriptionDocument;
use rp_monitor::nsg::SubnetPrefixes;
use url::Url;

use crate::parts;

/// For one call with its repeats: within a look's deadline, and before a page gives up.
const PATIENCE: Duration = Duration::from_secs(20);
/// For a diagnosis with its repeats: a customer waits for the answer.
const DIAGNOSIS_PATIENCE: Duration = Duration::from_secs(50);

/// A client of the resource manager; `None`: `azure.credential` says that Azure is not asked.
///
/// # Errors
/// The CA cannot be read, or the cloud is not known.
pub fn arm(
    settings: &Settings,
    foundation: &Foundation,
    observer: Option<Observer>,
) -> anyhow::Result<Option<Arm>> {
    let Some(told) = &settings.azure.credential else { return Ok(None) };
    client(settings, foundation, credential(told)?, observer, (RetryPolicy::QUICK, PATIENCE)).map(Some)
}

/// Who diagnoses clusters; `None`: Azure is not asked, or the cloud has nobody for that.
///
/// # Errors
/// As [`arm`].
pub fn diagnoses(settings: &Settings, foundation: &Foundation) -> anyhow::Result<Option<AppLens>> {
    let Some(told) = &settings.azure.credential else { return Ok(None) };
    let tries = (RetryPolicy::DIAGNOSES, DIAGNOSIS_PATIENCE);
    let arm = client(settings, foundation, credential(told)?, None, tries)?;
    Ok(AppLens::new(arm, Arc::clone(&foundation.clock), Arc::clone(&foundation.random)))
}

fn client(
    settings: &Settings,
    foundation: &Foundation,
    credential: Credential,
    observer: Option<Observer>,
    (retry, patience): (RetryPolicy, Duration),
) -> anyhow::Result<Arm> {
    let told = &settings.azure;
    let options = ArmOptions {
        endpoints: endpoints(settings)?,
        credential,
        ca_pem: told.ca_file.as_deref().map(parts::read).transpose()?,
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        registry: foundation.registry.clone(),
        observer,
        retry,
        patience,
    };
    Arm::new(options).context("[azure]")
}

/// A client for what is reached by shared access signatures, which needs no identity.
///
/// # Errors
/// As [`arm`].
pub(crate) fn without_identity(settings: &Settings, foundation: &Foundation) -> anyhow::Result<Arm> {
    let credential =
        Credential::Secret { client_id: String::new(), secret: rp_base::Secret::new(String::new()) };
    client(settings, foundation, credential, None, (RetryPolicy::QUICK, PATIENCE))
}

/// Where the parts of Azure are: the cloud's, unless the settings name another resource manager, which then has all of
/// them.
///
/// # Errors
/// The cloud is not known.
pub fn endpoints(settings: &Settings) -> anyhow::Result<Endpoints> {
    let told = &settings.azure;
    let cloud: Cloud = told.environment.parse().context("azure.environment")?;
    let found = of_cloud(cloud, told.resource_manager.as_ref(), told.authority.as_ref());
    let mut found = found.ok_or_else(|| anyhow!("azure.environment: the cloud has no endpoints"))?;
    if let Some(told) = &told.diagnosis {
        let own = found.diagnosis.as_ref().map_or(&found.scope, |own| &own.scope);
        let scope = told.scope.as_ref().unwrap_or(own).clone();
        found.diagnosis = Some(Diagnosis { url: told.url.clone(), scope, tenant: told.tenant.clone() });
    }
    Ok(found)
}

fn of_cloud(cloud: Cloud, manager: Option<&Url>, authority: Option<&Url>) -> Option<Endpoints> {
    let own = Endpoints::of(cloud)?;
    let authority = authority.unwrap_or(&own.authority).clone();
    Some(match manager {
        Some(manager) => Endpoints::at(manager.clone(), authority),
        None => Endpoints { authority, ..own },
    })
}

/// The machines of clusters, for pages: how they are, what they say and show; `None`: Azure is not asked.
///
/// # Errors
/// As [`arm`].
pub fn machines(settings: &Settings, foundation: &Foundation) -> anyhow::Result<Option<portal::VmSource>> {
    let source = |arm: Arm| {
        let states = arm.vm_states(tenants(foundation));
        portal::VmSource::new(states).with_consoles(arm.boot_diagnostics(tenants(foundation)))
    };
    Ok(arm(settings, foundation, None)?.map(source))
}

fn tenants(foundation: &Foundation) -> Arc<dyn Tenants> {
    Arc::new(StoreTenants(Typed::new(Arc::clone(&foundation.store))))
}

/// What the machines of clusters say and show while they start; `None`: Azure is not asked.
///
/// # Errors
/// As [`arm`].
pub fn boot_diagnostics(
    settings: &Settings,
    foundation: &Foundation,
) -> anyhow::Result<Option<Arc<dyn BootDiagnostics>>> {
    Ok(arm(settings, foundation, None)?.map(|arm| arm.boot_diagnostics(tenants(foundation))))
}

/// Subnets for the NSG monitor and the proxy's collector; `None`: Azure is not asked.
///
/// # Errors
/// As [`arm`].
pub fn subnets(
    settings: &Settings,
    foundation: &Foundation,
    observer: Observer,
) -> anyhow::Result<Option<Arc<SubnetPrefixes>>> {
    let arm = arm(settings, foundation, Some(observer))?;
    Ok(arm.map(|arm| Arc::new(SubnetPrefixes::new(Arc::new(arm), Arc::clone(&foundation.clock)))))
}

/// Who asks.
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
struct StoreTenants(Typed<SubscriptionDocument>);

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
