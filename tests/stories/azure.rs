//! Our client of Azure against a resource manager that is a stand-in, over the network: tokens, tries, lists, errors,
//! and what stands on it: subnets, machines, the NSG monitor.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use rp_azure::{
    Arm, ArmOptions, Call, Credential, Endpoints, ErrorKind, IdentityEndpoint, RetryPolicy, Subnets as _,
    Tenants,
};
use rp_base::{Clock as _, ManualClock, Secret, SharedClock, SystemClock, SystemRandom};
use rp_documents::ResourceId;
use rp_metrics::Registry;
use rp_monitor::check::SideMonitor as _;
use rp_monitor::emit::ClusterDims;
use rp_monitor::nsg::{NsgMonitor, SubnetPrefixes};
use rp_monitor::{ClusterView, Round, WorkerProfile};
use rp_net::Source;
use rp_simulator::fleet::{Cluster, Fleet};
use rp_simulator_azure::{ArmStandIn, Clusters, Fault, FaultResponse, LocalArm, tenant_of};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

const APPLICATION: &str = "11111111-0000-4000-8000-000000000001";

struct Cloud {
    stand_in: ArmStandIn,
    url: String,
    clock: ManualClock,
    registry: Registry,
    /// The first cluster of the region, and its subscription's tenant.
    cluster: Cluster,
    tenant: String,
    _cut: DropGuard,
}

fn secret() -> Credential {
    Credential::Secret { client_id: APPLICATION.to_owned(), secret: Secret::new("right".to_owned()) }
}

impl Cloud {
    async fn start() -> Result<Self> {
        rp_net::tls::install_provider();
        let clock = ManualClock::at(SystemClock.now());
        let shared: SharedClock = Arc::new(clock.clone());
        let fleet = Arc::new(Fleet::new(11, 12, vec![], clock.now()));
        let cluster = fleet.cluster(0).context("a cluster")?;
        let contents = Arc::new(Clusters::new(fleet, Arc::clone(&shared)));
        let LocalArm { arm: stand_in, url, cut: _cut } =
            LocalArm::start(&[(APPLICATION, "right")], contents, shared).await?;
        let tenant = tenant_of(&cluster.subscription);
        let registry = Registry::new();
        Ok(Self { stand_in, url, clock, registry, cluster, tenant, _cut })
    }

    fn client(&self, credential: Credential, retry: RetryPolicy, patience: Duration) -> Result<Arm> {
        Ok(Arm::new(ArmOptions {
            endpoints: Endpoints::at(self.url.parse()?, self.url.parse()?),
            credential,
            ca_pem: None,
            clock: Arc::new(self.clock.clone()),
            random: Arc::new(SystemRandom),
            registry: self.registry.clone(),
            observer: None,
            retry,
            patience,
        })?)
    }

    fn plain(&self) -> Result<Arm> {
        self.client(secret(), RetryPolicy::NONE, Duration::from_secs(60))
    }

    fn network(&self) -> String {
        format!(
            "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network",
            self.cluster.subscription, self.cluster.resource_group
        )
    }

    fn subnet(&self, name: &str) -> String {
        format!("{}/virtualNetworks/{}-vnet/subnets/{name}", self.network(), self.cluster.name)
    }

    fn fault(&self, path: &str, times: Option<u32>, answer: FaultResponse) {
        self.stand_in.fail(Fault { method: None, path: path.to_owned(), times, answer });
    }

    /// Statuses of requests whose path has that in it.
    fn asked(&self, path: &str) -> Vec<u16> {
        let all = self.stand_in.requests();
        all.iter().filter(|logged| logged.path.contains(path)).map(|logged| logged.status).collect()
    }
}

#[tokio::test]
async fn an_application_signs_in_with_its_certificate_and_reads_a_subnet() -> Result<()> {
    let (cloud, folder) = (Cloud::start().await?, tempfile::tempdir()?);
    let (certificate, key) = (folder.path().join("app.pem"), folder.path().join("app.key"));
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256)?;
    std::fs::write(&certificate, rcgen::CertificateParams::default().self_signed(&pair)?.pem())?;
    std::fs::write(&key, pair.serialize_pem())?;
    let client_id = APPLICATION.to_owned();
    let credential = Credential::Certificate { client_id, certificate, key: key.clone() };
    let arm = cloud.client(credential, RetryPolicy::NONE, Duration::from_secs(60))?;
    let subnet = arm.subnet(&cloud.tenant, &cloud.subnet("master")).await?;
    ensure!(subnet.prefixes == ["10.0.0.0/23"], "{subnet:?}");
    // The files are read again for the next token.
    std::fs::remove_file(&key)?;
    cloud.clock.advance(Duration::from_secs(2 * 3600));
    let error = arm.subnet(&cloud.tenant, &cloud.subnet("master")).await.expect_err("no key");
    ensure!(error.kind == ErrorKind::Credential && error.to_string().contains("app.key"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_machine_and_a_service_account_sign_in() -> Result<()> {
    let (cloud, folder) = (Cloud::start().await?, tempfile::tempdir()?);
    let metadata = format!("{}/metadata/identity/oauth2/token", cloud.url).parse()?;
    let managed =
        Credential::ManagedIdentity { client_id: None, endpoint: IdentityEndpoint::Metadata(metadata) };
    let arm = cloud.client(managed, RetryPolicy::NONE, Duration::from_secs(60))?;
    arm.subnet(&cloud.tenant, &cloud.subnet("worker")).await?;
    let token_file = folder.path().join("token");
    // Three parts of JSON and a signature that the stand-in believes.
    let part = |value: Value| {
        base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, value.to_string())
    };
    let end = cloud.clock.now().seconds() + 600;
    let claims = json!({"aud": "api://AzureADTokenExchange", "sub": "system:serviceaccount:a:b", "exp": end});
    let jwt = format!("{}.{}.{}\n", part(json!({"alg": "RS256", "kid": "1"})), part(claims), "A".repeat(342));
    std::fs::write(&token_file, jwt)?;
    let federated = Credential::WorkloadIdentity { client_id: APPLICATION.to_owned(), token_file };
    let arm = cloud.client(federated, RetryPolicy::NONE, Duration::from_secs(60))?;
    arm.subnet(&cloud.tenant, &cloud.subnet("worker")).await?;
    Ok(())
}

#[tokio::test]
async fn a_token_is_fetched_once_renewed_early_and_kept_when_it_cannot_be() -> Result<()> {
    let cloud = Cloud::start().await?;
    let arm = cloud.plain()?;
    let id = cloud.subnet("master");
    let many = (0..20).map(|_| arm.subnet(&cloud.tenant, &id));
    for subnet in futures_util::future::join_all(many).await {
        subnet?;
    }
    ensure!(cloud.asked("/oauth2/") == [200], "{:?}", cloud.asked("/oauth2/"));
    // Three minutes before its end a new one cannot be had: the old one serves.
    cloud.clock.advance(Duration::from_secs(57 * 60));
    cloud.fault("/oauth2/", Some(2), FaultResponse::status(503, "temporarily_unavailable"));
    arm.subnet(&cloud.tenant, &id).await?;
    ensure!(cloud.asked("/oauth2/") == [200, 503, 503], "{:?}", cloud.asked("/oauth2/"));
    cloud.clock.advance(Duration::from_secs(31));
    arm.subnet(&cloud.tenant, &id).await?;
    ensure!(cloud.asked("/oauth2/") == [200, 503, 503, 200], "{:?}", cloud.asked("/oauth2/"));
    // Azure refuses it all the same, once: a new one is fetched and the call repeated.
    cloud.fault("/subnets/", Some(1), FaultResponse::status(401, "InvalidAuthenticationToken"));
    arm.subnet(&cloud.tenant, &id).await?;
    ensure!(cloud.asked("/oauth2/").len() == 5, "{:?}", cloud.asked("/oauth2/"));
    let wrong =
        Credential::Secret { client_id: APPLICATION.to_owned(), secret: Secret::new("wrong".to_owned()) };
    let arm = cloud.client(wrong, RetryPolicy::NONE, Duration::from_secs(60))?;
    let error = arm.subnet(&cloud.tenant, &id).await.expect_err("a wrong secret");
    ensure!((error.operation, error.code.as_str()) == ("token", "AADSTS7000215"), "{error}");
    ensure!(!format!("{error:?}").contains("wrong"), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn calls_are_made_again_as_the_contract_says() -> Result<()> {
    let cloud = Cloud::start().await?;
    let quick = RetryPolicy {
        attempts: 4,
        first: Duration::from_millis(5),
        most: Duration::from_millis(20),
        ..RetryPolicy::QUICK
    };
    let arm = cloud.client(secret(), quick, Duration::from_secs(60))?;
    let id = cloud.subnet("master");
    cloud.fault("/subnets/", Some(1), FaultResponse::throttled(1));
    cloud.fault("/subnets/", Some(1), FaultResponse::status(429, "TooManyRequests"));
    cloud.fault("/subnets/", Some(1), FaultResponse::status(500, "InternalServerError"));
    let start = tokio::time::Instant::now();
    arm.subnet(&cloud.tenant, &id).await?;
    ensure!(start.elapsed() >= Duration::from_secs(1), "Retry-After was not kept: {:?}", start.elapsed());
    ensure!(cloud.asked("/subnets/") == [429, 429, 500, 200], "{:?}", cloud.asked("/subnets/"));
    // Not again: what would fail the same way, more tries than the policy has, and waits beyond the deadline.
    cloud.stand_in.heal();
    cloud.fault("/subnets/", Some(1), FaultResponse::status(403, "AuthorizationFailed"));
    let error = arm.subnet(&cloud.tenant, &id).await.expect_err("403");
    ensure!((error.kind, error.status) == (ErrorKind::Forbidden, Some(403)), "{error}");
    ensure!(!error.request_id.is_empty(), "no request id: {error:?}");
    cloud.fault("/subnets/", None, FaultResponse::status(503, "ServiceUnavailable"));
    ensure!(arm.subnet(&cloud.tenant, &id).await.expect_err("503").kind == ErrorKind::Server, "503");
    ensure!(cloud.asked("/subnets/").ends_with(&[403, 503, 503, 503, 503]), "{:?}", cloud.asked("/subnets/"));
    cloud.stand_in.heal();
    cloud.fault("/subnets/", None, FaultResponse::throttled(3600));
    ensure!(arm.subnet(&cloud.tenant, &id).await.expect_err("429").kind == ErrorKind::Throttled, "429");
    let text = cloud.registry.render();
    for line in [
        "aro_client_azure_request_duration_seconds_count{client=\"subnets\",operation=\"get\",code=\"200\"} 1\n",
        "aro_client_azure_errors_total{client=\"subnets\",operation=\"get\",code=\"403\"} 1\n",
        "aro_client_azure_errors_total{client=\"subnets\",operation=\"get\",code=\"503\"} 4\n",
        "aro_client_azure_retries_total{client=\"subnets\",operation=\"get\",code=\"503\"} 3\n",
        "aro_client_azure_request_duration_seconds_count{client=\"tokens\",operation=\"get\",code=\"200\"} 1\n",
    ] {
        ensure!(text.contains(line), "no {line} in\n{text}");
    }
    Ok(())
}

#[tokio::test]
async fn silence_strange_answers_and_other_hosts_are_errors_of_their_kind() -> Result<()> {
    let cloud = Cloud::start().await?;
    let hasty = cloud.client(secret(), RetryPolicy::NONE, Duration::from_secs(2))?;
    let id = cloud.subnet("master");
    // The token first, so that the silence is the subnet's.
    hasty.subnet(&cloud.tenant, &id).await?;
    cloud.fault("/subnets/", None, FaultResponse::Hang);
    let error = hasty.subnet(&cloud.tenant, &id).await.expect_err("silence");
    ensure!((error.kind, error.status) == (ErrorKind::Timeout, None), "{error}");
    cloud.stand_in.heal();
    let arm = cloud.plain()?;
    cloud.fault("/subnets/", None, FaultResponse::Body(json!([1, 2])));
    ensure!(
        arm.subnet(&cloud.tenant, &id).await.expect_err("an array").kind == ErrorKind::Malformed,
        "array"
    );
    cloud.stand_in.heal();
    let error = arm.subnet("another-tenant", &id).await.expect_err("another cloud's tenant");
    ensure!((error.kind, error.code.as_str()) == (ErrorKind::Cloud, "AADSTS90002"), "{error}");
    let error = arm.subnet(&cloud.tenant, &cloud.subnet("none")).await.expect_err("no such subnet");
    ensure!(error.is_missing() && error.code == "ResourceNotFound", "{error}");
    let error = arm.subnet(&cloud.tenant, "/subscriptions/../secrets?x").await.expect_err("no id");
    ensure!(error.kind == ErrorKind::Request, "{error}");
    // A list that leads elsewhere: the token does not follow.
    cloud.fault(
        "/virtualmachines",
        None,
        FaultResponse::Body(json!({"value": [], "nextLink": "https://elsewhere.invalid/x"})),
    );
    let list = format!("{}/virtualMachines", cloud.network().replace("Network", "Compute"));
    let error = arm.list::<Value>(&call(&cloud.tenant, &list)).await.expect_err("elsewhere");
    ensure!(error.kind == ErrorKind::Malformed, "{error}");
    Ok(())
}

fn call<'a>(tenant: &'a str, id: &'a str) -> Call<'a> {
    Call {
        client: "things",
        operation: "list",
        shown: "list things",
        tenant,
        id,
        api_version: "2024-05-01",
        query: &[],
    }
}

#[tokio::test]
async fn lists_are_read_to_their_end_and_resources_put_and_deleted() -> Result<()> {
    let cloud = Cloud::start().await?;
    let arm = cloud.plain()?;
    let list = cloud.network().replace("Microsoft.Network", "Example.Kind/things");
    for number in 0..250 {
        ensure!(
            cloud
                .stand_in
                .put(&format!("{list}/thing-{number:03}"), json!({"properties": {"number": number}})),
            "put"
        );
    }
    let all: Vec<Value> = arm.list(&call(&cloud.tenant, &list)).await?;
    ensure!(all.len() == 250 && all[249]["properties"]["number"] == 249, "{}", all.len());
    ensure!(cloud.asked("things").len() == 3, "three pages: {:?}", cloud.asked("things"));
    let one = format!("{list}/mine");
    let made: Value = arm.put(&call(&cloud.tenant, &one), &json!({"location": "westeurope"})).await?;
    ensure!(made["properties"]["provisioningState"] == "Succeeded", "{made}");
    // Deleting what is gone is done.
    for _ in 0..2 {
        arm.delete(&call(&cloud.tenant, &one)).await?;
    }
    ensure!(arm.get::<Value>(&call(&cloud.tenant, &one)).await.expect_err("deleted").is_missing(), "deleted");
    Ok(())
}

struct FixedTenants;

#[async_trait]
impl Tenants for FixedTenants {
    async fn tenant(&self, subscription: &str) -> Option<String> {
        Some(tenant_of(subscription))
    }
}

#[tokio::test]
async fn machines_of_a_cluster_with_their_power() -> Result<()> {
    let cloud = Cloud::start().await?;
    let states = cloud.plain()?.vm_states(Arc::new(FixedTenants));
    let group = format!(
        "/subscriptions/{}/resourcegroups/aro-{}",
        cloud.cluster.subscription, cloud.cluster.infra_id
    );
    let machines = states.states(&group).await?;
    ensure!(machines.len() == 3 + cloud.cluster.workers, "{machines:?}");
    let master = machines.iter().find(|machine| machine.name.ends_with("-master-0")).context("a master")?;
    ensure!((master.power.name(), master.size.as_str()) == ("running", "Standard_D8s_v5"), "{master:?}");
    // One is failing and one went while we asked.
    let view = json!({"statuses": [{"code": "PowerState/deallocated", "level": "Info"},
        {"code": "ProvisioningState/failed/AllocationFailed", "level": "Error", "message": "no\u{7} room"}]});
    cloud.fault("-master-0/instanceview", None, FaultResponse::Body(view));
    cloud.fault("-master-1/instanceview", None, FaultResponse::status(404, "ResourceNotFound"));
    let machines = states.states(&group).await?;
    let find = |end: &str| machines.iter().find(|machine| machine.name.ends_with(end)).context("a master");
    ensure!(
        find("-master-0")?.troubles == ["Error: ProvisioningState/failed/AllocationFailed no room"],
        "{machines:?}"
    );
    ensure!(find("-master-1")?.power.name() == "unknown", "{machines:?}");
    cloud.fault("-master-2/instanceview", None, FaultResponse::status(403, "AuthorizationFailed"));
    ensure!(states.states(&group).await.expect_err("403").kind == ErrorKind::Forbidden, "403");
    Ok(())
}

/// A cluster whose owner brought security groups along, in the region's first cluster's networks.
fn view(cloud: &Cloud) -> Result<ClusterView> {
    let cluster = &cloud.cluster;
    let id = ResourceId::from_parts(&cluster.subscription, &cluster.resource_group, &cluster.name)?;
    let mut view = ClusterView::bare("doc".to_owned(), id, Source::Aro);
    view.preconfigured_nsg = "Enabled".to_owned();
    view.master_subnet = cloud.subnet("master");
    view.workers = vec![WorkerProfile { name: "w".to_owned(), subnet_id: cloud.subnet("worker"), count: 3 }];
    view.tenant = Some(cloud.tenant.as_str().into());
    Ok(view)
}

/// What the NSG monitor tells: metric, then its first dimension; and its errors.
async fn nsg(cloud: &Cloud, view: &ClusterView) -> Result<(Vec<String>, Vec<String>)> {
    let arm = cloud.client(secret(), RetryPolicy::NONE, Duration::from_secs(2))?;
    let subnets = SubnetPrefixes::new(Arc::new(arm), Arc::new(cloud.clock.clone()));
    let round = Round { hourly: false, nsg_due: true, number: 2 };
    let monitor = NsgMonitor::new(Arc::new(subnets));
    let done = monitor.run(view, &ClusterDims::from_view(view), round, &CancellationToken::new()).await;
    let samples = done.samples.into_iter().flat_map(|(_, samples)| samples);
    let short = |name: &str| name.trim_start_matches("monitor.preconfigurednsg.").to_owned();
    let told = samples.map(|one| {
        [short(one.metric.name), one.dims.first().map(ToString::to_string).unwrap_or_default()].join(" ")
    });
    Ok((told.collect(), done.errors.into_iter().map(|(_, text)| text).collect()))
}

#[tokio::test]
async fn the_nsg_monitor_finds_denying_rules_over_the_network() -> Result<()> {
    let cloud = Cloud::start().await?;
    let group = format!("{}/networkSecurityGroups/own", cloud.network());
    let rule = json!({"name": "deny", "properties": {"access": "Deny", "direction": "Inbound", "priority": 200,
        "protocol": "*", "sourceAddressPrefix": null, "sourceAddressPrefixes": ["10.0.2.0/23", "192.168.0.1"],
        "destinationAddressPrefix": "10.0.0.5", "sourcePortRange": "*", "destinationPortRange": "*"}});
    cloud.stand_in.put(&group, json!({"properties": {"securityRules": [rule]}}));
    for (name, prefix) in [("master", "10.0.0.0/23"), ("worker", "10.0.2.0/23")] {
        let body =
            json!({"properties": {"addressPrefixes": [prefix], "networkSecurityGroup": {"id": group}}});
        cloud.stand_in.put(&cloud.subnet(name), body);
    }
    let view = view(&cloud)?;
    let (told, errors) = nsg(&cloud, &view).await?;
    let group = &cloud.cluster.resource_group;
    let expected =
        ["enabled ".to_owned(), format!("invaliddenyrule {group}"), "monitor.nsg.duration ".to_owned()];
    ensure!(told == expected && errors.is_empty(), "{told:?} {errors:?}");
    // Each fault is reported by its kind, and never stops the check.
    let not = |answer: FaultResponse| (answer, "subnetaccesserror ");
    for ((answer, metric), detail) in [
        ((FaultResponse::status(403, "AuthorizationFailed"), "subnetaccessforbidden "), "worker"),
        (not(FaultResponse::status(404, "ResourceNotFound")), "not_found"),
        (not(FaultResponse::status(500, "InternalServerError")), "server"),
        (not(FaultResponse::throttled(5)), "throttled"),
        (not(FaultResponse::Hang), "timeout"),
        (not(FaultResponse::Body(json!("text"))), "malformed"),
    ] {
        cloud.stand_in.heal();
        cloud.fault("/subnets/worker", None, answer);
        let (told, errors) = nsg(&cloud, &view).await?;
        ensure!(told.contains(&format!("{metric}{detail}")), "{metric}{detail}: {told:?}");
        ensure!(errors.len() == 1 && told.contains(&"monitor.nsg.duration ".to_owned()), "{errors:?}");
    }
    for empty in [
        json!({}),
        json!({"properties": null}),
        json!({"properties": {"networkSecurityGroup": {"properties": null}}}),
    ] {
        cloud.stand_in.heal();
        cloud.fault("/subnets/", None, FaultResponse::Body(empty));
        let (_, errors) = nsg(&cloud, &view).await?;
        ensure!(errors == ["no valid subnet ranges found"], "{errors:?}");
    }
    cloud.stand_in.heal();
    let mut elsewhere = view.clone();
    elsewhere.tenant = Some("of-another-cloud".into());
    let (told, errors) = nsg(&cloud, &elsewhere).await?;
    ensure!(
        told.contains(&"failedmonitorcreation ".to_owned()) && errors[0].contains("AADSTS90002"),
        "{told:?} {errors:?}"
    );
    Ok(())
}
