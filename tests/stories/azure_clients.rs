//! Our clients of Azure as the steps and checks use them, against the stand-in and a real blob service.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use rp_azure::{
    ARecord, AccessChecks as _, Arm, ArmOptions, Audience, AzureClients as _, BlobAccess, BlobStore,
    CallSettings, CertificateOrder, Client, CloudClients, Credential, Deployments as _, Directory as _,
    Endpoints, ErrorClass, ErrorKind, Machines as _, Polling, Precondition, RecordSets as _, Repeat,
    Resources as _, RetryPolicy, SasRequest, Sleep, StorageAccounts as _, Subject, SubscriptionFacts as _,
    Vault,
};
use rp_base::{Clock as _, ManualClock, Secret, SharedClock, SystemClock, SystemRandom};
use rp_documents::{OpenShiftCluster, ResourceId};
use rp_frontend::{AzureChecks, CreateChecks as _};
use rp_metrics::Registry;
use rp_simulator::fleet::Fleet;
use rp_simulator_azure::{
    ArmControl, Clusters, DenyRule, Fault, FaultResponse, LocalArm, object_id_of, tenant_of,
};
use serde_json::{Value, json};
use tests_kit::part;
use tokio_util::sync::DropGuard;

const FIRST_PARTY: &str = "11111111-0000-4000-8000-000000000003";
const CUSTOMER: &str = "11111111-0000-4000-8000-000000000004";
const NETWORK: &str = "2020-08-01";

/// Moves the clock on in place of waiting, and remembers.
#[derive(Debug, Clone)]
struct Virtual {
    clock: ManualClock,
    passed: Arc<Mutex<Vec<Duration>>>,
}

#[async_trait]
impl Sleep for Virtual {
    async fn sleep(&self, time: Duration) {
        self.clock.advance(time);
        self.passed.lock().push(time);
        tokio::task::yield_now().await;
    }
}

struct Cloud {
    control: ArmControl,
    clients: CloudClients,
    time: Virtual,
    url: String,
    tenant: String,
    subscription: String,
    group: String,
    _cut: DropGuard,
}

impl Cloud {
    async fn start() -> Result<Self> {
        rp_net::tls::install_provider();
        let clock = ManualClock::at(SystemClock.now());
        let time = Virtual { clock: clock.clone(), passed: Arc::default() };
        let shared: SharedClock = Arc::new(clock);
        let fleet = Arc::new(Fleet::new(5, 3, vec![], shared.now()));
        let subscription = fleet.cluster(0).context("a cluster")?.subscription;
        let contents = Arc::new(Clusters::new(fleet, Arc::clone(&shared)));
        let LocalArm { arm, url, cut: _cut } =
            LocalArm::start(&[(FIRST_PARTY, "right")], contents, Arc::clone(&shared)).await?;
        let control = arm.control();
        let first_party =
            Credential::Secret { client_id: FIRST_PARTY.to_owned(), secret: Secret::new("right".to_owned()) };
        let options = ArmOptions {
            endpoints: Endpoints::at(url.parse()?, url.parse()?),
            credential: first_party.clone(),
            ca_pem: None,
            clock: shared,
            random: Arc::new(SystemRandom),
            registry: Registry::new(),
            observer: None,
            retry: RetryPolicy::STEPS,
            patience: Duration::from_hours(1),
        };
        let call_settings =
            CallSettings { repeat: Repeat::STEPS, polling: Polling::STEPS, sleep: Arc::new(time.clone()) };
        let own = Arm::with(options, call_settings)?;
        let clients = CloudClients::new(own.clone(), own.with_credential(first_party));
        let tenant = tenant_of(&subscription);
        let group = format!("/subscriptions/{subscription}/resourceGroups/steps");
        Ok(Self { control, clients, time, url, tenant, subscription, group, _cut })
    }

    fn client(&self) -> Client {
        self.clients.first_party().in_tenant(&self.tenant)
    }

    async fn with_group() -> Result<(Self, Client)> {
        let cloud = Self::start().await?;
        let client = cloud.client();
        client.put(&cloud.group, "2021-04-01", &json!({"location": "eastus"})).await?;
        Ok((cloud, client))
    }

    fn network(&self, rest: &str) -> String {
        format!("{}/providers/Microsoft.Network/{rest}", self.group)
    }

    fn fault(&self, method: &str, path: &str, times: u32, answer: FaultResponse) -> Result<()> {
        let method = Some(method.parse()?);
        self.control.fail(Fault { method, path: path.to_owned(), times: Some(times), answer });
        Ok(())
    }

    /// Seconds that were passed since the last time.
    fn passed(&self) -> Vec<u64> {
        self.time.passed.lock().drain(..).map(|time| time.as_secs()).collect()
    }
}

#[tokio::test]
async fn what_lasts_is_waited_for_by_the_clock() -> Result<()> {
    let (cloud, client) = Cloud::with_group().await?;
    cloud.control.slow(Duration::from_mins(3));
    cloud.passed();
    let id = cloud.network("networkSecurityGroups/n");
    let made = client.put(&id, NETWORK, &json!({"properties": {"securityRules": []}})).await?;
    ensure!(made["properties"]["provisioningState"] == "Succeeded", "{made}");
    let waited: u64 = cloud.passed().iter().sum();
    ensure!((175..240).contains(&waited), "{waited} s");
    cloud.control.retry_after(Some(100));
    // Another process goes on with what was begun.
    let begun = client.begin_delete(&id, NETWORK).await?.context("it lasts")?;
    let stored: rp_azure::Operation = serde_json::from_str(&serde_json::to_string(&begun)?)?;
    ensure!(
        client.get(&id, NETWORK).await?.context("still there")?["properties"]["provisioningState"]
            == "Deleting"
    );
    client.wait(&stored).await?;
    ensure!(cloud.passed() == [100, 100], "as Azure wants");
    ensure!(client.get(&id, NETWORK).await?.is_none());
    client.delete(&id, NETWORK).await?;
    client.delete(&cloud.group, "2021-04-01").await?;
    ensure!(!client.exists(&cloud.group, "2021-04-01").await?);
    client.delete(&cloud.group, "2021-04-01").await?;
    Ok(())
}

#[tokio::test]
async fn two_layers_of_tries_pass_what_goes_away() -> Result<()> {
    let (cloud, client) = Cloud::with_group().await?;
    let id = cloud.network("routeTables/t");
    let body = json!({"location": "eastus"});
    cloud.fault("PUT", "/routetables/t", 3, FaultResponse::status(500, "InternalServerError"))?;
    cloud.passed();
    client.put(&id, NETWORK, &body).await?;
    ensure!(cloud.passed().len() == 3);
    // Sixteen requests: four times four, as the contract has them.
    cloud.fault("PUT", "/routetables/t", 99, FaultResponse::throttled(5))?;
    let error = client.put(&id, NETWORK, &body).await.expect_err("throttled");
    ensure!(error.class() == ErrorClass::Throttled && error.url() == id, "{error}");
    ensure!(cloud.passed() == [5; 15]);
    cloud.control.heal();
    cloud.fault("PUT", "/routetables/t", 1, FaultResponse::status(409, "AnotherOperationInProgress"))?;
    ensure!(client.put(&id, NETWORK, &body).await.expect_err("conflict").class() == ErrorClass::Conflict);
    // Done, and the answer is lost: the second try finds it done.
    cloud.fault("PUT", "/routetables/lost", 1, FaultResponse::Lost)?;
    client.put(&cloud.network("routeTables/lost"), NETWORK, &body).await?;
    cloud.fault("DELETE", "/routetables/lost", 1, FaultResponse::Lost)?;
    client.delete(&cloud.network("routeTables/lost"), NETWORK).await?;
    ensure!(client.get(&cloud.network("routeTables/lost"), NETWORK).await?.is_none());
    // Rights that arrive late are waited for only where that is wanted.
    let late = || DenyRule { action: "routetables/read".into(), times: Some(3), ..DenyRule::default() };
    cloud.control.forbid(late());
    let error = client.get(&id, NETWORK).await.expect_err("not yet");
    ensure!(error.is_authorization_failed() && error.class() == ErrorClass::Authorization, "{error}");
    cloud.control.heal();
    cloud.control.forbid(late());
    ensure!(client.repeating(Repeat::RBAC).get(&id, NETWORK).await?.is_some());
    Ok(())
}

#[tokio::test]
async fn a_deployment_gives_outputs_or_everything_that_failed() -> Result<()> {
    let (cloud, client) = Cloud::with_group().await?;
    let template = json!({"$schema": "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0", "parameters": {"name": {"type": "string"}},
        "resources": [{"type": "Microsoft.Storage/storageAccounts", "apiVersion": "2021-09-01",
            "name": "[parameters('name')]", "location": "eastus"}],
        "outputs": {"id": {"type": "string", "value": "[resourceId('Microsoft.Storage/storageAccounts', parameters('name'))]"}}});
    let parameters = json!({"name": {"value": "acc"}});
    let outputs = client.deploy(&cloud.group, "storage", &template, &parameters).await?;
    let account = outputs["id"]["value"].as_str().context("an id")?.to_owned();
    ensure!(account.ends_with("/storageAccounts/acc"), "{outputs}");
    for (answer, class) in [
        (FaultResponse::policy("no-storage", "assigned"), ErrorClass::Policy),
        (FaultResponse::status(409, "ScopeLocked"), ErrorClass::Lock),
        (FaultResponse::quota(), ErrorClass::Quota),
        (FaultResponse::status(403, "AuthorizationFailed"), ErrorClass::Authorization),
    ] {
        cloud.fault("PUT", "/storageaccounts/acc", 1, answer)?;
        let error =
            client.deploy(&cloud.group, "storage", &template, &parameters).await.expect_err("it fails");
        ensure!((error.kind, error.code.as_str()) == (ErrorKind::Failed, "DeploymentFailed"), "{error}");
        ensure!(error.class() == class, "{class:?}: {:?}", error.chain());
    }
    let error =
        client.deploy(&cloud.group, "storage", &template, &json!({})).await.expect_err("no parameter");
    ensure!(error.code == "InvalidTemplate", "{error}");
    ensure!(client.deployed(&cloud.group, "none").await.expect_err("there is none").is_missing());
    // Blobs by the account's signature and by token.
    let sas = SasRequest {
        permissions: "cw",
        resource_types: "co",
        from: cloud.time.clock.now(),
        until: cloud.time.clock.now() + Duration::from_hours(24),
        http: false,
    };
    let sas = client.account_sas(&account, &sas).await?;
    let endpoint = client.blob_endpoint(&account).await?.context("an endpoint")?;
    let writer = BlobStore::new(client.clone(), endpoint.clone(), BlobAccess::Sas(sas));
    blobs(&writer, &BlobStore::new(client.clone(), endpoint, BlobAccess::Token)).await?;
    ensure!(client.keys(&account).await?.len() == 2);
    Ok(())
}

/// What one may write and the other read.
async fn blobs(writer: &BlobStore, reader: &BlobStore) -> Result<()> {
    let content = Bytes::from_static(b"{\"ignition\":{}}");
    let early = writer.put("ignition", "b", content.clone(), "application/json").await;
    let Err(error) = early else { bail!("a blob without a container was taken") };
    ensure!(error.code == "ContainerNotFound", "{error}");
    writer.create_container("ignition").await?;
    writer.create_container("ignition").await?;
    writer.put("ignition", "deep/bootstrap.ign", content.clone(), "application/json").await?;
    ensure!(reader.get("ignition", "deep/bootstrap.ign").await? == Some(content));
    ensure!(reader.exists("ignition", "deep/bootstrap.ign").await?);
    ensure!(!reader.exists("ignition", "other").await? && reader.get("ignition", "other").await?.is_none());
    reader.delete("ignition", "deep/bootstrap.ign").await?;
    reader.delete("ignition", "deep/bootstrap.ign").await?;
    reader.delete_container("ignition").await?;
    reader.delete_container("ignition").await?;
    Ok(())
}

#[tokio::test]
async fn a_real_blob_service_takes_our_signature() -> Result<()> {
    let cloud = Cloud::start().await?;
    let folder = tempfile::tempdir()?;
    let mut azurite = tokio::process::Command::new(part("node")?)
        .arg(part("azurite-blob")?)
        .args(["--blobPort", "0", "--disableTelemetry", "--skipApiVersionCheck", "--location"])
        .arg(folder.path())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let told = azurite.stdout.take().context("its output")?;
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(told));
    let address = tokio::time::timeout(Duration::from_mins(2), async {
        while let Some(line) = lines.next_line().await? {
            if let Some((_, address)) = line.split_once("successfully listens on ") {
                return Ok(address.trim().to_owned());
            }
        }
        anyhow::bail!("it ended")
    })
    .await
    .context("the blob service does not listen")??;
    // The account and key that everybody knows.
    let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    let now = SystemClock.now();
    let signed = |permissions: &'static str| {
        let sas = SasRequest {
            permissions,
            resource_types: "co",
            from: now,
            until: now + Duration::from_hours(1),
            http: true,
        };
        rp_azure::sign_account_sas("devstoreaccount1", &Secret::new(key.to_owned()), &sas).context("a key")
    };
    let account: url::Url = format!("{address}/devstoreaccount1").parse()?;
    let store = |sas| BlobStore::new(cloud.client(), account.clone(), BlobAccess::Sas(sas));
    let writer = store(signed("rwdc")?);
    blobs(&writer, &store(signed("rd")?)).await?;
    let error = store(signed("r")?).create_container("another").await.expect_err("it may only read");
    ensure!(error.class() == ErrorClass::Authorization, "{error}");
    azurite.kill().await?;
    Ok(())
}

#[tokio::test]
async fn vaults_directory_rights_and_records() -> Result<()> {
    let (cloud, client) = Cloud::with_group().await?;
    let vault = Vault::new(client.clone(), format!("{}/vault/clusters", cloud.url).parse()?);
    ensure!(vault.order_state("doc-apiserver").await? == CertificateOrder::None);
    cloud.control.slow(Duration::from_mins(5));
    let policy = json!({"issuer": {"name": "OneCertV2-PublicCA"}, "x509_props": {"subject": "CN=api.x",
        "sans": {"dns_names": ["api.x"]}}});
    vault.order("doc-apiserver", &policy).await?;
    ensure!(matches!(vault.order_state("doc-apiserver").await?, CertificateOrder::InProgress(_)));
    cloud.time.clock.advance(Duration::from_mins(6));
    ensure!(vault.order_state("doc-apiserver").await? == CertificateOrder::Done);
    let secret = vault.secret("doc-apiserver").await?.context("the key")?;
    ensure!(secret.value.expose().contains("PRIVATE KEY") && secret.content_type == "application/x-pem-file");
    vault.set_policy("doc-apiserver", &json!({"issuer": {"name": "Self"}})).await?;
    ensure!(vault.policy("doc-apiserver").await?.context("a policy")?["issuer"]["name"] == "Self");
    vault.delete_certificate("doc-apiserver").await?;
    vault.delete_certificate("doc-apiserver").await?;
    ensure!(vault.certificate("doc-apiserver").await?.is_none());
    vault.set_secret("msi-doc", &Secret::new("{}".to_owned()), &json!({"renew_after": "x"})).await?;
    ensure!(vault.secret("msi-doc").await?.context("set")?.tags["renew_after"] == "x");
    vault.delete_secret("msi-doc").await?;
    cloud.control.slow(Duration::ZERO);

    ensure!(client.service_principal(CUSTOMER).await?.is_none());
    let stranger = cloud.clients.service_principal(CUSTOMER, Secret::new("theirs".to_owned()))?;
    let error = stranger.in_tenant(&cloud.tenant).get(&cloud.group, "2021-04-01").await.expect_err("unknown");
    ensure!(error.aadsts() == Some(700_016) && error.is_authorization(), "{error}");
    cloud.control.open_directory();
    let customer = stranger.in_tenant(&cloud.tenant);
    ensure!(customer.get(&cloud.group, "2021-04-01").await?.is_some());
    ensure!(client.service_principal(CUSTOMER).await? == Some(object_id_of(CUSTOMER)));
    let claims = customer.claims(Audience::ResourceManager).await?;
    let subject = Subject::in_token(&claims).context("an object id")?;
    ensure!(subject == Subject::new(&object_id_of(CUSTOMER)));
    let actions = ["Microsoft.Network/virtualNetworks/read", "Microsoft.Network/virtualNetworks/join/action"];
    let vnet = cloud.network("virtualNetworks/v");
    cloud.control.forbid(DenyRule {
        subject: Some(subject.object_id.clone()),
        action: "join".to_owned(),
        ..DenyRule::default()
    });
    let decided = client.check_access("eastus", &subject, &vnet, &actions).await?;
    ensure!(decided.iter().map(|one| one.allowed).collect::<Vec<_>>() == [true, false], "{decided:?}");

    let zone = cloud.network("dnszones/x.example");
    client.put(&zone, "2018-05-01", &json!({"location": "global"})).await?;
    let metadata = vec![("resourceId".to_owned(), "/me".to_owned())];
    let record = ARecord { ttl: 300, metadata, ..ARecord::default() };
    client.put_a_record(&zone, "api.one", &record, Some(Precondition::Absent)).await?;
    let twice = client.put_a_record(&zone, "api.one", &record, Some(Precondition::Absent)).await;
    ensure!(twice.expect_err("it is there").status == Some(412));
    let stored = client.a_record(&zone, "api.one").await?.context("there")?;
    ensure!(
        (stored.ttl, &stored.metadata) == (300, &record.metadata) && !stored.etag.is_empty(),
        "{stored:?}"
    );
    let changed = ARecord { addresses: vec!["20.0.0.1".to_owned()], ..record };
    client.put_a_record(&zone, "api.one", &changed, Some(Precondition::Unchanged(&stored.etag))).await?;
    let stale = client.delete_a_record(&zone, "api.one", Some(Precondition::Unchanged(&stored.etag))).await;
    ensure!(stale.expect_err("another one").status == Some(412));
    client.put_a_record(&zone, "*.apps.one", &changed, None).await?;
    client.delete_a_record(&zone, "*.apps.one", None).await?;
    ensure!(client.a_record(&zone, "*.apps.one").await?.is_none());
    Ok(())
}

#[tokio::test]
async fn a_new_cluster_is_checked_by_what_azure_says() -> Result<()> {
    let cloud = Cloud::start().await?;
    let checks = AzureChecks::new(cloud.clients.first_party());
    let id = ResourceId::from_parts(&cloud.subscription, "group", "checked")?;
    let cluster: OpenShiftCluster =
        serde_json::from_value(json!({"id": id, "location": "eastus", "properties": {
        "masterProfile": {"vmSize": "Standard_D8s_v5", "encryptionAtHost": "Enabled"},
        "workerProfiles": [{"vmSize": "Standard_D4s_v5", "count": 3}]}}))?;
    let refused = async || match checks.check(&cloud.subscription, &cloud.tenant, &cluster).await {
        Ok(()) => String::new(),
        Err(error) => format!("{} {} {}", error.status, error.body.code, error.body.target),
    };
    let encryption = "400 InvalidParameter properties.masterProfile.encryptionAtHost";
    ensure!(refused().await == encryption, "the feature is not registered");
    cloud.control.feature(&cloud.subscription, "Microsoft.Compute/EncryptionAtHost", "");
    ensure!(refused().await == "500 InternalServerError ");
    cloud.control.feature(&cloud.subscription, "Microsoft.Compute/EncryptionAtHost", "Registered");
    ensure!(refused().await.is_empty(), "{}", refused().await);
    cloud.control.quota(&cloud.subscription, "PublicIPAddresses", 8, 10);
    ensure!(refused().await == "400 ResourceQuotaExceeded ");
    cloud.control.quota(&cloud.subscription, "PublicIPAddresses", 7, 10);
    cloud.control.provider(&cloud.subscription, "Microsoft.Storage", "NotRegistered");
    ensure!(refused().await == "400 ResourceProviderNotRegistered ");
    cloud.control.provider(&cloud.subscription, "Microsoft.Storage", "Registered");
    cloud.control.restrict(&cloud.subscription, "Standard_D4s_v5");
    ensure!(refused().await == "400 InvalidParameter properties.workerProfiles[0].VMSize");
    cloud.fault("GET", "/skus", 1, FaultResponse::status(403, "AuthorizationFailed"))?;
    ensure!(refused().await == "400 InvalidResourceProviderPermissions ", "{}", refused().await);
    Ok(())
}

#[tokio::test]
async fn machines_start_and_say_what_they_said() -> Result<()> {
    let (cloud, client) = Cloud::with_group().await?;
    let id = format!("{}/providers/Microsoft.Compute/virtualMachines/m", cloud.group);
    let body =
        json!({"location": "eastus", "properties": {"hardwareProfile": {"vmSize": "Standard_D8s_v5"}}});
    client.put(&id, "2024-03-01", &body).await?;
    client.post(&format!("{id}/deallocate"), "2024-03-01", None).await?;
    let power = |view: Option<Value>| view.map(|view| view["statuses"][1]["code"].clone());
    ensure!(power(client.instance_view(&id).await?) == Some(json!("PowerState/deallocated")));
    client.start(&id).await?;
    ensure!(power(client.instance_view(&id).await?) == Some(json!("PowerState/running")));
    let log = client.serial_log(&id).await?.context("a log")?;
    ensure!(String::from_utf8_lossy(&log).contains("ignition"));
    let skus = client.vm_skus(&cloud.subscription, "eastus").await?;
    let sku = skus.iter().find(|sku| sku.name == "Standard_D8s_v5").context("a size")?;
    ensure!(sku.zones == ["1", "2", "3"] && sku.has("EncryptionAtHostSupported"), "{sku:?}");
    let usages = client.usages(&cloud.subscription, "Microsoft.Compute", "eastus").await?;
    ensure!(usages.iter().any(|usage| usage.name == "cores" && usage.current == 8), "{usages:?}");
    ensure!(client.provider_states(&cloud.subscription).await?.len() >= 4);
    let feature = client.feature_state(&cloud.subscription, "Microsoft.RedHatOpenShift", "MTU3900").await?;
    ensure!(feature.as_deref() == Some("NotRegistered"));
    let tables = cloud.network("routeTables");
    for at in 0..105 {
        client.put(&format!("{tables}/t{at}"), NETWORK, &json!({"location": "eastus"})).await?;
    }
    ensure!(client.list(&tables, NETWORK).await?.len() == 105);
    let elsewhere = json!({"value": [], "nextLink": "https://elsewhere.example/next"});
    cloud.fault("GET", "/routetables", 1, FaultResponse::Body(elsewhere))?;
    ensure!(client.list(&tables, NETWORK).await.expect_err("elsewhere").kind == ErrorKind::Malformed);
    Ok(())
}
