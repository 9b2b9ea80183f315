//! What is put under load: two replicas of portal, resource provider and monitor behind a balancer, over one PostgreSQL
//! that syncs before it answers, with a real Kubernetes, machines, an OpenID provider and the stand-in for Azure.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tests_kit::{
    Authority, ControlPlane, Folder, GENEROUS, Haproxy, Postgres, Provider, Session, free_port, sign_in,
    until,
};
use tests_stand_ins::{Azure, SshMachine};

use crate::part::{Part, Role};
use crate::relay::Relay;
use crate::settings;
use crate::tunnel_target::TunnelTarget;

/// Who signs in: SRE who may elevate, auditor and administrator.
const ALICE: &str = "alice@example.test";
const SECRET: &str = "a client secret of at least thirty-two characters";
/// Name of the imported cluster, which is also the id of its documents.
pub(crate) const CLUSTER: &str = "real";
/// The name of its machine.
pub(crate) const MACHINE: &str = "node-0";
/// Pairs of subnets for clusters that are made and removed: so many at once.
pub(crate) const SLOTS: usize = 2;
/// Where tunnels lead.
pub(crate) const DESTINATION: &str = "talk.harbor.test:9";
const REPLICAS: usize = 2;

/// Everything; it ends with its value.
pub(crate) struct Site {
    pub(crate) folder: Folder,
    pub(crate) authority: Authority,
    /// The portal behind the balancer.
    pub(crate) url: String,
    /// The API proxy behind the balancer.
    pub(crate) proxy_url: String,
    pub(crate) postgres: Postgres,
    /// The URL of the database, past the relays.
    pub(crate) database: String,
    /// Portals first, then resource providers, then monitors.
    pub(crate) parts: Vec<Part>,
    /// Between each replica and the store.
    pub(crate) to_store: Vec<Relay>,
    /// Between both replicas and the cluster.
    pub(crate) to_cluster: Relay,
    pub(crate) azure: Azure,
    /// Who signed the certificate that ARM calls with.
    pub(crate) arm: Authority,
    pub(crate) admin: Authority,
    haproxy: Haproxy,
    plane: ControlPlane,
    machine: SshMachine,
    tunnel_target: TunnelTarget,
    _provider: Provider,
}

impl Site {
    /// Starts all of it, and waits until it is ready.
    ///
    /// # Errors
    /// A part is missing or does not come up; with the end of its log.
    pub(crate) async fn start() -> Result<Self> {
        let (folder, authority) = (Folder::new("endurance")?, Authority::new("endurance")?);
        let (arm, admin) = (Authority::new("arm callers")?, Authority::new("admin callers")?);
        write_certificates(&folder, &authority, &arm, &admin)?;
        folder.write("client-secret", SECRET)?;
        let postgres = Postgres::start_durable().await?;
        let database = postgres.database().await?;
        let mut to_store = Vec::new();
        for replica in 0..REPLICAS {
            let relay = Relay::start(postgres.port()).await?;
            let through =
                database.replace(&format!(":{}/", postgres.port()), &format!(":{}/", relay.address.port()));
            folder.write(&format!("database-{replica}"), through)?;
            to_store.push(relay);
        }
        let plane = ControlPlane::start().await?;
        let cluster_port = plane.url().rsplit_once(':').context("a port")?.1.parse::<u16>()?;
        let to_cluster = Relay::start(cluster_port).await?;
        let azure = Azure::start(&folder, SLOTS).await?;
        let balancer = free_port()?;
        let url = format!("https://localhost:{balancer}");
        let provider = Provider::start(&folder, &sign_in_provider(&url, free_port()?)).await?;
        let parts = start_parts(&folder, balancer, &provider.issuer, &azure).await?;
        let ca = folder.path().join("ca.pem").display().to_string();
        let portals: Vec<u16> =
            parts.iter().filter(|part| part.role == Role::Portal).map(|part| part.ports.web).collect();
        let haproxy = Haproxy::start(&folder, balancer, &ca, &portals).await?;
        let site = Self {
            folder,
            authority,
            url,
            proxy_url: format!("https://127.0.0.1:{balancer}"),
            postgres,
            database,
            parts,
            to_store,
            to_cluster,
            azure,
            arm,
            admin,
            haproxy,
            plane,
            machine: SshMachine::start().await?,
            tunnel_target: TunnelTarget::start().await?,
            _provider: provider,
        };
        site.ready().await?;
        Ok(site)
    }

    /// Waits until every process is ready and the balancer passes requests on.
    ///
    /// # Errors
    /// One ended, or is not ready in time.
    pub(crate) async fn ready(&self) -> Result<()> {
        for part in &self.parts {
            part.ready().await?;
        }
        // With a connection for each replica in turn.
        for _ in 0..2 * REPLICAS {
            until("the balancer finds a replica", GENEROUS, || async {
                self.haproxy.lives()?;
                Session::open(self.authority.pem(), &self.url, None)?.get("/healthz/ready").await?.ok()
            })
            .await?;
        }
        Ok(())
    }

    /// The processes with a role.
    pub(crate) fn with_role(&self, role: Role) -> Vec<&Part> {
        self.parts.iter().filter(|part| part.role == role).collect()
    }

    /// Alice signs in through the balancer.
    ///
    /// # Errors
    /// A step is refused.
    pub(crate) async fn sign_in(&self) -> Result<Session> {
        sign_in(self.authority.pem(), &self.url, ALICE, &password()).await
    }

    /// Puts the real cluster under the portals, through its relay; gives its resource id when every replica knows it.
    ///
    /// # Errors
    /// It was refused, or is unknown for long.
    pub(crate) async fn import(&self, alice: &Session) -> Result<String> {
        let kubeconfig = std::fs::read_to_string(self.plane.service_kubeconfig()?)?;
        let through = format!("https://{}", self.to_cluster.address);
        let body = json!({
            "name": CLUSTER,
            "kubeconfig": kubeconfig.replace(&self.plane.url(), &through),
            "as_groups": ["system:masters"],
            "ssh": self.machine.import(MACHINE),
            "tunnel": { "destinations": [format!("{DESTINATION}={}", self.tunnel_target.address)] },
        });
        self.import_body(alice, &body).await
    }

    /// Puts any cluster under the portals.
    ///
    /// # Errors
    /// As [`Site::import`].
    pub(crate) async fn import_body(&self, alice: &Session, body: &Value) -> Result<String> {
        let imported = alice.post("/api/v1/imports", body).await?.ok()?.json()?;
        let resource = imported["resourceId"].as_str().with_context(|| imported.to_string())?.to_owned();
        for portal in self.with_role(Role::Portal) {
            let here = alice.at(&format!("https://localhost:{}", portal.ports.web));
            until("the imported cluster is known", GENEROUS, || async { here.get(&resource).await?.ok() })
                .await?;
        }
        Ok(resource)
    }

    /// The ends of the logs of all processes.
    pub(crate) fn tails(&self) -> String {
        self.parts.iter().map(Part::tail).collect()
    }
}

fn write_certificates(folder: &Folder, server: &Authority, arm: &Authority, admin: &Authority) -> Result<()> {
    folder.write("ca.pem", server.pem())?;
    folder.write("arm-ca.pem", arm.pem())?;
    folder.write("admin-ca.pem", admin.pem())?;
    let pair = server.server(&["localhost", "127.0.0.1"])?;
    folder.write("server.key", &pair.key)?;
    folder.write("server.crt", &pair.certificate)?;
    Ok(())
}

/// Starts the processes one after the other: the first makes the keyring, of which each has a copy.
async fn start_parts(folder: &Folder, balancer: u16, issuer: &str, azure: &Azure) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for role in [Role::Portal, Role::Provider, Role::Monitor] {
        for replica in 0..REPLICAS {
            let part = Part::new(folder, role, replica)?;
            let own = match role {
                Role::Portal => {
                    settings::portal(&part.name, balancer, part.ports.web, part.ports.ssh, issuer)
                }
                Role::Provider => settings::provider(part.ports.web, &azure.settings()),
                Role::Monitor => settings::monitor(),
            };
            part.configure(&format!("{}{own}", settings::common(&part.name, replica, part.ports.admin)))?;
            if let Some(first) = parts.first() {
                let made = std::fs::read(folder.path().join(format!("{}.keyring.json", first.name)))?;
                folder.write(&format!("{}.keyring.json", part.name), made)?;
            }
            part.start()?;
            part.ready().await?;
            parts.push(part);
        }
    }
    Ok(parts)
}

fn password() -> String {
    format!("password of {ALICE}")
}

/// The configuration of the OpenID provider, with the portal as its client and Alice as its account.
fn sign_in_provider(portal: &str, port: u16) -> Value {
    let groups = ["team-sre", "team-admin", "team-auditor"];
    json!({
        "port": port,
        "tls": { "cert": "server.crt", "key": "server.key" },
        "ca": "ca.pem",
        "listed": ["team-sre"],
        "clients": [{
            "client_id": "aro",
            "client_secret": SECRET,
            "token_endpoint_auth_method": "client_secret_basic",
            "redirect_uris": [format!("{portal}/callback")],
            "post_logout_redirect_uris": [portal, format!("{portal}/")],
            "backchannel_logout_uri": format!("{portal}/backchannel-logout"),
            "backchannel_logout_session_required": true,
            "require_auth_time": true,
        }],
        "accounts": [{ "login": ALICE, "password": password(), "name": ALICE, "groups": groups,
            "claims": { "oid": ALICE, "email": ALICE } }],
    })
}
