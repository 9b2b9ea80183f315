//! `aro serve` and `aro portal`: portal and API proxy in one process, and in `aro serve` the roles of the provider.

use std::sync::Arc;

use anyhow::anyhow;
use ipnet::IpNet;
use portal_model::parts::ClusterAccess;
use portal_model::state::PortalState;
use proxy::terminal::Shells;
use rp_access::Access;
use rp_config::{Settings, StoreKind};
use rp_core::frontend::{Callers, FrontendInputs};
use rp_core::monitor::{self, MonitorRole};
use rp_core::notify::NotifyRole;
use rp_core::provider::{self, Provider};
use rp_core::services::networks;
use rp_core::{Services, process};
use rp_frontend::CreateChecks;
use rp_runtime::{Lifecycle, LogControl};

use crate::proxy_front::{Pages, ProxyFront, RunningProxy};
use crate::ssh::Ssh;
use crate::{portal_parts, proxy_parts};

/// A process that serves.
#[derive(Debug)]
pub struct Serving {
    pub portal: PortalState,
    pub access: Arc<Access>,
    services: Services,
    proxy: RunningProxy,
    monitor: Option<MonitorRole>,
    provider: Option<Provider>,
    notify: NotifyRole,
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
    let proxy = ProxyFront::prepare(&services, life, log).await?;
    let (access, recordings) = (Arc::clone(&proxy.access), proxy.recordings.clone());
    let legs = Arc::clone(&proxy.machines.legs);
    let shells = Shells { legs, directory: services.directory().await? as _ };
    let terminals = portal_parts::terminals(&services, &access, &proxy.api, recordings.clone(), shells, life);
    let observer = portal_parts::observer(&services).await?;
    let simulated = extras.simulated;
    let (monitor, provider) = start_provider(&services, life, extras, proxy.ssh.as_ref()).await?;
    let settings = &*services.settings;
    let prom = proxy_parts::prom(&services).await?;
    let clusters = ClusterAccess {
        api: Arc::clone(&proxy.api),
        places: Arc::clone(&proxy.destinations),
        prom: prom.clone(),
        observer,
        budget: services.budget(),
        recordings,
        terminals,
        ssh: proxy.ssh.as_ref().map(|ssh| ssh.parts.clone()),
        networks: networks(settings),
        network_names: settings.imports.allow.iter().map(IpNet::to_string).collect(),
    };
    let notify = NotifyRole::start(&services)?;
    let told = notify.notifications.clone();
    let portal =
        portal_parts::portal(&services, Arc::clone(&access), clusters, told, simulated, life).await?;
    let host = settings.portal.url.as_ref().and_then(url::Url::host_str).map(str::to_ascii_lowercase);
    let pages = Pages { router: portal::app(portal.clone()), host };
    let proxy = proxy.serve(&services, prom, pages, life).await?;
    tracing::info!(listen = %settings.listen.portal, "serving");
    Ok(Serving { portal, access, services, proxy, monitor, provider, notify })
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
        self.proxy.finished().await;
        self.notify.stop().await;
        if let Some(provider) = self.provider {
            provider.finished().await;
        }
        if let Some(monitor) = self.monitor {
            monitor.finished().await;
        }
        process::close(&self.services).await;
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
