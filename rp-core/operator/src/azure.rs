//! Azure, with the identity of the operator (`contract/operator.md` §1, §7): its credential comes from the environment, the
//! cloud from the `Cluster`.

mod edit;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rp_azure::{Arm, ArmOptions, AzureError, Client, Cloud, Credential, Endpoints, RetryPolicy};
use rp_base::{Secret, SharedClock, SharedRandom};
use rp_metrics::Registry;
use rp_operator_api::Cluster;
use url::Url;

pub use edit::{ATTEMPTS, BETWEEN, EditError, edit};

use crate::controller::ReconcileError;

/// For one call with all its tries.
const PATIENCE: Duration = Duration::from_secs(120);

/// The identity, and how it is used. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AzureAccess(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    identity: Result<Identity, String>,
    /// Other addresses than those of a cloud, in development.
    endpoints: Option<Endpoints>,
    clock: SharedClock,
    random: SharedRandom,
    registry: Registry,
    /// The client of the cloud that was used last: there is one.
    client: Mutex<Option<(String, Client)>>,
}

#[derive(Debug)]
struct Identity {
    credential: Credential,
    tenant: String,
}

/// The variables of the environment; a function, so that tests need no process.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

impl AzureAccess {
    /// The identity that the environment names. What is missing is an error of the controllers that need Azure, not of the
    /// process.
    pub fn from_environment(clock: &SharedClock, random: &SharedRandom, registry: &Registry) -> Self {
        let variables = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self(Arc::new(Inner {
            identity: identity(&variables),
            endpoints: endpoints(&variables),
            clock: Arc::clone(clock),
            random: Arc::clone(random),
            registry: registry.clone(),
            client: Mutex::default(),
        }))
    }

    /// A client for the cloud of the cluster.
    ///
    /// # Errors
    /// The environment names no identity, or the service does not run in that cloud.
    pub fn client(&self, cluster: &Cluster) -> Result<Client, ReconcileError> {
        let inner = &*self.0;
        let name = cluster.spec.az_environment.to_ascii_lowercase();
        if let Some((_, client)) = inner.client.lock().as_ref().filter(|(known, _)| *known == name) {
            return Ok(client.clone());
        }
        let identity = inner.identity.as_ref().map_err(|error| ReconcileError::invalid(error.clone()))?;
        let unsupported = || {
            let name = &cluster.spec.az_environment;
            ReconcileError::invalid(format!("cloud environment {name:?} is unsupported by ARO"))
        };
        let cloud: Cloud = name.parse().map_err(|_| unsupported())?;
        let endpoints =
            inner.endpoints.clone().or_else(|| Endpoints::for_cloud(cloud)).ok_or_else(unsupported)?;
        let arm = Arm::new(ArmOptions {
            endpoints,
            credential: identity.credential.clone(),
            ca_pem: None,
            clock: Arc::clone(&inner.clock),
            random: Arc::clone(&inner.random),
            registry: inner.registry.clone(),
            observer: None,
            retry: RetryPolicy::QUICK,
            patience: PATIENCE,
        });
        let arm = arm.map_err(|error| ReconcileError::invalid(rp_base::chain(&error).to_string()))?;
        let client = arm.in_tenant(&identity.tenant);
        *inner.client.lock() = Some((name, client.clone()));
        Ok(client)
    }
}

impl From<AzureError> for ReconcileError {
    fn from(error: AzureError) -> Self {
        Self::invalid(rp_base::chain(&error).to_string())
    }
}

impl From<EditError> for ReconcileError {
    fn from(error: EditError) -> Self {
        Self::invalid(rp_base::chain(&error).to_string())
    }
}

fn identity(variables: Variables<'_>) -> Result<Identity, String> {
    let required = |name: &str| variables(name).ok_or_else(|| format!("{name} is not set"));
    let (client_id, tenant) = (required("AZURE_CLIENT_ID")?, required("AZURE_TENANT_ID")?);
    let kind = variables("AZURE_TOKEN_CREDENTIALS").unwrap_or_else(|| "EnvironmentCredential".to_owned());
    let credential = match kind.as_str() {
        "EnvironmentCredential" => {
            Credential::Secret { client_id, secret: Secret::new(required("AZURE_CLIENT_SECRET")?) }
        }
        "WorkloadIdentityCredential" => Credential::WorkloadIdentity {
            client_id,
            token_file: PathBuf::from(required("AZURE_FEDERATED_TOKEN_FILE")?),
        },
        other => return Err(format!("AZURE_TOKEN_CREDENTIALS is {other:?}, which is not known")),
    };
    Ok(Identity { credential, tenant })
}

/// In development mode Azure may be a stand-in.
fn endpoints(variables: Variables<'_>) -> Option<Endpoints> {
    let development = variables("RP_MODE").is_some_and(|mode| mode.eq_ignore_ascii_case("development"));
    let url = |name: &str| variables(name)?.parse::<Url>().ok();
    let (manager, authority) = (url("ARO_AZURE_RESOURCE_MANAGER")?, url("ARO_AZURE_AUTHORITY")?);
    development.then(|| Endpoints::at(manager, authority))
}

/// The subscription of a resource id.
///
/// # Errors
/// The id has none.
pub fn subscription(resource_id: &str) -> Result<&str, ReconcileError> {
    let mut parts = resource_id.split('/');
    let word = parts.by_ref().find(|part| part.eq_ignore_ascii_case("subscriptions"));
    word.and(parts.next()).filter(|part| !part.is_empty()).ok_or_else(|| {
        ReconcileError::invalid(format!("resource id {resource_id:?} of the Cluster has no subscription"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_one_of_two_identities() {
        fn with(pairs: &[(&str, &str)]) -> Result<Credential, String> {
            let find =
                |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            identity(&find).map(|identity| identity.credential)
        }
        const IDS: [(&str, &str); 2] = [("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t")];
        assert_eq!(with(&[]).unwrap_err(), "AZURE_CLIENT_ID is not set");
        assert_eq!(with(&IDS).unwrap_err(), "AZURE_CLIENT_SECRET is not set");
        let secret = with(&[IDS[0], IDS[1], ("AZURE_CLIENT_SECRET", "s")]).unwrap();
        assert!(matches!(secret, Credential::Secret { .. }));
        assert!(!format!("{secret:?}").contains("\"s\""), "a secret does not print");
        let kind = ("AZURE_TOKEN_CREDENTIALS", "WorkloadIdentityCredential");
        assert_eq!(with(&[IDS[0], IDS[1], kind]).unwrap_err(), "AZURE_FEDERATED_TOKEN_FILE is not set");
        let file = ("AZURE_FEDERATED_TOKEN_FILE", "f");
        assert!(matches!(with(&[IDS[0], IDS[1], kind, file]).unwrap(), Credential::WorkloadIdentity { .. }));
        assert!(with(&[IDS[0], IDS[1], ("AZURE_TOKEN_CREDENTIALS", "x")]).is_err());
    }

    #[test]
    fn a_subscription_is_part_of_the_id() {
        assert_eq!(subscription("/subscriptions/s/resourceGroups/g").unwrap(), "s");
        assert!(subscription("").is_err());
        assert!(subscription("/subscriptions/").is_err());
    }
}
