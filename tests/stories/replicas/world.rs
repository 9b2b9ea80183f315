//! Two replicas, a balancer, a database, a provider and a real cluster.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{
    Authority, ControlPlane, Folder, GENEROUS, Haproxy, PortalSettings, Postgres, Process, Provider, Session,
    binary, earlier_binary, free_port, kubeconfig_server, kubeconfig_token, process_settings, sign_in, until,
};

use crate::clocks::WallClock;
use crate::serve::served::{SECRET, password, provider_config, secret_client, write_server};

/// Who signs in: SRE who may elevate, auditor and admin.
const ALICE: &str = "alice@example.test";

/// One replica of `aro portal`.
pub(super) struct Replica {
    pub(super) process: Process,
    /// The portal here, past the balancer.
    pub(super) url: String,
    /// The API proxy here, past the balancer.
    pub(super) proxy_url: String,
    /// Shells here.
    pub(super) ssh: u16,
    pub(super) name: String,
}

/// Everything, started for one test.
pub(super) struct Replicas {
    pub(super) folder: Folder,
    pub(super) authority: Authority,
    pub(super) url: String,
    pub(super) proxy_url: String,
    pub(super) postgres: Postgres,
    pub(super) replicas: Vec<Replica>,
    pub(super) haproxy: Haproxy,
    _provider: Provider,
}

impl Replicas {
    /// Two replicas, ready, behind the balancer. `more` is added to their settings.
    pub(super) async fn start(more: &str) -> Result<Self> {
        Self::start_with("refuse", more).await
    }

    /// The same with what holds while the store is away (`store.outage`).
    pub(super) async fn start_with(outage: &str, more: &str) -> Result<Self> {
        Self::start_each(outage, more, [None, None]).await
    }

    /// Two replicas whose wall clocks are so far from the right time.
    pub(super) async fn start_skewed(offsets: [&str; 2]) -> Result<Self> {
        Self::start_each("refuse", "", offsets.map(Some)).await
    }

    async fn start_each(outage: &str, more: &str, offsets: [Option<&str>; 2]) -> Result<Self> {
        let (folder, authority) = (Folder::new("replicas")?, Authority::new("replicas")?);
        folder.write("ca.pem", authority.pem())?;
        write_server(&folder, &authority)?;
        folder.write("client-secret", SECRET)?;
        let postgres = Postgres::start().await?;
        folder.write("database", postgres.database().await?)?;
        let (port, provider_port) = (free_port()?, free_port()?);
        let url = format!("https://localhost:{port}");
        let provider = provider_config(&url, provider_port, &secret_client());
        let provider = Provider::start(&folder, &provider).await?;
        let mut replicas = Vec::new();
        for (n, offset) in offsets.into_iter().enumerate() {
            let own = free_port()?;
            let (name, admin, ssh) = (format!("replica-{n}"), free_port()?, free_port()?);
            folder.write(
                &format!("{name}.toml"),
                settings(&name, [port, own, admin, ssh], &provider.issuer, outage, more),
            )?;
            if n > 0 {
                // The first made the keyring; each replica has a file of its own, as on machines of their own.
                let made = std::fs::read_to_string(folder.path().join("replica-0.keyring.json"))?;
                write_private(&folder, &format!("{name}.keyring.json"), &made)?;
            }
            let process = serve(&folder, &name, offset)?;
            let (here, proxy) = (format!("https://localhost:{own}"), format!("https://127.0.0.1:{own}"));
            let replica = Replica { process, url: here, proxy_url: proxy, ssh, name };
            // One after the other: the others start with the keyring of the first.
            replica.ready(&authority).await?;
            replicas.push(replica);
        }
        let ports: Vec<u16> = replicas.iter().filter_map(Replica::port).collect();
        let haproxy =
            Haproxy::start(&folder, port, &folder.path().join("ca.pem").display().to_string(), &ports)
                .await?;
        let proxy_url = format!("https://127.0.0.1:{port}");
        let world =
            Self { folder, authority, url, proxy_url, postgres, replicas, haproxy, _provider: provider };
        world.balanced().await?;
        Ok(world)
    }

    /// Waits until the balancer passes requests on.
    pub(super) async fn balanced(&self) -> Result<()> {
        until("the balancer finds a replica", GENEROUS, || async {
            self.haproxy.lives()?;
            self.stranger()?.get("/healthz/ready").await?.ok()
        })
        .await
        .map(drop)
    }

    /// A client without a session.
    pub(super) fn stranger(&self) -> Result<Session> {
        Session::open(self.authority.pem(), &self.url, None)
    }

    /// Alice signs in through the balancer.
    pub(super) async fn alice(&self) -> Result<Session> {
        let signed = sign_in(self.authority.pem(), &self.url, ALICE, &password(ALICE)).await;
        signed.with_context(|| self.tails())
    }

    /// A real cluster under the portal; gives its resource id once every replica knows it.
    pub(super) async fn cluster(&self, alice: &Session) -> Result<String> {
        self.cluster_with(alice, &json!({})).await
    }

    /// The same with more in its import, such as machines.
    pub(super) async fn cluster_with(&self, alice: &Session, more: &Value) -> Result<String> {
        let plane = ControlPlane::shared().await?;
        let kubeconfig = std::fs::read_to_string(plane.service_kubeconfig()?)?;
        let mut body = json!({ "name": "real", "kubeconfig": kubeconfig, "as_groups": ["system:masters"] });
        if let (Some(all), Some(more)) = (body.as_object_mut(), more.as_object()) {
            all.extend(more.clone());
        }
        let imported = alice.post("/api/v1/imports", &body).await?.ok()?.json()?;
        let resource = imported["resourceId"].as_str().or(imported["resource_id"].as_str());
        let resource = resource.with_context(|| imported.to_string())?.to_owned();
        for replica in &self.replicas {
            until("the imported cluster is known", GENEROUS, || async {
                alice.at(&replica.url).get(&resource).await?.ok()
            })
            .await?;
        }
        Ok(resource)
    }

    /// Audit entries with a text, from the end of a bounded wait for them to be there.
    pub(super) async fn audited(&self, alice: &Session, text: &str) -> Result<Vec<Value>> {
        until("the entry is found", GENEROUS, || async {
            let entries = alice.audit(text).await?;
            ensure!(!entries.is_empty(), "no entry with {text}");
            Ok(entries)
        })
        .await
    }

    /// The ends of the replicas' logs.
    pub(super) fn tails(&self) -> String {
        self.replicas.iter().map(|replica| replica.process.tail()).collect()
    }
}

impl Replica {
    /// Waits until it is ready, past the balancer.
    pub(super) async fn ready(&self, authority: &Authority) -> Result<()> {
        let here = Session::open(authority.pem(), &self.url, None)?;
        self.process.ready(GENEROUS, || async { here.get("/healthz/ready").await?.ok() }).await?;
        Ok(())
    }

    /// Starts it again after its end.
    pub(super) async fn again(&mut self, world: &Folder, authority: &Authority) -> Result<()> {
        self.process = serve(world, &self.name, None)?;
        self.ready(authority).await
    }

    fn port(&self) -> Option<u16> {
        self.url.rsplit_once(':')?.1.parse().ok()
    }
}

/// What a kubeconfig opens on each replica, past the balancer.
pub(super) struct Opened {
    path: String,
    token: String,
}

impl Opened {
    pub(super) fn new(world: &Replicas, kubeconfig: &str) -> Result<Self> {
        let server = kubeconfig_server(kubeconfig)?;
        let path = server.strip_prefix(&world.proxy_url).context("the balancer's address")?.to_owned();
        Ok(Self { path, token: kubeconfig_token(kubeconfig)? })
    }

    /// How each replica answers a list of pods.
    pub(super) async fn statuses(&self, world: &Replicas) -> Result<Vec<u16>> {
        self.asked(world, Method::GET, "pods").await
    }

    /// How each replica answers a deletion of what is not there: 404 with write rights, 403 without.
    pub(super) async fn deletions(&self, world: &Replicas) -> Result<Vec<u16>> {
        self.asked(world, Method::DELETE, "namespaces/default/configmaps/not-there").await
    }

    async fn asked(&self, world: &Replicas, method: Method, place: &str) -> Result<Vec<u16>> {
        let mut statuses = Vec::new();
        for replica in &world.replicas {
            let here = Session::open(world.authority.pem(), &replica.proxy_url, None)?;
            let path = format!("{}/api/v1/{place}", self.path);
            let here = here.with_bearer(&self.token);
            statuses.push(here.send(method.clone(), &path, &[], None).await?.status);
        }
        Ok(statuses)
    }
}

/// Puts a file that only its owner may read in place with a rename, as the documentation asks for keyrings.
pub(super) fn write_private(folder: &Folder, name: &str, text: &str) -> Result<()> {
    let path = folder.path().join(name);
    let new = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    Ok(std::fs::rename(new, path)?)
}

fn serve(folder: &Folder, name: &str, offset: Option<&str>) -> Result<Process> {
    // In the soak one of two is of the version before.
    let program = if name.ends_with("-1") { earlier_binary("aro")? } else { binary("aro")? };
    let mut command = Command::new(program);
    command.args(["portal", "--config", &format!("{name}.toml")]).current_dir(folder.path());
    if let Some(offset) = offset {
        let (clock, env) = WallClock::new(folder, &format!("{name}.clock"))?;
        clock.set(offset)?;
        command.envs(env);
    }
    Process::start(folder, name, &mut command)
}

fn settings(name: &str, ports: [u16; 4], issuer: &str, outage: &str, more: &str) -> String {
    let [balancer, web, admin, ssh] = ports;
    let process = process_settings(name, "database", &format!("outage = \"{outage}\"\n"), admin);
    let portal = PortalSettings { name, balancer, web, ssh, issuer, ssh_lines: "" }.toml();
    format!("{process}{portal}{more}\n")
}
