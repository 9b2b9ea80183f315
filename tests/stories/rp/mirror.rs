//! What the monitor saw of a real cluster is what customers read, and reading asks no cluster.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use rp_base::{SharedClock, SystemClock, SystemRandom};
use rp_database::{SharedStore, Typed, in_memory};
use rp_documents::cluster::Worker;
use rp_documents::cluster::provisioning::OperationEnd;
use rp_documents::{ClusterDocument, Leased as _, ResourceId, Sealed};
use rp_frontend::{AdminParts, AllowAll, Edge, FrontendParts, Offers, RoleSet, router};
use rp_monitor::check::{Check, CheckOptions, CheckParts, Records};
use rp_monitor::emit::Emitters;
use rp_monitor::once::OneTarget;
use rp_monitor::{ClusterView, Round};
use rp_net::{Budget, Credential, Dialer, DialerOptions, Endpoint, Networks, PrivateWay, Source, Target};
use rp_seal::Keyring;
use serde_json::{Value, json};
use tests_kit::{GENEROUS, OpenShift};
use tokio_util::sync::CancellationToken;

use super::site::{SUB, VERSION, path, wanted};

/// The service principal that the cluster itself uses.
const CLIENT: &str = "22222222-2222-2222-2222-222222222222";

#[derive(Debug)]
struct FixedOffers;

impl Offers for FixedOffers {
    fn versions(&self) -> Vec<String> {
        vec!["4.17.27".to_owned()]
    }

    fn default_version(&self) -> Option<String> {
        None
    }

    fn role_sets(&self) -> Vec<RoleSet> {
        Vec::new()
    }
}

/// The API and the monitor over one store. The API knows no way to clusters.
struct World {
    store: SharedStore,
    keyring: Keyring,
    url: String,
    http: reqwest::Client,
    openshift: OpenShift,
}

impl World {
    async fn start() -> Result<Self> {
        let openshift = OpenShift::start().await?;
        openshift.apply(&[namespace("openshift-ingress-operator")]).await?;
        openshift.apply(&inside()).await?;
        openshift.status(&router_service()).await?;
        let store = in_memory(Arc::new(SystemClock));
        let keyring = Keyring::generate(&SystemRandom);
        let parts = FrontendParts {
            store: store.clone(),
            keyring: keyring.clone(),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            authorizer: Arc::new(AllowAll),
            offers: Arc::new(FixedOffers),
            checks: None,
            region: "eastus".to_owned(),
            domain: "eastus.aroapp.io".to_owned(),
            commit: "commit".to_owned(),
            development_workers: false,
            gateway: true,
            edge: Edge::default(),
            admin: AdminParts::default(),
            detectors: None,
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(async move { axum::serve(listener, router(parts)).await });
        let http = reqwest::Client::builder().timeout(GENEROUS).no_proxy().build()?;
        Ok(Self { store, keyring, url, http, openshift })
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await?;
        Ok((answer.status().as_u16(), serde_json::from_str(&answer.text().await?)?))
    }

    async fn get(&self) -> Result<Value> {
        let (status, told) = self.call(Method::GET, &path("real"), None).await?;
        ensure!(status == 200, "{status} {told}");
        Ok(told)
    }

    async fn document(&self) -> Result<ClusterDocument> {
        let key = path("real").split('?').next().unwrap_or_default().to_lowercase();
        let found = Typed::<ClusterDocument>::new(self.store.clone()).get_by_key(&key).await?;
        Ok(found.context("the document")?.value)
    }

    /// Ends what runs, as a worker would.
    async fn finish(&self) -> Result<()> {
        let clusters = Typed::<ClusterDocument>::new(self.store.clone());
        let id = self.document().await?.id;
        let mut found = clusters.get(&id).await?.context("the document")?;
        let worker = Worker::holding(&found.value.lease());
        found
            .value
            .cluster
            .properties
            .finish(worker, OperationEnd::Succeeded, None)
            .context("nothing runs")?;
        found.value.async_operation_id.clear(worker);
        clusters.replace(found).await?;
        Ok(())
    }

    /// The monitor's look at the real cluster.
    async fn look(&self) -> Result<()> {
        let clock: SharedClock = Arc::new(SystemClock);
        let plane = &self.openshift.plane;
        let token = Credential::Token(plane.admin_token().to_owned().into());
        let view = ClusterView::from_document(&self.document().await?);
        let target = Target {
            id: ResourceId::parse(path("real").split('?').next().unwrap_or_default())?,
            source: Source::Aro,
            endpoint: Endpoint::Direct { url: plane.url().parse()? },
            server_name: "127.0.0.1".to_owned(),
            ca_pem: plane.authority().pem().to_owned(),
            read: token.clone(),
            admin: token,
            as_groups: Vec::new(),
            ssh: None,
            fingerprint: 0,
        };
        let (emitters, _recorder) = Emitters::recording(Arc::clone(&clock));
        let check = Check::new(CheckParts {
            directory: Arc::new(OneTarget(Arc::new(target.fingerprinted()))),
            dialer: Dialer::new(DialerOptions {
                private: PrivateWay::Direct,
                networks: Networks::new(vec!["127.0.0.0/8".parse()?], Vec::new()),
                keepalive: GENEROUS,
            }),
            clock,
            budget: Budget::unlimited(),
            emitters,
            records: Some(Records::new(&self.store, self.keyring.clone())),
            beside: Vec::new(),
            subnets: None,
            options: CheckOptions { commit: "commit", mirror_every: 1, ..CheckOptions::default() },
        });
        let round = Round { hourly: false, nsg_due: false, number: 1 };
        check.observe(Arc::new(view), round, CancellationToken::new()).await;
        Ok(())
    }

    /// How many requests the cluster has had from programs of ours.
    fn asked(&self) -> Result<usize> {
        let ours = |entry: &&Value| entry["userAgent"].as_str().is_some_and(|agent| agent.starts_with("aro"));
        Ok(self.openshift.plane.audit_log()?.iter().filter(ours).count())
    }
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn router_service() -> Value {
    json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "router-default", "namespace": "openshift-ingress", "labels": {"app": "router",
            "ingresscontroller.operator.openshift.io/owning-ingresscontroller": "default"}},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 443}], "selector": {"x": "y"}},
        "status": {"loadBalancer": {"ingress": [{"ip": "10.0.1.254"}]}}})
}

/// What a cluster has beside what the kit gives it.
fn inside() -> Vec<Value> {
    let mut service = router_service();
    service["status"] = json!({});
    vec![
        json!({"apiVersion": "operator.openshift.io/v1", "kind": "IngressController",
            "metadata": {"name": "default", "namespace": "openshift-ingress-operator"},
            "spec": {"clientTLS": {"clientCA": {"name": ""}, "clientCertificatePolicy": ""},
                "endpointPublishingStrategy": {"type": "LoadBalancerService",
                    "loadBalancer": {"scope": "Internal", "dnsManagementPolicy": "Managed"}}}}),
        service,
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "azure-credentials", "namespace": "kube-system"},
            "data": {"azure_client_id": STANDARD.encode(CLIENT), "azure_client_secret": STANDARD.encode("hunter2")}}),
    ]
}

/// What only the cluster knew.
fn check_shown(told: &Value) -> Result<()> {
    let properties = &told["properties"];
    ensure!(properties["clusterProfile"]["version"] == "4.18.3", "{told}");
    let ingress = &properties["ingressProfiles"];
    ensure!(ingress == &json!([{"name": "default", "visibility": "Private", "ip": "10.0.1.254"}]), "{told}");
    let workers = &properties["workerProfilesStatus"][0];
    ensure!((&workers["name"], &workers["count"]) == (&json!("workers"), &json!(1)), "{told}");
    ensure!(workers["vmSize"] == "Standard_D8s_v5" && workers["diskSizeGB"] == 128, "{told}");
    ensure!(properties["servicePrincipalProfile"] == json!({"clientId": CLIENT}), "{told}");
    ensure!(!told.to_string().contains("hunter2"), "a secret is shown");
    Ok(())
}

/// The body of a PUT that repeats what a GET showed, without what must not be sent.
fn repeated() -> Value {
    let mut body = wanted(1);
    let properties = &mut body["properties"];
    properties["clusterProfile"]["version"] = json!("4.18.3");
    properties["clusterProfile"]["resourceGroupId"] =
        json!(format!("/subscriptions/{SUB}/resourcegroups/managed-1"));
    properties["clusterProfile"].as_object_mut().map(|profile| profile.remove("pullSecret"));
    properties["ingressProfiles"] = json!([{"name": "default", "visibility": "Private"}]);
    properties["servicePrincipalProfile"] = json!({"clientId": CLIENT});
    properties["networkProfile"]["outboundType"] = json!("Loadbalancer");
    properties["networkProfile"]["preconfiguredNSG"] = json!("Disabled");
    properties["networkProfile"]["loadBalancerProfile"] = json!({"managedOutboundIps": {"count": 1}});
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_real_cluster_showed_the_monitor_is_read_without_asking_it() -> Result<()> {
    let world = World::start().await?;
    let subscription = json!({"state": "Registered", "properties": {"tenantId": SUB}});
    let at = format!("/subscriptions/{SUB}?api-version=2.0");
    let (status, told) = world.call(Method::PUT, &at, Some(&subscription)).await?;
    ensure!(status == 201, "{status} {told}");
    let (status, told) = world.call(Method::PUT, &path("real"), Some(&wanted(1))).await?;
    ensure!(status == 201, "{status} {told}");
    world.finish().await?;
    let before = world.get().await?;
    ensure!(before["properties"]["clusterProfile"]["version"] == "4.17.27", "{before}");
    ensure!(before["properties"].get("workerProfilesStatus").is_none(), "{before}");

    world.look().await?;
    let asked = world.asked()?;
    ensure!(asked > 0, "the monitor asked nothing");
    check_shown(&world.get().await?)?;
    // From here on the cluster cannot be read: calls would hang first, and later nothing listens.
    world.openshift.plane.hang_api(true)?;
    check_shown(&world.get().await?)?;
    world.openshift.plane.stop_api()?;
    check_shown(&world.get().await?)?;
    let list = path("real").replace("/real?", "?");
    let (status, told) = world.call(Method::GET, &list, None).await?;
    ensure!(status == 200, "{status} {told}");
    check_shown(&told["value"][0])?;
    let (_, told) = world.call(Method::GET, &path("real").replace(VERSION, "2023-11-22"), None).await?;
    ensure!(told["properties"]["workerProfilesStatus"][0]["name"] == "workers", "{told}");
    writes(&world).await?;
    ensure!(world.asked()? == asked, "the cluster was asked for a request");
    Ok(())
}

/// Changes are compared with what the cluster showed, and store nothing of it but what they say.
async fn writes(world: &World) -> Result<()> {
    let mut public = repeated();
    public["properties"]["ingressProfiles"][0]["visibility"] = json!("Public");
    let (status, told) = world.call(Method::PUT, &path("real"), Some(&public)).await?;
    let target = "properties.ingressProfiles['default'].visibility";
    ensure!(status == 400 && told["error"]["target"] == target, "{status} {told}");

    let tags = json!({"tags": {"by": "patch"}});
    let (status, told) = world.call(Method::PATCH, &path("real"), Some(&tags)).await?;
    ensure!(status == 200 && told["properties"].get("workerProfilesStatus").is_none(), "{status} {told}");
    ensure!(told["properties"]["ingressProfiles"][0]["ip"] == "10.0.1.254", "{told}");
    world.finish().await?;
    let stored = serde_json::to_value(world.document().await?)?;
    let properties = &stored["openShiftCluster"]["properties"];
    ensure!(properties["clusterProfile"]["version"] == "4.17.27", "{stored}");
    ensure!(properties["ingressProfiles"][0]["visibility"] == "Public", "{stored}");
    ensure!(properties["servicePrincipalProfile"]["clientId"] != CLIENT, "{stored}");

    // Who sends back the principal that was shown means that one: its secret comes from the cluster.
    let (status, told) = world.call(Method::PUT, &path("real"), Some(&repeated())).await?;
    ensure!(status == 200, "{status} {told}");
    let stored = serde_json::to_value(world.document().await?)?;
    let principal = &stored["openShiftCluster"]["properties"]["servicePrincipalProfile"];
    ensure!(principal["clientId"] == CLIENT, "{stored}");
    let sealed = principal["clientSecret"].as_str().context("a secret")?;
    let place = format!("OpenShiftClusters/{}/clientSecret", stored["id"].as_str().unwrap_or_default());
    let opened = world.keyring.open(&Sealed(sealed.to_owned()), &place)?;
    ensure!(opened.expose() == b"hunter2", "another secret");
    Ok(())
}
