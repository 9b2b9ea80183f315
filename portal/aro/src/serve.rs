//! `aro serve` and `aro portal`: portal and API proxy in one process, and in `aro serve` the roles of the provider.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use ipnet::IpNet;
use portal_model::parts::ClusterAccess;
use portal_model::state::PortalState;
use proxy::terminal::Shells;
use proxy::tunnel_endpoint::TunnelApi;
use rp_access::Access;
use rp_base::chain;
use rp_config::{Settings, StoreKind};
use rp_core::frontend::{Callers, FrontendInputs};
use rp_core::monitor::{self, MonitorRole};
use rp_core::provider::{self, Provider};
use rp_core::services::networks;
use rp_core::{Services, listener_limits, process};
use rp_frontend::CreateChecks;
use rp_net::listen::{Gauge, Listener, Stop};
use rp_recording::Recordings;
use rp_runtime::{Lifecycle, LogControl, Watch};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::front::Front;
use crate::ssh::{self, Ssh};
use crate::{control, metrics, portal_parts, proxy_parts, recording};

/// The service's name in statsd.
const STATSD: &str = "portal";

/// A process that serves.
#[derive(Debug)]
pub struct Serving {
    pub portal: PortalState,
    pub access: Arc<Access>,
    services: Services,
    recordings: Recordings,
    front: JoinHandle<()>,
    /// `None`: no SSH is configured.
    ssh: Option<JoinHandle<()>>,
    tunnels: Arc<TunnelApi>,
    monitor: Option<MonitorRole>,
    provider: Option<Provider>,
}

/// Options of the caller besides the settings.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// One of several replicas: the monitor and the provider run in processes of their own.
    pub replica: bool,
    /// Everything here is a simulation: said on every page.
    pub simulated: bool,
    /// Who may call the resource provider's API.
    pub callers: Callers,
    /// Checks of new clusters where everybody may call; `None`: no checks.
    pub checks: Option<Arc<dyn CreateChecks>>,
}

/// Opens the listener and serves until `life` ends.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    services: Services,
    life: &Lifecycle,
    log: Option<LogControl>,
    extras: ServeOptions,
) -> anyhow::Result<Serving> {
    let settings = &*services.settings;
    let gauge = Arc::new(Gauge::default());
    metrics::register(&services.registry, &gauge);
    let watch = Watch::new(settings.followed(&["tls", "keys"]));
    process::start_admin(&services, life, log).await?;
    services.statsd.beat(STATSD, life);
    let access = services.access().await?;
    let recordings = recording::recordings(&services, life).await?;
    let api = proxy_parts::api_proxy(&services, &access, recordings.clone(), life).await?;
    let places = proxy_parts::destinations(&services).await?;
    let tunnels = proxy_parts::tunnel_api(&services, &access, &places, life);
    let way = ssh::machine_access(&services);
    let ssh = Ssh::open(&services, &way).await?;
    let shells = Shells { legs: Arc::clone(&way.legs), directory: services.directory().await? as _ };
    let terminals = portal_parts::terminals(&services, &access, &api, recordings.clone(), shells, life);
    let observer = portal_parts::observer(&services).await?;
    let simulated = extras.simulated;
    let (monitor, provider) = start_provider(&services, life, extras, ssh.as_ref()).await?;
    let prom = proxy_parts::prom(&services).await?;
    let tools = proxy_parts::metrics_api(&services, &access, prom.clone());
    let clusters = ClusterAccess {
        api: Arc::clone(&api),
        places,
        prom,
        observer,
        budget: services.budget(),
        recordings: recordings.clone(),
        terminals,
        ssh: ssh.as_ref().map(|ssh| ssh.parts.clone()),
        networks: networks(settings),
        network_names: settings.imports.allow.iter().map(IpNet::to_string).collect(),
    };
    let portal = portal_parts::portal(&services, Arc::clone(&access), clusters, simulated, life).await?;
    let tls = proxy_parts::server_tls(settings)?;
    let address = settings.listen.portal;
    let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    process::follow_files(&services, life, watch, tls.clone(), Some(Arc::clone(&access)))?;
    control::start(&services, &access, life);
    let limits = listener_limits::web(settings, "web", &services.registry);
    let front = Front {
        api,
        metrics: tools,
        tunnels: Arc::clone(&tunnels),
        pages: portal::app(portal.clone()),
        proxy_hosts: settings.proxy.hosts.clone(),
        portal_host: settings.portal.url.as_ref().and_then(url::Url::host_str).map(str::to_ascii_lowercase),
        origins: Arc::clone(&limits.origins),
        leaving: life.leaving(),
    };
    let listener = Listener { tcp, tls, handler: Arc::new(front), limits, gauge };
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };
    let ssh = ssh.map(|ssh| ssh.serve(&services, &access, &recordings, life)).transpose()?.flatten();
    tracing::info!(listen = %address, "serving");
    let front = tokio::spawn(listener.serve(stop));
    Ok(Serving { portal, access, services, recordings, front, ssh, tunnels, monitor, provider })
}

/// The roles of the provider in this process; none in one of several replicas.
async fn start_provider(
    services: &Services,
    life: &Lifecycle,
    extras: ServeOptions,
    ssh: Option<&Ssh>,
) -> anyhow::Result<(Option<MonitorRole>, Option<Provider>)> {
    if extras.replica {
        return Ok((None, None));
    }
    let door = ssh.map(|ssh| ssh.endpoint(&services.settings));
    let inputs = FrontendInputs { callers: extras.callers, checks: extras.checks, ssh: door };
    Ok((monitor::within(services, life).await?, provider::within(services, life, inputs).await?))
}

impl Serving {
    /// Waits for the end: every request finished or cut, every audit entry written.
    pub async fn finished(self) {
        if let Err(error) = self.front.await {
            tracing::error!(error = %chain(&error), "the listener failed");
        }
        self.tunnels.finished().await;
        ssh::finished(self.ssh).await;
        self.recordings.close(recording::CLOSE_WITHIN).await;
        if let Some(provider) = self.provider {
            provider.finished().await;
        }
        if let Some(monitor) = self.monitor {
            monitor.finished().await;
        }
        self.services.close().await;
        tracing::info!("stopped");
    }
}

/// Several processes cannot share a file.
///
/// # Errors
/// The store is not on PostgreSQL.
pub fn needs_postgres(settings: &Settings) -> anyhow::Result<()> {
    match settings.store.kind {
        StoreKind::Postgres(_) => Ok(()),
        StoreKind::Sqlite => Err(anyhow!(
            "one of several replicas needs store.kind = \"postgres\"; on SQLite one process does everything: aro serve"
        )),
    }
}
