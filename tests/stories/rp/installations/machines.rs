//! The machines of a cluster, of which the stand-in for Azure keeps a record only. The bootstrap machine fetches its Ignition
//! config at the address that it was given, checks it, and starts a real API server with the keys in it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use rp_node_config::ignition::Config;
use rp_simulator_azure::ArmControl;
use serde_json::{Value, json};
use tests_kit::{Folder, GENEROUS, Kubectl, OpenShift, Pair, until};
use tests_stand_ins::azure::{OWN_SUBSCRIPTION, managed_group};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// Between two looks for a new machine.
const LOOK: Duration = Duration::from_millis(200);
/// Of the API server at the private endpoint.
const PORT: u16 = 6443;
/// Of the operator that the service deploys.
const OPERATOR: &str = "openshift-azure-operator";

/// A network on this machine for the private endpoints of one service; tests that run at once have different ones.
pub(super) fn endpoints() -> String {
    static NEXT: AtomicU8 = AtomicU8::new(0);
    let [process, ..] = std::process::id().to_le_bytes();
    format!("127.{}.{}.0/24", 64 + process / 2, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The machines of one cluster, and the Kubernetes that runs on them.
#[derive(Debug)]
pub(super) struct Machines {
    number: u64,
    azure: ArmControl,
    openshift: OpenShift,
    boots: Mutex<BootRecord>,
    /// Whether the operator's pods may run.
    pub(super) operator_runs: watch::Sender<bool>,
}

/// What bootstrap machines did.
#[derive(Debug, Default)]
struct BootRecord {
    /// Custom data of those that started.
    started: Vec<String>,
    /// The private endpoint, and who leads from it to the API server.
    endpoint: Option<(Ipv4Addr, AbortOnDropHandle<()>)>,
    /// Authority of the API server's certificates, base64.
    authority: Value,
}

impl Machines {
    /// Of the cluster with that number: a Kubernetes that is stopped until the bootstrap machine starts it.
    pub(super) async fn new(number: u64, azure: ArmControl) -> Result<Arc<Self>> {
        let openshift = OpenShift::start().await?;
        openshift.take_installation().await?;
        let version = json!({"status": {"desired": {"version": super::VERSION}}}).to_string();
        let patch = ["patch", "clusterversion", "version", "--type=merge", "--subresource=status", "-p"];
        openshift.admin().ok(&[&patch[..], &[&version]].concat()).await?;
        openshift.plane.stop_api()?;
        let (operator_runs, _) = watch::channel(false);
        Ok(Arc::new(Self { number, azure, openshift, boots: Mutex::default(), operator_runs }))
    }

    /// Starts every new bootstrap machine, until this is dropped or one does not start; gives why it did not.
    pub(super) async fn run(self: Arc<Self>) -> anyhow::Error {
        // The stand-in for Azure tells nobody of a new machine.
        let mut look = tokio::time::interval(LOOK);
        loop {
            look.tick().await;
            let Some(data) = self.bootstrap() else { continue };
            if self.boots.lock().started.contains(&data) {
                continue;
            }
            if let Err(error) = self.start(&data).await {
                return error.context("the bootstrap machine");
            }
            self.boots.lock().started.push(data);
        }
    }

    /// Ids of resources of the cluster's group, of that type and with that end.
    fn ids(&self, kind: &str, end: &str) -> Vec<String> {
        let ids = self.azure.ids(&managed_group(self.number));
        ids.into_iter().filter(|id| id.contains(&format!("/{kind}/")) && id.ends_with(end)).collect()
    }

    /// What the bootstrap machine was given, base64; `None`: there is no such machine.
    pub(super) fn bootstrap(&self) -> Option<String> {
        self.azure.custom_data(self.ids("virtualMachines", "-bootstrap").first()?)
    }

    /// How many bootstrap machines started.
    pub(super) fn boots(&self) -> usize {
        self.boots.lock().started.len()
    }

    async fn start(&self, data: &str) -> Result<()> {
        let config = fetched(&STANDARD.decode(data)?).await?;
        let file = |path: &str| text(&config, path);
        let kubeconfig = file("/opt/openshift/auth/kubeconfig")?;
        let server = |host: String, name: &str| -> Result<(String, Pair)> {
            let part = |end: &str| file(&format!("/opt/openshift/tls/{name}.{end}"));
            Ok((host, Pair { certificate: part("crt")?, key: part("key")? }))
        };
        let domain = format!("abc{}.eastus.aroapp.io", self.number);
        let servers = [
            server(format!("api-int.{domain}"), "kube-apiserver-internal-lb-server")?,
            server(format!("api.{domain}"), "kube-apiserver-lb-server")?,
        ];
        let clients = file("/opt/openshift/tls/admin-kubeconfig-ca-bundle.crt")?;
        self.openshift.plane.start_installed_api(&clients, &servers).await?;
        // That of an earlier cluster.
        let forget = ["delete", "configmap", "bootstrap", "-n", "kube-system", "--ignore-not-found"];
        self.openshift.admin().ok(&forget).await?;
        self.open_endpoint(&serde_json::from_str(&kubeconfig)?).await?;
        let folder = Folder::new("bootstrap")?;
        let kubectl = self.kubectl(&folder, &kubeconfig)?;
        until("the API server takes the manifests", GENEROUS, || applied(&kubectl, &config)).await?;
        let map = ["create", "configmap", "bootstrap", "-n", "kube-system", "--from-literal=status=complete"];
        kubectl.ok(&map).await?;
        self.roll_out_operator(kubectl).await
    }

    /// The private endpoint of the service leads to the API server from now on.
    async fn open_endpoint(&self, kubeconfig: &Value) -> Result<()> {
        let ip = self.private_ip()?;
        self.boots.lock().endpoint = None;
        let listen = || async { TcpListener::bind((ip, PORT)).await.with_context(|| ip.to_string()) };
        let listener = until("the endpoint of an earlier cluster is closed", GENEROUS, listen).await?;
        let server = self.openshift.plane.port();
        let relay = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await {
                        let _ = copy_bidirectional(&mut client, &mut server).await;
                    }
                });
            }
        });
        let mut record = self.boots.lock();
        record.endpoint = Some((ip, AbortOnDropHandle::new(relay)));
        record.authority = kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"].clone();
        Ok(())
    }

    /// Once the service has deployed the operator, and it may: its pods run.
    async fn roll_out_operator(&self, kubectl: Kubectl) -> Result<()> {
        for name in ["aro-operator-master", "aro-operator-worker"] {
            let deployment = format!("deployment/{name}");
            let wait = ["wait", "--for=create", &deployment, "-n", OPERATOR, "--timeout=100s"];
            kubectl.ok(&wait).await?;
        }
        self.operator_runs.subscribe().wait_for(|runs| *runs).await?;
        for name in ["aro-operator-master", "aro-operator-worker"] {
            self.openshift.roll_out(OPERATOR, name).await?;
        }
        Ok(())
    }

    /// The service's endpoint to the cluster: its id in our subscription.
    fn endpoint_id(&self) -> Result<String> {
        let ids = self.azure.ids(&format!("/subscriptions/{OWN_SUBSCRIPTION}"));
        ids.into_iter().find(|id| id.contains("/privateEndpoints/rp-pe-")).context("no endpoint")
    }

    fn private_ip(&self) -> Result<Ipv4Addr> {
        let endpoint = self.azure.get(&self.endpoint_id()?).context("no endpoint")?;
        let card = endpoint["properties"]["networkInterfaces"][0]["id"].as_str().context("no card")?;
        let card = self.azure.get(card).context("no card")?;
        let ip = &card["properties"]["ipConfigurations"][0]["properties"]["privateIPAddress"];
        ip.as_str().with_context(|| format!("no address: {card}"))?.parse().context("the address")
    }

    /// The id of the cluster's document, after which the service's endpoint is named.
    pub(super) fn document(&self) -> Result<String> {
        let id = self.endpoint_id()?;
        Ok(id.rsplit_once("rp-pe-").context("no id")?.1.to_owned())
    }

    /// Every master is sent to the internal load balancer by its address (`contract/installer.md` §7 step 8).
    pub(super) fn masters_are_pointed_at_the_balancer(&self) -> Result<()> {
        let balancers = self.ids("loadBalancers", "-internal");
        let balancer = self.azure.get(balancers.first().context("no balancer")?).context("no balancer")?;
        let ip = &balancer["properties"]["frontendIPConfigurations"][0]["properties"]["privateIPAddress"];
        let wanted = format!("https://{}:22623/config/master", ip.as_str().context("no address")?);
        for master in 0..3 {
            let machine = self.ids("virtualMachines", &format!("-master-{master}"));
            let data = machine.first().and_then(|id| self.azure.custom_data(id)).context("no master")?;
            let config: Value = serde_json::from_slice(&STANDARD.decode(data)?)?;
            ensure!(config["ignition"]["config"]["merge"][0]["source"] == *wanted, "{master}: {config}");
        }
        Ok(())
    }

    /// Name of the account of the cluster's state.
    pub(super) fn state_account(&self) -> Option<String> {
        let ids = self.ids("storageAccounts", "");
        let mut names = ids.iter().filter_map(|id| id.split("/storageAccounts/").nth(1));
        names.find(|name| name.starts_with("cluster") && !name.contains('/')).map(str::to_owned)
    }

    /// kubectl with a kubeconfig of this cluster: its name leads to the private endpoint, and one without an authority trusts
    /// the installer's, in the place of those that the world knows.
    pub(super) fn kubectl(&self, folder: &Folder, kubeconfig: &str) -> Result<Kubectl> {
        let (ip, authority) = {
            let record = self.boots.lock();
            (record.endpoint.as_ref().context("no machine started")?.0, record.authority.clone())
        };
        let mut file: Value = serde_json::from_str(kubeconfig)?;
        let user = file["current-context"].as_str().context("no context")?.replace(':', "-");
        let cluster = &mut file["clusters"][0]["cluster"];
        let server: reqwest::Url = cluster["server"].as_str().context("no server")?.parse()?;
        cluster["tls-server-name"] = json!(server.host_str().context("no host")?);
        cluster["server"] = json!(format!("https://{ip}:{PORT}"));
        if cluster["certificate-authority-data"].is_null() {
            cluster["certificate-authority-data"] = authority;
        }
        Kubectl::new(folder, &folder.write(&format!("{user}.kubeconfig"), file.to_string())?)
    }
}

/// The config that the bootstrap machine is sent to; its address opens that blob and no other.
async fn fetched(pointer: &[u8]) -> Result<Config> {
    let pointer: Value = serde_json::from_slice(pointer)?;
    let source = &pointer["ignition"]["config"]["replace"]["source"];
    let source: reqwest::Url = source.as_str().context("no address of a config")?.parse()?;
    let mut other = source.clone();
    other.set_path(&source.path().replace("/ignition/bootstrap.ign", "/aro/graph"));
    ensure!(other != source, "the config is at {}", source.path());
    let answer = reqwest::get(other).await?;
    ensure!(answer.status() == 403, "the graph can be read by the bootstrap machine: {}", answer.status());
    let answer = reqwest::get(source).await?;
    ensure!(answer.status() == 200, "the config is not there: {}", answer.status());
    Ok(Config::parse(&answer.bytes().await?)?)
}

fn text(config: &Config, path: &str) -> Result<String> {
    let file = config.file(path).with_context(|| format!("no {path}"))?;
    Ok(String::from_utf8(file.contents()?)?)
}

/// The API server takes every manifest of the bootstrap machine, as its own program applies them.
async fn applied(kubectl: &Kubectl, config: &Config) -> Result<()> {
    let mut all = String::new();
    for file in &config.storage.files {
        let manifest = ["/opt/openshift/manifests/", "/opt/openshift/openshift/"];
        if manifest.iter().any(|folder| file.path.starts_with(folder)) {
            all.push_str(&format!("---\n{}\n", String::from_utf8(file.contents()?)?));
        }
    }
    ensure!(all.contains("router-default"), "without our manifests");
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    kubectl.with_input(all.as_bytes(), &apply).await?.ok().map(drop)
}
