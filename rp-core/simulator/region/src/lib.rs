//! A region of simulated clusters behind one CONNECT proxy (`contract/portal.md` §12.4).
//!
//! `CONNECT 10.x.y.z:6443` selects a cluster by its private address; inside the tunnel answers its API server,
//! TLS with client certificates. What a cluster is and contains: `rp-simulator`. Every answer has the header
//! `X-Aro-Simulated`. Nothing here decides about access outside the simulation.

mod api;
mod connect;
mod files;
mod identity;
mod ingress;
mod installs;
mod prometheus;
mod ssh;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rp_base::{Secret, SharedClock};
use rp_documents::{ClusterDocument, ClusterHealth, InvalidResourceId};
use rp_net::listen::{Gauge, Limits, Listener, Stop};
use rp_net::tls::{ClientAuth, ServerTls, TlsError, certificates};
use rp_simulator::fleet::{Cluster, Faults, Fleet, MOST_CLUSTERS};
use rp_simulator::installed::CertificatePair;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use identity::{IdentityError, RegionIdentity, server_leaf};
pub use installs::Installs;

/// Options of a region.
#[derive(Debug)]
pub struct RegionOptions {
    /// A bound listener; TLS, with the client certificate of [`RegionIdentity::proxy_client`].
    pub listener: TcpListener,
    pub identity: RegionIdentity,
    /// How many clusters; at most [`MOST_CLUSTERS`].
    pub clusters: usize,
    /// The same seed gives the same clusters.
    pub seed: u64,
    /// Azure locations, the first is the most common. Empty: `westeurope` and two others.
    pub locations: Vec<String>,
    /// Faults that come and go; `None`: every cluster stays as it is.
    pub faults: Option<Faults>,
    pub clock: SharedClock,
    /// Between two changes of a watch and two lines of a followed log.
    pub tick: Duration,
    pub stop: Stop,
}

/// Why the region did not start.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    #[error("the region's certificates cannot be used")]
    Tls(#[from] TlsError),
    #[error("the region's certificates do not fit together")]
    Verifier(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("no certificate for the routers can be made")]
    Router(#[source] rcgen::Error),
    #[error("the listener has no address")]
    Listener(#[source] std::io::Error),
    #[error("at most {MOST_CLUSTERS} clusters")]
    TooMany,
}

/// Kubeconfigs of one cluster, not sealed.
#[derive(Debug)]
pub struct Kubeconfigs {
    /// For `aroSREKubeconfig`.
    pub sre: Secret<String>,
    /// For `aroServiceKubeconfig`.
    pub service: Secret<String>,
}

/// A running region.
#[derive(Debug)]
pub struct Region {
    fleet: Arc<Fleet>,
    installs: Installs,
    identity: RegionIdentity,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Region {
    /// Starts to serve.
    ///
    /// # Errors
    /// [`RegionError`].
    pub fn start(options: RegionOptions) -> Result<Self, RegionError> {
        if options.clusters > MOST_CLUSTERS {
            return Err(RegionError::TooMany);
        }
        let address = options.listener.local_addr().map_err(RegionError::Listener)?;
        let identity = options.identity;
        let fleet = Fleet::new(options.seed, options.clusters, options.locations, options.clock.now());
        let installs = Installs::new(Arc::clone(&options.clock));
        let fleet = Arc::new(fleet.with_faults(options.faults));
        let client = certificates(&identity.proxy_client.certificate, "the proxy's client certificate")?;
        let client = client
            .into_iter()
            .next()
            .ok_or_else(|| TlsError::NoCertificate { what: "the proxy's client certificate".to_owned() })?;
        let tls = ServerTls::load(identity.proxy_files(), &[b"http/1.1"], ClientAuth::Exactly(client))?;
        let handler = connect::Tunnels::new(connect::TunnelOptions {
            fleet: Arc::clone(&fleet),
            installs: installs.clone(),
            tls: connect::api_tls(&identity)?,
            routers: Arc::new(ingress::Routers::new()?),
            clock: options.clock,
            tick: options.tick.max(Duration::from_millis(10)),
            stop: options.stop.clone(),
        });
        let listener = Listener {
            tcp: options.listener,
            tls: Some(tls),
            handler: Arc::new(handler),
            limits: Limits::default(),
            gauge: Arc::new(Gauge::default()),
        };
        let task = tokio::spawn(listener.serve(options.stop));
        Ok(Self { fleet, installs, identity, address, task })
    }

    /// Where the CONNECT proxy listens; its certificate's name is `proxy`.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The clusters.
    pub const fn fleet(&self) -> &Arc<Fleet> {
        &self.fleet
    }

    /// Clusters that come and go while it runs.
    pub fn installs(&self) -> Installs {
        self.installs.clone()
    }

    /// Every cluster's document, without kubeconfigs, and what the last look saw (none while it is installed).
    ///
    /// # Errors
    /// A location has characters that a name may not have.
    pub fn documents(&self) -> Result<Vec<(ClusterDocument, Option<ClusterHealth>)>, InvalidResourceId> {
        self.fleet.clusters().map(|cluster| Ok((cluster.document()?, cluster.health()))).collect()
    }

    /// The kubeconfigs of a cluster; `None` while it has none (its bootstrap is going on).
    pub fn kubeconfigs(&self, index: usize) -> Option<Kubeconfigs> {
        let cluster = self.fleet.cluster(index)?;
        cluster.private_ip()?;
        let of = |user: &str, pair: &CertificatePair| {
            Secret::new(kubeconfig(&self.identity.ca, &cluster, user, pair))
        };
        Some(Kubeconfigs {
            sre: of("system:aro-sre", &self.identity.sre),
            service: of("system:aro-service", &self.identity.service),
        })
    }

    /// The private key of the user `core` on every machine of the region, PKCS#1 DER: for `sshKey`.
    pub fn machine_key(&self) -> &Secret<Vec<u8>> {
        &self.identity.machine_key
    }

    /// The private address of a cluster; `None` when it has none or does not exist.
    pub fn private_ip(&self, index: usize) -> Option<Ipv4Addr> {
        self.fleet.cluster(index).and_then(|cluster| cluster.private_ip())
    }

    /// Ends when the listener has stopped and its last connection has ended.
    pub async fn stopped(self) {
        if let Err(error) = self.task.await {
            tracing::error!(error = %rp_base::chain(&error), "the simulated region ended");
        }
    }
}

fn kubeconfig(ca: &str, cluster: &Cluster, user: &str, pair: &CertificatePair) -> String {
    use base64::Engine as _;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: {name}\n  cluster:\n    server: https://{host}:6443\n    \
         tls-server-name: kubernetes\n    certificate-authority-data: {ca}\nusers:\n- name: {user}\n  user:\n    client-certificate-data: {crt}\n    \
         client-key-data: {key}\ncontexts:\n- name: {user}\n  context:\n    cluster: {name}\n    user: {user}\n\
         current-context: {user}\n",
        name = cluster.name,
        host = format_args!("api-int.{}", cluster.domain),
        ca = encode(ca),
        crt = encode(&pair.certificate),
        key = encode(pair.key.expose()),
    )
}
