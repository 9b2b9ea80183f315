//! `[ssh]` into a bastion: one for a process, sharing machines and keys with the pages that issue access to it.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use portal::SshParts;
use proxy::ssh::host_keys::HostKeys;
use proxy::ssh::keys::{KeyParts, ServiceKeys};
use proxy::ssh::machines::ClusterMachines;
use proxy::ssh::{Bastion, BastionParts, LegParts, Legs, SshLimits};
use rp_access::{Access, StoreDirectory};
use rp_base::chain;
use rp_config::Settings;
use rp_core::Foundation;
use rp_frontend::SshDoor;
use rp_net::Origins;
use rp_net::listen::Stop;
use rp_recording::Recordings;
use rp_runtime::Lifecycle;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::parts;

/// The way to the machines of clusters, whether or not there is an SSH listener: terminals use it too.
#[derive(Debug, Clone)]
pub struct Way {
    pub legs: Arc<Legs>,
    pub machines: Arc<ClusterMachines>,
    pub host_keys: Arc<HostKeys>,
}

/// As the settings say.
///
/// # Errors
/// The dialer cannot be made.
pub fn way(settings: &Settings, foundation: &Foundation) -> anyhow::Result<Way> {
    let dialer = parts::dialer(settings)?;
    let machines = ClusterMachines::remembering(dialer.clone(), Arc::clone(&foundation.store));
    let (store, clock) = (Arc::clone(&foundation.store), Arc::clone(&foundation.clock));
    let host_keys = HostKeys::new(store, dialer.clone(), Arc::clone(&clock));
    let legs = Legs::new(LegParts {
        machines: Arc::clone(&machines) as _,
        host_keys: Arc::clone(&host_keys),
        dialer,
        clock,
        fips: settings.ssh.fips,
        modern: settings.ssh.modern_machines,
        keepalive: settings.ssh.keepalive,
        within: settings.ssh.connect_time,
    });
    Ok(Way { legs, machines, host_keys })
}

/// The listener, open but not serving yet.
#[derive(Debug)]
pub struct Ssh {
    pub parts: SshParts,
    legs: Arc<Legs>,
    listener: TcpListener,
}

impl Ssh {
    /// Opens the listener and the service's keys; `None`: no SSH is configured.
    ///
    /// # Errors
    /// The listener or a key cannot be had.
    pub async fn open(
        settings: &Settings,
        foundation: &Foundation,
        directory: &Arc<StoreDirectory>,
        way: &Way,
    ) -> anyhow::Result<Option<Self>> {
        let Some(address) = settings.ssh.listen else { return Ok(None) };
        let parts = KeyParts {
            store: Arc::clone(&foundation.store),
            keyring: foundation.keyring.clone(),
            clock: Arc::clone(&foundation.clock),
            fips: settings.ssh.fips,
            files: settings.ssh.key_files.clone(),
        };
        let keys = Arc::new(ServiceKeys::open(&parts).await.context("[ssh]")?);
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen on {address} (ssh.listen)"))?;
        let port = settings.ssh.port.unwrap_or(listener.local_addr()?.port());
        let parts = SshParts {
            host: host(settings)?,
            port,
            keys,
            host_keys: Arc::clone(&way.host_keys),
            machines: Arc::clone(&way.machines) as _,
            directory: Arc::clone(directory) as _,
        };
        Ok(Some(Self { parts, legs: Arc::clone(&way.legs), listener }))
    }

    /// What the admin API tells of it.
    pub fn door(&self, settings: &Settings) -> SshDoor {
        SshDoor {
            host: self.parts.host.clone(),
            known_host: self.parts.keys.known_hosts_line(&self.parts.host, self.parts.port),
            port: self.parts.port,
            fips: settings.ssh.fips,
        }
    }

    /// Serves until `life` ends.
    ///
    /// # Errors
    /// The bastion cannot be made.
    pub fn serve(
        self,
        settings: &Settings,
        foundation: &Foundation,
        access: &Arc<Access>,
        recordings: &Recordings,
        life: &Lifecycle,
    ) -> anyhow::Result<JoinHandle<()>> {
        let limits = &settings.ssh;
        let bastion = Bastion::new(BastionParts {
            access: Arc::clone(access),
            directory: Arc::clone(&self.parts.directory),
            legs: self.legs,
            keys: Arc::clone(&self.parts.keys),
            recordings: recordings.clone(),
            clock: Arc::clone(&foundation.clock),
            random: Arc::clone(&foundation.random),
            registry: foundation.registry.clone(),
            limits: SshLimits {
                connections: limits.max_connections,
                per_address: limits.max_per_address,
                strangers: limits.max_strangers,
                channels: limits.max_channels,
                login: limits.login_time,
                tries: limits.tries,
                keepalive: limits.keepalive,
            },
            names: vec![self.parts.host.clone()],
            host: self.parts.host,
            origins: Arc::new(Origins {
                proxy_protocol_from: settings.listen.proxy_protocol_from.clone(),
                forwarded_from: Vec::new(),
            }),
        });
        let bastion = bastion.context("[ssh]")?;
        tracing::info!(listen = %self.listener.local_addr()?, "serving SSH");
        let stop = Stop { stop: life.stopping(), cut: life.cutting() };
        Ok(tokio::spawn(bastion.serve(self.listener, stop)))
    }
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
