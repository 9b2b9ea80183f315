//! `[ssh]` into a bastion: one for a process, sharing machines and keys with the pages that issue access to it.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use portal_model::ssh::SshParts;
use proxy::ssh::host_keys::HostKeys;
use proxy::ssh::keys::{KeyParts, ServiceKeys};
use proxy::ssh::machines::ClusterMachines;
use proxy::ssh::{Bastion, BastionParts, LegParts, Legs};
use rp_access::Access;
use rp_base::chain;
use rp_config::Settings;
use rp_core::Services;
use rp_frontend::SshEndpoint;
use rp_net::Origins;
use rp_net::listen::Stop;
use rp_recording::Recordings;
use rp_runtime::Lifecycle;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Access to the machines of clusters. It exists without an SSH listener too, because terminals use it.
#[derive(Debug, Clone)]
pub struct MachineAccess {
    pub legs: Arc<Legs>,
    pub machines: Arc<ClusterMachines>,
    pub host_keys: Arc<HostKeys>,
}

/// Builds it from the settings.
pub fn machine_access(services: &Services) -> MachineAccess {
    let dialer = services.dialer.clone();
    let machines = ClusterMachines::remembering(dialer.clone(), Arc::clone(&services.store));
    let (store, clock) = (Arc::clone(&services.store), Arc::clone(&services.clock));
    let host_keys = HostKeys::new(store, dialer.clone(), Arc::clone(&clock));
    let legs = Legs::new(LegParts {
        machines: Arc::clone(&machines) as _,
        host_keys: Arc::clone(&host_keys),
        dialer,
        clock,
        settings: services.settings.ssh.clone(),
    });
    MachineAccess { legs, machines, host_keys }
}

/// The default port of a listener that another process serves.
const PORT: u16 = 22;

/// The SSH settings for the portal, and the listener, open but not serving yet.
#[derive(Debug)]
pub struct Ssh {
    pub parts: SshParts,
    legs: Arc<Legs>,
    /// `None`: another process serves it.
    listener: Option<TcpListener>,
}

impl Ssh {
    /// Opens the listener, where there is one here, and the service's keys; `None`: no SSH is configured.
    ///
    /// # Errors
    /// The listener or a key cannot be had.
    pub async fn open(services: &Services, way: &MachineAccess) -> anyhow::Result<Option<Self>> {
        let settings = &services.settings;
        if !is_known(settings) {
            return Ok(None);
        }
        let listener = match settings.ssh.listen {
            None => None,
            Some(address) => {
                let listener = TcpListener::bind(address).await;
                Some(listener.with_context(|| format!("cannot listen on {address} (ssh.listen)"))?)
            }
        };
        let local = listener.as_ref().map(TcpListener::local_addr).transpose()?;
        let parts = SshParts {
            host: host(settings)?,
            port: settings.ssh.port.or(local.map(|local| local.port())).unwrap_or(PORT),
            keys: Arc::new(keys(services).await?),
            host_keys: Arc::clone(&way.host_keys),
            machines: Arc::clone(&way.machines) as _,
            directory: services.directory().await? as _,
        };
        Ok(Some(Self { parts, legs: Arc::clone(&way.legs), listener }))
    }

    /// The endpoint as the admin API shows it.
    pub fn endpoint(&self, settings: &Settings) -> SshEndpoint {
        let SshParts { host, port, keys, .. } = &self.parts;
        endpoint_from(settings, host.clone(), *port, keys)
    }

    /// Serves until `life` ends; `None`: there is no listener here.
    ///
    /// # Errors
    /// The bastion cannot be made.
    pub fn serve(
        self,
        services: &Services,
        access: &Arc<Access>,
        recordings: &Recordings,
        life: &Lifecycle,
    ) -> anyhow::Result<Option<JoinHandle<()>>> {
        let Some(listener) = self.listener else { return Ok(None) };
        let settings = &services.settings;
        let bastion = Bastion::new(BastionParts {
            access: Arc::clone(access),
            directory: Arc::clone(&self.parts.directory),
            legs: self.legs,
            keys: Arc::clone(&self.parts.keys),
            recordings: recordings.clone(),
            clock: Arc::clone(&services.clock),
            random: Arc::clone(&services.random),
            registry: services.registry.clone(),
            settings: settings.ssh.clone(),
            limits: settings.limits.clone(),
            idle: settings.terminal.idle,
            names: vec![self.parts.host.clone()],
            host: self.parts.host,
            origins: Arc::new(Origins {
                proxy_protocol_from: settings.listen.proxy_protocol_from.clone(),
                forwarded_from: Vec::new(),
            }),
        });
        let bastion = bastion.context("[ssh]")?;
        tracing::info!(listen = %listener.local_addr()?, "serving SSH");
        let stop = Stop { stop: life.stopping(), cut: life.cutting() };
        Ok(Some(tokio::spawn(bastion.serve(listener, stop))))
    }
}

/// What a process without proxies tells of an SSH endpoint that others serve; `None`: none is configured.
///
/// # Errors
/// A key cannot be had.
pub async fn ssh_endpoint(services: &Services) -> anyhow::Result<Option<SshEndpoint>> {
    let settings = &services.settings;
    if !is_known(settings) {
        return Ok(None);
    }
    let listened = settings.ssh.listen.map(|address| address.port()).filter(|&port| port != 0);
    let port = settings.ssh.port.or(listened).unwrap_or(PORT);
    let keys = keys(services).await?;
    Ok(Some(endpoint_from(settings, host(settings)?, port, &keys)))
}

/// Whether SSH is configured: a listener here, or a host name.
fn is_known(settings: &Settings) -> bool {
    settings.ssh.listen.is_some() || settings.ssh.host.is_some()
}

async fn keys(services: &Services) -> anyhow::Result<ServiceKeys> {
    let parts = KeyParts {
        store: Arc::clone(&services.store),
        keyring: services.keyring.clone(),
        clock: Arc::clone(&services.clock),
        settings: services.settings.ssh.clone(),
    };
    ServiceKeys::open(&parts).await.context("[ssh]")
}

fn endpoint_from(settings: &Settings, host: String, port: u16, keys: &ServiceKeys) -> SshEndpoint {
    SshEndpoint { known_host: keys.known_hosts_line(&host, port), host, port, fips: settings.ssh.fips }
}

/// Waits until every connection has ended or was cut.
pub async fn finished(ssh: Option<JoinHandle<()>>) {
    if let Some(ssh) = ssh
        && let Err(error) = ssh.await
    {
        tracing::error!(error = %chain(&error), "the SSH listener failed");
    }
}

fn host(settings: &Settings) -> anyhow::Result<String> {
    let portal = || settings.portal.url.as_ref().and_then(url::Url::host_str).map(str::to_owned);
    settings.ssh.host.clone().or_else(portal).ok_or_else(|| anyhow!("ssh.host is not set, nor is portal.url"))
}
