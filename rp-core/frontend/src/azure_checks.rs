//! What Azure says about a new cluster (`contract/frontend.md` §9): sizes, features, quota, providers.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use rp_api::{CloudError, vm_sizes};
use rp_azure::{Arm, AzureError, ErrorClass, Sku, SubscriptionFacts, Usage};
use rp_documents::OpenShiftCluster;

use crate::dependencies::CreateChecks;

/// Time limit for all checks of one request: the caller waits for the response.
const PATIENCE: Duration = Duration::from_secs(30);
/// Masters, with the bootstrap.
const MASTERS: i64 = 4;
/// Public addresses of a cluster.
const ADDRESSES: i64 = 3;
const PROVIDERS: [&str; 4] =
    ["Microsoft.Authorization", "Microsoft.Compute", "Microsoft.Network", "Microsoft.Storage"];

/// [`CreateChecks`] by the first-party application.
#[derive(Debug, Clone)]
pub struct AzureChecks {
    first_party: Arm,
}

impl AzureChecks {
    /// Queries Azure as that application, in the tenant of each subscription.
    pub const fn new(first_party: Arm) -> Self {
        Self { first_party }
    }
}

#[async_trait]
impl CreateChecks for AzureChecks {
    async fn check(
        &self,
        subscription: &str,
        tenant: &str,
        cluster: &OpenShiftCluster,
    ) -> Result<(), CloudError> {
        let client = self.first_party.in_tenant(tenant);
        match tokio::time::timeout(PATIENCE, all(&client, subscription, cluster)).await {
            Ok(Err(Refusal::Contract(error))) => Err(error),
            Ok(Err(Refusal::Azure(error))) => {
                tracing::error!(error = %error, subscription, "Azure could not be asked about a new cluster");
                Err(azure_error(&error, subscription))
            }
            Ok(Ok(())) => Ok(()),
            Err(_) => {
                tracing::error!(subscription, "Azure did not answer about a new cluster in time");
                Err(unavailable(subscription))
            }
        }
    }
}

/// Maps an error of Azure to the response (`contract/frontend.md` "Do better" 36): who is responsible, and
/// whether to retry.
fn azure_error(error: &AzureError, subscription: &str) -> CloudError {
    match error.class() {
        ErrorClass::Throttled => {
            let message =
                format!("Azure limits requests about subscription '{subscription}'. Please try again later.");
            CloudError::new(429, "ThrottlingLimitExceeded", "", message)
        }
        ErrorClass::Authorization | ErrorClass::Policy => {
            let message = format!(
                "The resource provider may not read sizes, quota, features and providers of subscription '{subscription}'. Please register 'Microsoft.RedHatOpenShift' again, and check policies and the provider's access."
            );
            CloudError::bad("InvalidResourceProviderPermissions", "", message)
        }
        ErrorClass::Unavailable => unavailable(subscription),
        ErrorClass::Missing
        | ErrorClass::Lock
        | ErrorClass::Quota
        | ErrorClass::Conflict
        | ErrorClass::Other => CloudError::new(500, "InternalServerError", "", "Internal server error."),
    }
}

fn unavailable(subscription: &str) -> CloudError {
    let message = format!(
        "Azure did not answer questions about subscription '{subscription}' in time. Please try again."
    );
    CloudError::new(503, "ServiceUnavailable", "", message)
}

#[derive(Debug)]
enum Refusal {
    Contract(CloudError),
    Azure(AzureError),
}

impl From<CloudError> for Refusal {
    fn from(error: CloudError) -> Self {
        Self::Contract(error)
    }
}

impl From<AzureError> for Refusal {
    fn from(error: AzureError) -> Self {
        Self::Azure(error)
    }
}

/// The machines of one profile.
#[derive(Debug)]
struct Profile<'a> {
    /// `properties.masterProfile`.
    path: String,
    size: &'a str,
    count: i64,
    encrypted: bool,
}

fn profiles(cluster: &OpenShiftCluster) -> Vec<Profile<'_>> {
    let masters = &cluster.properties.master_profile;
    let masters = Profile {
        path: "properties.masterProfile".to_owned(),
        size: &masters.vm_size,
        count: MASTERS,
        encrypted: &*masters.encryption_at_host == "Enabled",
    };
    let workers = cluster.properties.worker_profiles.iter().enumerate().map(|(at, workers)| Profile {
        path: format!("properties.workerProfiles[{at}]"),
        size: &workers.vm_size,
        count: *workers.count,
        encrypted: &*workers.encryption_at_host == "Enabled",
    });
    std::iter::once(masters).chain(workers).collect()
}

/// All queries run concurrently; their results are checked in the contract's order.
async fn all<A: SubscriptionFacts + Sync + ?Sized>(
    azure: &A,
    subscription: &str,
    cluster: &OpenShiftCluster,
) -> Result<(), Refusal> {
    let location = &*cluster.location;
    let profiles = profiles(cluster);
    let encrypted = encrypted(&profiles);
    let feature = async {
        match encrypted {
            Some(_) => azure.feature_state(subscription, "Microsoft.Compute", "EncryptionAtHost").await,
            None => Ok(None),
        }
    };
    let (skus, feature, compute, network, providers) = tokio::join!(
        azure.vm_skus(subscription, location),
        feature,
        azure.usages(subscription, "Microsoft.Compute", location),
        azure.usages(subscription, "Microsoft.Network", location),
        azure.provider_states(subscription),
    );
    let skus = skus?;
    for profile in &profiles {
        sku(profile, &skus, location)?;
    }
    if let Some(profile) = encrypted {
        self::feature(feature?.as_deref(), subscription, profile)?;
    }
    quota(&required_quota(&profiles)?, &compute?)?;
    quota(&BTreeMap::from([("PublicIPAddresses", ADDRESSES)]), &network?)?;
    registered(&providers?)?;
    Ok(())
}

fn registered(states: &[(String, String)]) -> Result<(), CloudError> {
    for wanted in PROVIDERS {
        let mut found = states.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        if found.next().is_none_or(|(_, state)| state != "Registered") {
            let message = format!("The resource provider '{wanted}' is not registered.");
            return Err(CloudError::bad("ResourceProviderNotRegistered", "", message));
        }
    }
    Ok(())
}

fn sku(profile: &Profile<'_>, skus: &[Sku], location: &str) -> Result<(), CloudError> {
    let Profile { path, size, encrypted, .. } = profile;
    let found = offered(skus, size, location, &format!("{path}.VMSize"))?;
    if *encrypted && !found.has("EncryptionAtHostSupported") {
        let message = format!("The selected SKU '{size}' does not support encryption at host.");
        return Err(CloudError::invalid(&format!("{path}.encryptionAtHost"), message));
    }
    Ok(())
}

/// The size in what the region offers the subscription.
///
/// # Errors
/// 400 with that target: it is not there, or the subscription may not have it.
pub(crate) fn offered<'a>(
    skus: &'a [Sku],
    size: &str,
    location: &str,
    target: &str,
) -> Result<&'a Sku, CloudError> {
    let Some(found) = skus.iter().find(|sku| sku.name == size) else {
        let message = format!("The selected SKU '{size}' is unavailable in region '{location}'");
        return Err(CloudError::invalid(target, message));
    };
    if found.restricted.iter().any(|region| region.eq_ignore_ascii_case(location)) {
        let message = format!(
            "The selected SKU '{size}' is restricted in region '{location}' for selected subscription"
        );
        return Err(CloudError::invalid(target, message));
    }
    Ok(found)
}

/// Masters or the first workers, as the contract looks at them.
fn encrypted<'a>(profiles: &'a [Profile<'a>]) -> Option<&'a Profile<'a>> {
    profiles.iter().take(2).find(|profile| profile.encrypted)
}

fn feature(state: Option<&str>, subscription: &str, profile: &Profile<'_>) -> Result<(), CloudError> {
    match state {
        Some("Registered") => Ok(()),
        Some(_) => {
            let message = format!(
                "Microsoft.Compute/EncryptionAtHost feature is not registered on subscription {subscription}. Please register the feature on your subscription before creating the cluster."
            );
            Err(CloudError::invalid(&format!("{}.encryptionAtHost", profile.path), message))
        }
        None => {
            let message = format!(
                "Microsoft.Compute/EncryptionAtHost feature has no state for subscription {subscription}."
            );
            Err(CloudError::new(500, "InternalServerError", "", message))
        }
    }
}

/// What a cluster needs, by quota name.
fn required_quota(profiles: &[Profile<'_>]) -> Result<BTreeMap<&'static str, i64>, CloudError> {
    let mut wanted = BTreeMap::new();
    for Profile { size, count, .. } in profiles {
        let Some(known) = vm_sizes::any(size) else {
            let message = format!("The provided VM SKU {size} is not supported.");
            return Err(CloudError::invalid("", message));
        };
        let cores = i64::from(known.cores).saturating_mul(*count);
        for (name, more) in [
            ("virtualMachines", *count),
            ("PremiumDiskCount", *count),
            (known.family, cores),
            ("cores", cores),
        ] {
            let sum: &mut i64 = wanted.entry(name).or_default();
            *sum = sum.saturating_add(more);
        }
    }
    Ok(wanted)
}

/// Whether what is wanted in addition, by quota name, is left. Quotas that Azure does not report are not limited.
///
/// # Errors
/// 400 `ResourceQuotaExceeded` of the first that is not.
pub(crate) fn quota(wanted: &BTreeMap<&'static str, i64>, usages: &[Usage]) -> Result<(), CloudError> {
    for usage in usages {
        let Some(more) = wanted.get(usage.name.as_str()) else { continue };
        if *more > usage.limit.saturating_sub(usage.current) {
            let message = format!(
                "Resource quota of {} exceeded. Maximum allowed: {}, Current in use: {}, Additional requested: {more}.",
                usage.name, usage.limit, usage.current
            );
            return Err(CloudError::bad("ResourceQuotaExceeded", "", message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rp_azure::ErrorKind;
    use serde_json::{Value, json};

    use super::*;

    /// A fake subscription whose facts the test sets.
    struct FakeSubscription {
        skus: Vec<Sku>,
        usages: Vec<Usage>,
        feature: Option<String>,
        providers: Vec<(String, String)>,
        away: bool,
    }

    fn told() -> FakeSubscription {
        let sku = |name: &str| Sku {
            name: name.to_owned(),
            capabilities: vec![("EncryptionAtHostSupported".to_owned(), "True".to_owned())],
            ..Sku::default()
        };
        let registered = |name: &&str| ((*name).to_owned(), "Registered".to_owned());
        FakeSubscription {
            skus: vec![sku("Standard_D8s_v5"), sku("Standard_D4s_v5")],
            usages: Vec::new(),
            feature: Some("Registered".to_owned()),
            providers: PROVIDERS.iter().map(registered).collect(),
            away: false,
        }
    }

    #[async_trait]
    impl SubscriptionFacts for FakeSubscription {
        async fn vm_skus(&self, _: &str, _: &str) -> Result<Vec<Sku>, AzureError> {
            if self.away {
                return Err(AzureError::new("list resources", ErrorKind::Timeout, ""));
            }
            Ok(self.skus.clone())
        }

        async fn usages(&self, _: &str, provider: &str, _: &str) -> Result<Vec<Usage>, AzureError> {
            let network = provider == "Microsoft.Network";
            let fits = |usage: &&Usage| (usage.name == "PublicIPAddresses") == network;
            Ok(self.usages.iter().filter(fits).cloned().collect())
        }

        async fn feature_state(&self, _: &str, _: &str, _: &str) -> Result<Option<String>, AzureError> {
            Ok(self.feature.clone())
        }

        async fn provider_states(&self, _: &str) -> Result<Vec<(String, String)>, AzureError> {
            Ok(self.providers.clone())
        }
    }

    const ID: &str = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Microsoft.RedHatOpenShift/openShiftClusters/c";

    fn cluster() -> Value {
        json!({"id": ID, "location": "eastus", "properties": {
            "masterProfile": {"vmSize": "Standard_D8s_v5"},
            "workerProfiles": [{"vmSize": "Standard_D4s_v5", "count": 3}]}})
    }

    async fn refused(told: &FakeSubscription, cluster: &Value) -> String {
        let cluster: OpenShiftCluster = serde_json::from_value(cluster.clone()).unwrap();
        match all(told, "sub", &cluster).await {
            Ok(()) => String::new(),
            Err(Refusal::Contract(error)) => error.to_string(),
            Err(Refusal::Azure(error)) => format!("azure: {error}"),
        }
    }

    fn usage(name: &str, current: i64, limit: i64) -> Usage {
        Usage { name: name.to_owned(), current, limit }
    }

    #[tokio::test]
    async fn sizes_must_be_offered_and_not_restricted() {
        assert_eq!(refused(&told(), &cluster()).await, "");
        let mut without = told();
        without.skus.pop();
        assert_eq!(
            refused(&without, &cluster()).await,
            "400: InvalidParameter: properties.workerProfiles[0].VMSize: The selected SKU 'Standard_D4s_v5' is unavailable in region 'eastus'"
        );
        let mut restricted = told();
        restricted.skus[0].restricted = vec!["EastUS".to_owned()];
        assert_eq!(
            refused(&restricted, &cluster()).await,
            "400: InvalidParameter: properties.masterProfile.VMSize: The selected SKU 'Standard_D8s_v5' is restricted in region 'eastus' for selected subscription"
        );
    }

    #[tokio::test]
    async fn encryption_at_host_wants_the_size_and_the_feature() {
        let mut encrypted = cluster();
        encrypted["properties"]["workerProfiles"][0]["encryptionAtHost"] = json!("Enabled");
        let mut told = told();
        assert_eq!(refused(&told, &encrypted).await, "");
        told.feature = Some("NotRegistered".to_owned());
        assert_eq!(
            refused(&told, &encrypted).await,
            "400: InvalidParameter: properties.workerProfiles[0].encryptionAtHost: Microsoft.Compute/EncryptionAtHost feature is not registered on subscription sub. Please register the feature on your subscription before creating the cluster."
        );
        told.feature = None;
        assert_eq!(
            refused(&told, &encrypted).await,
            "500: InternalServerError: : Microsoft.Compute/EncryptionAtHost feature has no state for subscription sub."
        );
        told.skus[1].capabilities.clear();
        assert_eq!(
            refused(&told, &encrypted).await,
            "400: InvalidParameter: properties.workerProfiles[0].encryptionAtHost: The selected SKU 'Standard_D4s_v5' does not support encryption at host."
        );
    }

    #[tokio::test]
    async fn quota_is_counted_with_the_bootstrap() {
        let mut told = told();
        // 4 × 8 + 3 × 4 = 44 cores, 7 machines.
        for (exact, over, name) in [
            (44, 43, "cores"),
            (44, 43, "standardDSv5Family"),
            (7, 6, "virtualMachines"),
            (7, 6, "PremiumDiskCount"),
            (3, 2, "PublicIPAddresses"),
        ] {
            told.usages = vec![usage("unknown", 5, 5), usage(name, 10, 10 + exact)];
            assert_eq!(refused(&told, &cluster()).await, "", "{name}");
            told.usages = vec![usage(name, 10, 10 + over)];
            let expected = format!(
                "400: ResourceQuotaExceeded: : Resource quota of {name} exceeded. Maximum allowed: {}, Current in use: 10, Additional requested: {exact}.",
                10 + over
            );
            assert_eq!(refused(&told, &cluster()).await, expected);
        }
        let mut odd = cluster();
        odd["properties"]["masterProfile"]["vmSize"] = json!("Standard_X1");
        told.skus.push(Sku { name: "Standard_X1".to_owned(), ..Sku::default() });
        assert_eq!(
            refused(&told, &odd).await,
            "400: InvalidParameter: : The provided VM SKU Standard_X1 is not supported."
        );
    }

    #[tokio::test]
    async fn providers_must_be_registered_and_azure_must_answer() {
        let mut without = told();
        without.providers[2].1 = "Unregistered".to_owned();
        assert_eq!(
            refused(&without, &cluster()).await,
            "400: ResourceProviderNotRegistered: : The resource provider 'Microsoft.Network' is not registered."
        );
        let mut away = told();
        away.away = true;
        assert!(refused(&away, &cluster()).await.starts_with("azure: "));
    }

    #[test]
    fn errors_of_azure_say_whose_they_are_and_whether_to_come_again() {
        for (kind, status, code) in [
            (ErrorKind::Throttled, 429, "ThrottlingLimitExceeded"),
            (ErrorKind::Forbidden, 400, "InvalidResourceProviderPermissions"),
            (ErrorKind::Credential, 400, "InvalidResourceProviderPermissions"),
            (ErrorKind::Timeout, 503, "ServiceUnavailable"),
            (ErrorKind::Server, 503, "ServiceUnavailable"),
            (ErrorKind::Malformed, 500, "InternalServerError"),
            (ErrorKind::NotFound, 500, "InternalServerError"),
        ] {
            let told = azure_error(&AzureError::new("list resources", kind, "what Azure said"), "sub");
            assert_eq!((told.status, told.body.code), (status, code), "{kind:?}");
            assert!(!told.body.message.contains("what Azure said"), "{kind:?}");
        }
    }
}
