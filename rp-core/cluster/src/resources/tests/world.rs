//! A region with one customer: the stand-in for Azure in this process, and a document in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_azure::{
    Arm, ArmOptions, AzureClients, CallSettings, CloudClients, Credential, Endpoints, Polling, Repeat,
    RetryPolicy, Sleep,
};
use rp_base::{Secret, SharedClock, SharedRandom, SystemClock, SystemRandom};
use rp_documents::cluster::Worker;
use rp_documents::{ClusterDocument, Leased as _, RoleSetDocument};
use rp_kube::KubeClient;
use rp_net::Target;
use rp_seal::Keyring;
use rp_simulator_azure::{ArmControl, EmptyContents, LocalArm, object_id_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::environment::{
    ClusterClients, Environment, Features, GatewayRecord, Gateways, OidcStorage, Periods, RoleSets,
};
use crate::harness::documents::typed;
use crate::harness::subscription;
use crate::json::set;
use crate::manager::{Job, Operation};
use crate::progress::{Change, Progress, ProgressError, StepEvent};
use crate::templates::tests::{cluster, workload_identity};
use crate::{Context, Installation, StepError};

pub(crate) const CUSTOMER: &str = "5b2d4b2e-0000-0000-0000-000000000001";
pub(crate) const SERVICE: &str = "99999999-0000-0000-0000-000000000009";
pub(crate) const GROUP: &str = "/subscriptions/5b2d4b2e-0000-0000-0000-000000000001/resourceGroups/aro-shop";
pub(crate) const OURS: &str = "/subscriptions/99999999-0000-0000-0000-000000000009/resourceGroups/rp-eastus";
pub(crate) const GATEWAY: &str =
    "/subscriptions/99999999-0000-0000-0000-000000000009/resourceGroups/gwy-eastus";
const SHOP: &str = "/subscriptions/5b2d4b2e-0000-0000-0000-000000000001/resourceGroups/shop";
pub(crate) const FIRST_PARTY: &str = "f1f1f1f1-0000-0000-0000-000000000001";
pub(crate) const PRINCIPAL: &str = "aaaaaaaa-0000-0000-0000-000000000001";

#[derive(Debug)]
struct NoSleep;

#[async_trait]
impl Sleep for NoSleep {
    async fn sleep(&self, _: Duration) {
        tokio::task::yield_now().await;
    }
}

/// [`Progress`] of a document in memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryProgress {
    document: Mutex<Value>,
    pub(crate) lines: Mutex<Vec<String>>,
    /// The lease is somebody else's.
    lost: Mutex<bool>,
}

#[async_trait]
impl Progress for MemoryProgress {
    async fn read(&self) -> Result<Arc<ClusterDocument>, ProgressError> {
        Ok(Arc::new(typed(self.document.lock().clone())))
    }

    async fn patch(&self, change: Change) -> Result<Arc<ClusterDocument>, ProgressError> {
        if *self.lost.lock() {
            return Err(ProgressError::Lost);
        }
        let mut stored = self.document.lock();
        let mut document = typed(stored.clone());
        let worker = Worker::holding(&document.lease());
        change(&mut document.cluster, worker);
        *stored = serde_json::to_value(&document).unwrap();
        Ok(Arc::new(document))
    }

    async fn position(&self) -> Result<Option<String>, ProgressError> {
        Ok(None)
    }

    async fn save(&self, _: &str) -> Result<(), ProgressError> {
        Ok(())
    }

    fn record_event(&self, event: StepEvent<'_>) {
        if let StepEvent::Line { text, .. } = event {
            self.lines.lock().push(text.to_owned());
        }
    }

    async fn create_billing_record(&self, _: &str, _: &str, _: &str) -> Result<(), ProgressError> {
        Ok(())
    }

    async fn end_billing_record(&self) -> Result<(), ProgressError> {
        Ok(())
    }
}

/// The gateway's records.
#[derive(Debug, Default)]
pub(crate) struct MemoryGateways {
    all: Mutex<BTreeMap<String, GatewayRecord>>,
    /// The next record is created, but the answer is lost.
    pub(crate) silent: Mutex<bool>,
}

impl MemoryGateways {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.lock().len()
    }
}

#[async_trait]
impl Gateways for MemoryGateways {
    async fn get(&self, link_id: &str) -> Result<Option<GatewayRecord>, ProgressError> {
        Ok(self.all.lock().get(link_id).cloned())
    }

    async fn create(&self, record: &GatewayRecord) -> Result<bool, ProgressError> {
        let mut all = self.all.lock();
        let new = !all.contains_key(&record.link_id);
        all.entry(record.link_id.clone()).or_insert_with(|| record.clone());
        if std::mem::take(&mut *self.silent.lock()) {
            return Err(ProgressError::Store("told to".to_owned()));
        }
        Ok(new)
    }

    async fn delete(&self, link_id: &str) -> Result<(), ProgressError> {
        self.all.lock().remove(link_id);
        Ok(())
    }
}

#[derive(Debug)]
struct FixedRoleSets;

#[async_trait]
impl RoleSets for FixedRoleSets {
    async fn all(&self) -> Result<Vec<RoleSetDocument>, ProgressError> {
        let role = |operator: &str, id: &str, account: &str| {
            json!({"operatorName": operator, "roleDefinitionName": operator,
                "roleDefinitionId": format!("/providers/Microsoft.Authorization/roleDefinitions/{id}"),
                "serviceAccounts": [account]})
        };
        let set = json!({"id": "x", "platformWorkloadIdentityRoleSet": {"properties": {
        "openShiftVersion": "4.17",
        "platformWorkloadIdentityRoles": [
            role("disk-csi-driver", DISK_ROLE, "system:serviceaccount:openshift-cluster-csi-drivers:azure-disk-csi-driver"),
            role("image-registry", REGISTRY_ROLE, "system:serviceaccount:openshift-image-registry:registry"),
        ]}}});
        let set = serde_json::from_value(set).map_err(|error| ProgressError::Store(error.to_string()))?;
        Ok(vec![set])
    }
}

pub(crate) const DISK_ROLE: &str = "5b7237c5-45e1-49d6-bc18-a1f62f400748";
pub(crate) const REGISTRY_ROLE: &str = "8b32b316-c2f5-4ddf-b05b-83dacd2d08b5";

#[derive(Debug)]
struct NoClusters;

impl ClusterClients for NoClusters {
    fn client(&self, _: Arc<Target>) -> Result<KubeClient, StepError> {
        Err(StepError::other("not here"))
    }
}

/// Everything.
pub(crate) struct World {
    pub(crate) arm: ArmControl,
    pub(crate) context: Context,
    pub(crate) memory: Arc<MemoryProgress>,
    pub(crate) records: Arc<MemoryGateways>,
    environment: Arc<Environment>,
    _alone: LocalArm,
}

impl World {
    /// A cluster with a service principal, changed by the test.
    pub(crate) async fn new(changes: &[(&str, Value)]) -> Self {
        Self::from_document(serde_json::to_value(cluster(changes).envelope()).unwrap()).await
    }

    /// One with platform identities.
    pub(crate) async fn with_identities() -> Self {
        let mut changes = workload_identity();
        let own = format!("{SHOP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/aro");
        changes.push(("/managedServiceIdentity/userAssignedIdentities", json!({ own: {} })));
        Self::from_document(serde_json::to_value(cluster(&changes).envelope()).unwrap()).await
    }

    async fn from_document(mut document: Value) -> Self {
        rp_net::tls::install_provider();
        let applications = [(FIRST_PARTY, "secret"), (PRINCIPAL, "secret")];
        let alone =
            LocalArm::start(&applications, Arc::new(EmptyContents), Arc::new(SystemClock)).await.unwrap();
        let arm = alone.arm.control();
        seed(&arm);
        let records = Arc::<MemoryGateways>::default();
        let environment = Arc::new(environment(&alone.url, &records));
        let place = format!("OpenShiftClusters/{}/clientSecret", document["id"].as_str().unwrap());
        let sealed = environment.keyring.seal(b"secret", &place).unwrap().0;
        let principal = "/openShiftCluster/properties/servicePrincipalProfile";
        if document.pointer(principal).is_some_and(Value::is_object) {
            set(&mut document, &format!("{principal}/clientSecret"), json!(sealed));
            set(&mut document, &format!("{principal}/spObjectId"), json!(object_id_of(PRINCIPAL)));
        }
        let memory = Arc::new(MemoryProgress { document: Mutex::new(document), ..MemoryProgress::default() });
        let context = context(&environment, &memory);
        Self { arm, context, memory, records, environment, _alone: alone }
    }

    /// The same operation, taken up by another process.
    pub(crate) fn again(&mut self) {
        *self.memory.lost.lock() = false;
        self.context = context(&self.environment, &self.memory);
    }

    /// Changes the document as the frontend would, and takes it up.
    pub(crate) fn change(&mut self, pointer: &str, value: Value) {
        set(&mut self.memory.document.lock(), &format!("/openShiftCluster{pointer}"), value);
        self.again();
    }

    /// The lease is somebody else's.
    pub(crate) fn lose(&self) {
        *self.memory.lost.lock() = true;
        self.context.lost().cancel();
    }

    /// Ids below a scope, without the stand-in's random parts.
    pub(crate) fn ids(&self, scope: &str) -> Vec<String> {
        let stable = |id: String| match id.split_once(".nic.") {
            Some((before, _)) => format!("{before}.nic"),
            None => id,
        };
        let mut ids: Vec<String> = self.arm.ids(scope).into_iter().map(stable).collect();
        ids.retain(|id| !id.to_ascii_lowercase().contains("/microsoft.resources/deployments/"));
        ids.sort();
        ids
    }

    pub(crate) fn subnet(&self, name: &str) -> Value {
        self.arm.get(&subnet(name)).unwrap()
    }
}

pub(crate) fn subnet(name: &str) -> String {
    format!("{SHOP}/providers/Microsoft.Network/virtualNetworks/net/subnets/{name}")
}

fn context(environment: &Arc<Environment>, memory: &Arc<MemoryProgress>) -> Context {
    let job = Job {
        operation: Operation::Create,
        document: Arc::new(typed(memory.document.lock().clone())),
        subscription: subscription(TENANT),
        progress: Arc::clone(memory) as Arc<dyn Progress>,
        lost: CancellationToken::new(),
        stopping: CancellationToken::new(),
    };
    Context::new(Arc::clone(environment), job)
}

const TENANT: &str = "10000000-0000-0000-0000-000000000001";
const OWN_TENANT: &str = "10000000-0000-0000-0000-000000000002";

/// What is there before the cluster: the customer's network and identities, the service's own resources.
fn seed(arm: &ArmControl) {
    arm.subscribe(CUSTOMER, TENANT);
    arm.subscribe(SERVICE, OWN_TENANT);
    let network = |subnets: &[(&str, &str)]| {
        let subnets: Vec<Value> = subnets
            .iter()
            .map(|(name, prefix)| json!({"name": name, "properties": {"addressPrefix": prefix}}))
            .collect();
        json!({"location": "eastus", "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": subnets}})
    };
    let put = |id: String, body: Value| assert!(arm.put(&id, body), "{id}");
    let customers = [("master", "10.0.0.0/24"), ("worker", "10.0.2.0/24")];
    put(format!("{SHOP}/providers/Microsoft.Network/virtualNetworks/net"), network(&customers));
    let own = format!("{OURS}/providers/Microsoft.Network/virtualNetworks/rp-pe-vnet-001");
    put(own, network(&[("rp-pe-subnet", "10.8.0.0/24")]));
    put(
        format!("{OURS}/providers/Microsoft.Network/dnsZones/eastus.aroapp.io"),
        json!({"location": "global"}),
    );
    put(
        format!("{OURS}/providers/Microsoft.ContainerRegistry/registries/arosvc"),
        json!({"location": "eastus"}),
    );
    put(
        format!("{GATEWAY}/providers/Microsoft.Network/privateLinkServices/gateway-pls-001"),
        json!({"location": "eastus", "properties": {"autoApproval": {"subscriptions": []}}}),
    );
    for name in ["disk", "registry", "aro"] {
        let id = format!("{SHOP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}");
        put(id, json!({"location": "eastus"}));
    }
    for (role, actions) in [
        (DISK_ROLE, json!(["Microsoft.Network/virtualNetworks/subnets/join/action", "Microsoft.Compute/*"])),
        (REGISTRY_ROLE, json!(["Microsoft.Storage/storageAccounts/read"])),
        (
            crate::roles::FEDERATED_CREDENTIAL,
            json!([
                "Microsoft.ManagedIdentity/userAssignedIdentities/read",
                "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials/write"
            ]),
        ),
    ] {
        let id =
            format!("/subscriptions/{CUSTOMER}/providers/Microsoft.Authorization/roleDefinitions/{role}");
        put(id, json!({"properties": {"permissions": [{"actions": actions}]}}));
    }
}

fn environment(url: &str, records: &Arc<MemoryGateways>) -> Environment {
    let (clock, random): (SharedClock, SharedRandom) = (Arc::new(SystemClock), Arc::new(SystemRandom));
    Environment {
        region: "eastus".to_owned(),
        domain: "eastus.aroapp.io".to_owned(),
        rp_subscription: SERVICE.to_owned(),
        rp_tenant: OWN_TENANT.to_owned(),
        rp_group: "rp-eastus".to_owned(),
        gateway_group: "gwy-eastus".to_owned(),
        endpoint_vnet: "rp-pe-vnet-001".to_owned(),
        endpoint_subnet: "rp-pe-subnet".to_owned(),
        registry_id: format!("{OURS}/providers/Microsoft.ContainerRegistry/registries/arosvc"),
        registry_host: "arosvc.azurecr.io".to_owned(),
        fp_client_id: FIRST_PARTY.to_owned(),
        fp_service_principal: object_id_of(FIRST_PARTY),
        oidc: Some(OidcStorage {
            account: "oidc".to_owned(),
            blob_url: format!("{url}/blob/oidc"),
            endpoint: "oidc.example".to_owned(),
        }),
        certificate_issuer: "OneCertV2-PublicCA".to_owned(),
        commit: "test".to_owned(),
        operator: crate::harness::operator_settings(),
        features: Features::default(),
        azure: clients(url, &clock, &random),
        certificates: None,
        role_sets: Arc::new(FixedRoleSets),
        gateways: Some(Arc::clone(records) as Arc<dyn Gateways>),
        installation: Installation::None { setting: "of a test" },
        keyring: Keyring::generate(&SystemRandom),
        clock,
        random,
        clusters: Arc::new(NoClusters),
        periods: Periods {
            poll: Duration::from_millis(1),
            authorization_retry: Duration::from_millis(1),
            ..Periods::CONTRACT
        },
    }
}

fn clients(url: &str, clock: &SharedClock, random: &SharedRandom) -> Arc<dyn AzureClients> {
    let own =
        || Credential::Secret { client_id: FIRST_PARTY.to_owned(), secret: Secret::new("secret".to_owned()) };
    let options = ArmOptions {
        endpoints: Endpoints::at(url.parse().unwrap(), url.parse().unwrap()),
        credential: own(),
        ca_pem: None,
        clock: Arc::clone(clock),
        random: Arc::clone(random),
        registry: rp_metrics::Registry::default(),
        observer: None,
        retry: RetryPolicy::STEPS,
        patience: Duration::from_secs(120),
    };
    let call_settings =
        CallSettings { repeat: Repeat::STEPS, polling: Polling::STEPS, sleep: Arc::new(NoSleep) };
    let first_party = Arm::with(options, call_settings).unwrap();
    let managed_identity = first_party.with_credential(own());
    Arc::new(CloudClients::new(first_party, managed_identity))
}
