//! The steps' world for tests: a document with a lease, an API server in memory, an installer that does as it is told.

pub(crate) mod assets;
pub(crate) mod azure;
mod convert_tests;
pub(crate) mod documents;
mod engine_tests;
mod install_tests;
mod kube;
mod memory_progress;
mod plan_tests;
mod real;
mod step_tests;
mod torture;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_azure::{Arm, ArmOptions, AzureClients, AzureError, Credential, Endpoints, RetryPolicy};
use rp_base::{Secret, SystemClock, SystemRandom};
use rp_documents::{RoleSetDocument, SubscriptionDocument};
use rp_install::runner::InstallRunner;
use rp_install::state::InstallerState;
use rp_seal::Keyring;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::environment::{
    Environment, Features, GatewayRecord, Gateways, OperatorSettings, Periods, RoleSets,
};
use crate::installer::{AssetInstallation, InstallError, InstallState, Installation, Installer, PemFiles};
use crate::manager::{Job, Operation};
use crate::{CertificateVault, Order, ProgressError, StepError};

pub(crate) use assets::{FakeRunner, OneVersion};
pub(crate) use azure::Cloud;
pub(crate) use kube::Api;
pub(crate) use memory_progress::MemoryProgress;
pub(crate) use real::DirectClients;

pub(crate) const SUBSCRIPTION: &str = "00000000-0000-0000-0000-00000000abcd";
pub(crate) const TENANT: &str = "11111111-1111-1111-1111-111111111111";
pub(crate) const RP_SUBSCRIPTION: &str = "00000000-0000-0000-0000-0000000000aa";
pub(crate) const RP_TENANT: &str = "22222222-2222-2222-2222-222222222222";
pub(crate) const PRINCIPAL: &str = "44444444-4444-4444-4444-444444444444";
pub(crate) const DOCUMENT: &str = "dddddddd-dddd-4ddd-8ddd-dddddddddddd";

/// A cluster as the API stores it at its creation.
pub(crate) fn cluster(keyring: &Keyring, workload_identity: bool) -> Value {
    let id = format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/customer/providers/Microsoft.RedHatOpenShift/openShiftClusters/Test"
    );
    let vnet = format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/customer/providers/Microsoft.Network/virtualNetworks/vnet"
    );
    let worker = |name: &str| {
        json!({"name": name, "vmSize": "Standard_D4s_v3", "diskSizeGB": 128, "count": 3,
            "subnetId": format!("{vnet}/subnets/worker"), "encryptionAtHost": "Disabled"})
    };
    let mut properties = json!({
        "provisioningState": "Creating", "architectureVersion": 1, "maintenanceTask": "",
        "clusterProfile": {
            "domain": "test", "version": "4.17.27", "fipsValidatedModules": "Disabled",
            "resourceGroupId": format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/aro-test"),
        },
        "consoleProfile": {}, "featureProfile": {"gatewayEnabled": false},
        "networkProfile": {"podCidr": "10.128.0.0/14", "serviceCidr": "172.30.0.0/16", "outboundType": "Loadbalancer",
            "preconfiguredNSG": "Disabled", "loadBalancerProfile": {"managedOutboundIps": {"count": 1}}},
        "masterProfile": {"vmSize": "Standard_D8s_v3", "subnetId": format!("{vnet}/subnets/master"),
            "encryptionAtHost": "Disabled"},
        "workerProfiles": [worker("worker")],
        "apiserverProfile": {"visibility": "Public"},
        "ingressProfiles": [{"name": "default", "visibility": "Public"}],
        "operatorFlags": {},
    });
    if !workload_identity {
        let place = format!("OpenShiftClusters/{DOCUMENT}/clientSecret");
        let sealed = keyring.seal(b"cluster-secret", &place).unwrap();
        properties["servicePrincipalProfile"] = json!({"clientId": PRINCIPAL, "clientSecret": sealed.0});
    } else {
        properties["platformWorkloadIdentityProfile"] = json!({"platformWorkloadIdentities": {}});
    }
    json!({
        "id": DOCUMENT, "key": id.to_lowercase(), "partitionKey": SUBSCRIPTION, "dequeues": 1, "future": {"kept": true},
        "openShiftCluster": {"id": id, "name": "Test", "location": "eastus", "properties": properties}
    })
}

/// A registered subscription of that directory.
pub(crate) fn subscription(tenant: &str) -> SubscriptionDocument {
    let stored = json!({"id": SUBSCRIPTION,
        "subscription": {"state": "Registered", "properties": {"tenantId": tenant}}});
    serde_json::from_value(stored).unwrap()
}

type OnBegin = Box<dyn Fn(&Value) + Send + Sync>;

/// An installer whose state the test sets.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) on_begin: Mutex<Option<OnBegin>>,
    pub(crate) begun: Mutex<Option<Value>>,
    pub(crate) begins: Mutex<u32>,
    pub(crate) ends: Mutex<Option<InstallState>>,
    pub(crate) refuses: Mutex<bool>,
    /// The next call fails: the installer is away.
    pub(crate) away: Mutex<bool>,
    pub(crate) looks: Mutex<u32>,
    graphs: Mutex<std::collections::BTreeMap<String, InstallerState>>,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script")
    }
}

#[async_trait]
impl Installer for Script {
    async fn begin(&self, document: &Value) -> Result<(), InstallError> {
        if std::mem::take(&mut *self.refuses.lock()) {
            return Err(InstallError::Refused("told to".to_owned()));
        }
        if std::mem::take(&mut *self.away.lock()) {
            return Err(InstallError::Away("told to".to_owned()));
        }
        *self.begins.lock() += 1;
        if let Some(call) = &*self.on_begin.lock()
            && self.begun.lock().is_none()
        {
            call(document);
        }
        *self.begun.lock() = Some(document.clone());
        Ok(())
    }

    async fn state(&self, _cluster: &str) -> Result<InstallState, InstallError> {
        let mut looks = self.looks.lock();
        *looks += 1;
        if self.begun.lock().is_none() {
            return Ok(InstallState::Unknown);
        }
        if let Some(state) = self.ends.lock().clone() {
            return Ok(state);
        }
        let done = looks.is_multiple_of(3);
        Ok(if done {
            InstallState::Complete
        } else {
            InstallState::Running { message: "bootstrapping".to_owned() }
        })
    }

    async fn graph(&self, cluster: &str) -> Result<InstallerState, InstallError> {
        let mut graphs = self.graphs.lock();
        Ok(graphs.entry(cluster.to_owned()).or_insert_with(|| assets::state("password-of-the-whole")).clone())
    }

    async fn remove(&self, _cluster: &str) -> Result<(), InstallError> {
        *self.begun.lock() = None;
        Ok(())
    }
}

/// Role sets that a test gives.
#[derive(Debug, Default)]
pub(crate) struct FixedRoleSets(pub(crate) Vec<RoleSetDocument>);

#[async_trait]
impl RoleSets for FixedRoleSets {
    async fn all(&self) -> Result<Vec<RoleSetDocument>, ProgressError> {
        Ok(self.0.clone())
    }
}

/// A gateway's records.
#[derive(Debug, Default)]
pub(crate) struct MemoryGateways(pub(crate) Mutex<Vec<GatewayRecord>>);

#[async_trait]
impl Gateways for MemoryGateways {
    async fn get(&self, link_id: &str) -> Result<Option<GatewayRecord>, ProgressError> {
        Ok(self.0.lock().iter().find(|record| record.link_id == link_id).cloned())
    }

    async fn create(&self, record: &GatewayRecord) -> Result<bool, ProgressError> {
        let mut all = self.0.lock();
        let is_new = all.iter().all(|known| known.link_id != record.link_id);
        all.extend(is_new.then(|| record.clone()));
        Ok(is_new)
    }

    async fn delete(&self, link_id: &str) -> Result<(), ProgressError> {
        self.0.lock().retain(|record| record.link_id != link_id);
        Ok(())
    }
}

/// A vault whose certificates come at the second look.
#[derive(Debug, Default)]
pub(crate) struct Certificates(
    pub(crate) Mutex<std::collections::BTreeMap<String, (Value, u32)>>,
    /// Orders that were taken.
    Mutex<u32>,
);

#[async_trait]
impl CertificateVault for Certificates {
    async fn order(&self, name: &str, policy: &Value) -> Result<(), StepError> {
        *self.1.lock() += 1;
        self.0.lock().insert(name.to_owned(), (policy.clone(), 0));
        Ok(())
    }

    async fn order_state(&self, name: &str) -> Result<Order, StepError> {
        Ok(match self.0.lock().get_mut(name) {
            None => Order::None,
            Some((_, looks)) if *looks >= 1 => Order::Done,
            Some((_, looks)) => {
                *looks += 1;
                Order::InProgress("the authority looks".to_owned())
            }
        })
    }

    async fn policy(&self, name: &str) -> Result<Option<Value>, StepError> {
        Ok(self.0.lock().get(name).map(|(policy, _)| policy.clone()))
    }

    async fn set_policy(&self, name: &str, policy: &Value) -> Result<(), StepError> {
        if let Some((known, _)) = self.0.lock().get_mut(name) {
            *known = policy.clone();
        }
        Ok(())
    }

    async fn secret(&self, name: &str) -> Result<Option<Secret<String>>, StepError> {
        let there = self.0.lock().contains_key(name);
        let pem = "-----BEGIN PRIVATE KEY-----\nk\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nc\n-----END CERTIFICATE-----\n";
        Ok(there.then(|| Secret::new(pem.to_owned())))
    }

    async fn delete(&self, name: &str) -> Result<(), StepError> {
        self.0.lock().remove(name);
        Ok(())
    }
}

/// Azure clients that reach nothing.
#[derive(Debug)]
pub(crate) struct UnreachableAzure;

impl AzureClients for UnreachableAzure {
    fn first_party(&self) -> Arm {
        rp_net::tls::install_provider();
        let url: url::Url = "http://127.0.0.1:1".parse().unwrap();
        Arm::new(ArmOptions {
            endpoints: Endpoints::at(url.clone(), url),
            credential: Credential::Secret { client_id: "x".to_owned(), secret: Secret::new("y".to_owned()) },
            ca_pem: None,
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            registry: rp_metrics::Registry::new(),
            observer: None,
            retry: RetryPolicy::NONE,
            patience: Duration::from_secs(10),
        })
        .unwrap()
    }

    fn managed_identity(&self) -> Arm {
        self.first_party()
    }

    fn service_principal(&self, _: &str, _: Secret<String>) -> Result<Arm, AzureError> {
        Ok(self.first_party())
    }

    fn cluster_identity(&self, _: &str, _: Secret<String>, _: Secret<String>) -> Result<Arm, AzureError> {
        Ok(self.first_party())
    }
}

fn manifest() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")
}

/// What the operator of a cluster is deployed with.
pub(crate) fn operator_settings() -> OperatorSettings {
    OperatorSettings {
        image: String::new(),
        pull_secret: OperatorSettings::registries(Some(&Secret::new(
            r#"{"auths":{"registry.example":{"auth":"dXNlcjpwYXNz"}}}"#.to_owned(),
        )))
        .unwrap(),
        cloud: rp_azure::Cloud::Public,
        gateway_domains: vec!["gcs.example".to_owned()],
        parent_domain: "aro.azure.com".to_owned(),
        environment: "int".to_owned(),
    }
}

/// Everything around the steps, and the handles that tests turn.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) env: Arc<Environment>,
    pub(crate) progress: Arc<MemoryProgress>,
    pub(crate) api: Api,
    /// Where the steps install.
    pub(crate) runner: Arc<FakeRunner>,
    /// Where an installer does all of it: see [`World::whole`].
    pub(crate) installer: Arc<Script>,
    pub(crate) gateways: Arc<MemoryGateways>,
    pub(crate) certificates: Arc<Certificates>,
}

impl World {
    pub(crate) fn new(azure: Arc<dyn AzureClients>, workload_identity: bool, periods: Periods) -> Self {
        let keyring = Keyring::generate(&SystemRandom);
        let progress = Arc::new(MemoryProgress::new(cluster(&keyring, workload_identity)));
        let (api, installer) = (Api::default(), Arc::new(Script::default()));
        let runner = Arc::new(FakeRunner::default());
        let (gateways, certificates) =
            (Arc::new(MemoryGateways::default()), Arc::new(Certificates::default()));
        let env = Environment {
            region: "eastus".to_owned(),
            domain: "eastus.aroapp.io".to_owned(),
            rp_subscription: RP_SUBSCRIPTION.to_owned(),
            rp_tenant: RP_TENANT.to_owned(),
            rp_group: "rp-eastus".to_owned(),
            gateway_group: "gwy-eastus".to_owned(),
            endpoint_vnet: "rp-pe-vnet-001".to_owned(),
            endpoint_subnet: "rp-pe-subnet".to_owned(),
            registry_id: String::new(),
            registry_host: "arosvc.azurecr.io".to_owned(),
            fp_client_id: "first-party".to_owned(),
            fp_service_principal: "33333333-3333-3333-3333-333333333333".to_owned(),
            oidc: None,
            certificate_issuer: "OneCertV2-PublicCA".to_owned(),
            commit: "abc1234".to_owned(),
            operator: operator_settings(),
            features: Features::default(),
            azure,
            certificates: Some(Arc::clone(&certificates) as Arc<dyn CertificateVault>),
            role_sets: Arc::new(FixedRoleSets::default()),
            gateways: Some(Arc::clone(&gateways) as Arc<dyn Gateways>),
            installation: Installation::Assets(AssetInstallation {
                runner: Arc::clone(&runner) as Arc<dyn InstallRunner>,
                versions: Arc::new(OneVersion),
                // Any file will do.
                certificate: Some(PemFiles { certificate: manifest(), key: manifest() }),
            }),
            keyring,
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            clusters: Arc::new(api.clone()),
            periods,
        };
        Self { env: Arc::new(env), progress, api, runner, installer, gateways, certificates }
    }

    /// Without an Azure behind it.
    pub(crate) fn alone() -> Self {
        Self::new(Arc::new(UnreachableAzure), false, Periods::CONTRACT)
    }

    /// In a region whose installer does all of it.
    pub(crate) fn whole(self) -> Self {
        let installer = Arc::clone(&self.installer) as Arc<dyn Installer>;
        self.with(|env| env.installation = Installation::Whole(installer))
    }

    /// Changes what stands around, before anything runs.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Environment)) -> Self {
        change(Arc::get_mut(&mut self.env).unwrap());
        self
    }

    pub(crate) fn job(
        &self,
        operation: Operation,
        lost: &CancellationToken,
        stopping: &CancellationToken,
    ) -> Job {
        Job {
            operation,
            document: Arc::new(documents::typed(self.progress.document())),
            subscription: subscription(TENANT),
            progress: Arc::clone(&self.progress) as Arc<dyn crate::Progress>,
            lost: lost.clone(),
            stopping: stopping.clone(),
        }
    }

    pub(crate) fn context(&self, operation: Operation) -> Context {
        let free = CancellationToken::new();
        Context::new(Arc::clone(&self.env), self.job(operation, &free, &free))
    }
}

impl Certificates {
    pub(crate) fn orders(&self) -> u32 {
        *self.1.lock()
    }

    pub(crate) fn set(&self, name: &str, policy: Value) {
        self.0.lock().insert(name.to_owned(), (policy, 1));
    }
}
