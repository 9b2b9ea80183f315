//! `aro serve` and `aro portal`: portal and API proxy in one process.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use portal::auth::{AssertionAudience, ClientAuth, GroupsSource, OidcConfig};
use portal::{Link, LiveLimits, PortalParts, PortalState, SessionRules, SshParts, Urls};
use proxy::ApiProxy;
use proxy::api::{ApiProxyParts, Timeouts};
use proxy::prom::{MetricsApi, MetricsApiParts, Prom};
use proxy::terminal::{Shells, TerminalOptions, TerminalParts, Terminals};
use proxy::tunnels::{Places, TunnelApi, TunnelApiParts};
use rp_access::{Access, StoreDirectory};
use rp_base::chain;
use rp_config::{GroupsFrom, OidcCredential, Settings, StoreKind};
use rp_core::Foundation;
use rp_frontend::CreateChecks;
use rp_metrics::{Kind, Registry, Spec};
use rp_net::Origins;
use rp_net::listen::{Gauge, Limits, Listener, Stop};
use rp_net::tls::ServerTls;
use rp_observe::Observer;
use rp_recording::Recordings;
use rp_runtime::{Admin, Lifecycle, LogControl, Readiness, WATCH_PERIOD, Watch};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::front::Front;
use crate::monitor::{self, Monitoring};
use crate::rp::{self, Callers, RpServing};
use crate::ssh::{self, Ssh};
use crate::{azure, control, parts, recording, reload, statsd};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A process that serves.
#[derive(Debug)]
pub struct Serving {
    pub portal: PortalState,
    pub access: Arc<Access>,
    foundation: Foundation,
    recordings: Recordings,
    front: JoinHandle<()>,
    /// `None`: no SSH is configured.
    ssh: Option<JoinHandle<()>>,
    tunnels: Arc<TunnelApi>,
    monitor: Option<Monitoring>,
    rp: Option<RpServing>,
}

/// What whoever starts it tells beside the settings.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// One of several: clusters are looked at by processes of their own.
    pub replica: bool,
    /// Everything here is a simulation: said on every page.
    pub simulated: bool,
    /// Who may call the resource provider's API.
    pub callers: Callers,
    /// What is asked about new clusters where everybody may call; `None`: nothing.
    pub checks: Option<Arc<dyn CreateChecks>>,
}

/// Opens the listener and serves until `life` ends.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    settings: &Settings,
    foundation: Foundation,
    life: &Lifecycle,
    log: Option<LogControl>,
    extras: Extras,
) -> anyhow::Result<Serving> {
    let gauge = Arc::new(Gauge::default());
    register_metrics(&foundation.registry, &gauge);
    let watch = Watch::new(reloaded_files(settings));
    start_admin(settings, &foundation, life, log).await?;
    statsd::start(settings, VERSION, Arc::clone(&foundation.clock), &foundation.registry, life)?;
    let access = parts::access(&foundation, settings).await?;
    let directory = parts::directory(&foundation).await?;
    let recordings = recording::recordings(settings, &foundation, life).await?;
    let api = api_proxy(settings, &foundation, &access, &directory, recordings.clone(), life)?;
    let places = places(settings, &foundation, &directory)?;
    let tunnels = tunnel_api(&foundation, &access, &places, life);
    let way = ssh::way(settings, &foundation)?;
    let ssh = Ssh::open(settings, &foundation, &directory, &way).await?;
    let shells = Shells { legs: Arc::clone(&way.legs), directory: Arc::clone(&directory) as _ };
    let taken_down = (recordings.clone(), Some(shells));
    let terminals = terminals(settings, &foundation, &access, &api, taken_down, life);
    let budget = parts::budget(settings, &foundation);
    let observer = parts::observer(settings, &foundation, Arc::clone(&directory), budget.clone())?;
    let monitor = match extras.replica {
        true => None,
        false => monitor::within(settings, &foundation, &directory, budget.clone(), life).await?,
    };
    let rp = match extras.replica {
        true => None,
        false => {
            let door = ssh.as_ref().map(|ssh| ssh.door(settings));
            let admin = rp::admin(settings, &access, &directory, door)?;
            rp::within(settings, &foundation, life, (extras.callers, extras.checks.clone()), admin).await?
        }
    };
    let prom = parts::prom(settings, &foundation, directory, budget.clone())?;
    let metrics = metrics_api(&foundation, &access, prom.clone());
    let portal = portal_state(
        settings,
        &foundation,
        &access,
        Clusters {
            api: Arc::clone(&api),
            terminals,
            places,
            budget,
            prom,
            observer,
            recordings: recordings.clone(),
            stopping: life.stopping(),
            ssh: ssh.as_ref().map(|ssh| ssh.parts.clone()),
        },
        extras.simulated,
    )
    .await?;
    let tls = parts::server_tls(settings)?;
    let address = settings.listen.portal;
    let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    follow_files(life, watch, tls.clone(), &foundation, &access)?;
    control::start(settings, &foundation, &access, life);
    let limits = limits(settings);
    let front = Front {
        api,
        metrics,
        tunnels: Arc::clone(&tunnels),
        pages: portal::app(portal.clone()),
        proxy_hosts: settings.proxy.hosts.clone(),
        portal_host: settings.portal.url.as_ref().and_then(url::Url::host_str).map(str::to_ascii_lowercase),
        origins: Arc::clone(&limits.origins),
        leaving: life.leaving(),
    };
    let listener = Listener { tcp, tls, handler: Arc::new(front), limits, gauge };
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };
    let ssh =
        ssh.map(|ssh| ssh.serve(settings, &foundation, &access, &recordings, life)).transpose()?.flatten();
    tracing::info!(listen = %address, "serving");
    Ok(Serving {
        portal,
        access,
        foundation,
        recordings,
        front: tokio::spawn(listener.serve(stop)),
        ssh,
        tunnels,
        monitor,
        rp,
    })
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
        if let Some(rp) = self.rp {
            rp.finished().await;
        }
        if let Some(monitor) = self.monitor {
            monitor.finished().await;
        }
        self.foundation.close().await;
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

/// Prometheus' API for tools.
pub(crate) fn metrics_api(foundation: &Foundation, access: &Arc<Access>, prom: Prom) -> Arc<MetricsApi> {
    MetricsApi::new(MetricsApiParts {
        access: Arc::clone(access),
        prom,
        random: Arc::clone(&foundation.random),
        registry: foundation.registry.clone(),
    })
}

/// Shells in the browser: with what takes them down, and the way to machines.
fn terminals(
    settings: &Settings,
    foundation: &Foundation,
    access: &Arc<Access>,
    api: &Arc<ApiProxy>,
    (recordings, shells): (Recordings, Option<Shells>),
    life: &Lifecycle,
) -> Terminals {
    Terminals::new(TerminalParts {
        access: Arc::clone(access),
        api: Arc::clone(api),
        shells,
        recordings,
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        registry: foundation.registry.clone(),
        options: TerminalOptions {
            grace: settings.terminal.grace,
            most: settings.terminal.most,
            idle: settings.terminal.idle,
            watch: settings.terminal.watch,
        },
        cut: life.cutting(),
    })
}

/// What tunnels may lead to.
pub(crate) fn places(
    settings: &Settings,
    foundation: &Foundation,
    directory: &Arc<StoreDirectory>,
) -> anyhow::Result<Arc<Places>> {
    let dialer = parts::dialer(settings)?;
    Ok(Places::new(Arc::clone(&foundation.store), Arc::clone(directory) as _, dialer))
}

/// The door of `aro tunnel`.
pub(crate) fn tunnel_api(
    foundation: &Foundation,
    access: &Arc<Access>,
    places: &Arc<Places>,
    life: &Lifecycle,
) -> Arc<TunnelApi> {
    TunnelApi::new(TunnelApiParts {
        access: Arc::clone(access),
        places: Arc::clone(places),
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        registry: foundation.registry.clone(),
        keepalive: proxy::tunnels::Keepalive::default(),
        stopping: life.stopping(),
        cut: life.cutting(),
    })
}

pub(crate) fn api_proxy(
    settings: &Settings,
    foundation: &Foundation,
    access: &Arc<Access>,
    directory: &Arc<StoreDirectory>,
    recordings: Recordings,
    life: &Lifecycle,
) -> anyhow::Result<Arc<ApiProxy>> {
    Ok(ApiProxy::new(ApiProxyParts {
        access: Arc::clone(access),
        directory: Arc::clone(directory) as _,
        dialer: parts::dialer(settings)?,
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        registry: foundation.registry.clone(),
        timeouts: Timeouts::default(),
        recordings,
        cut: life.cutting(),
    }))
}

/// Registers everything that `aro serve` counts.
pub fn register_metrics(registry: &Registry, front: &Arc<Gauge>) {
    rp_runtime::register_process_metrics(registry);
    rp_net::rate::register_metrics(registry);
    rp_audit::register_metrics(registry);
    rp_recording::register_metrics(registry);
    rp_access::register_metrics(registry);
    portal::register_metrics(registry);
    proxy::api::register_metrics(registry);
    proxy::prom::register_metrics(registry);
    proxy::ssh::register_metrics(registry);
    proxy::tunnels::register_metrics(registry);
    proxy::terminal::register_metrics(registry);
    rp_net::budget::register_metrics(registry);
    rp_observe::register_metrics(registry);
    let (front, help) = (Arc::clone(front), "Connections open at the web listener.");
    #[expect(clippy::cast_precision_loss, reason = "connections are few")]
    let open = move || Some(front.open() as f64);
    registry.ask(Kind::Gauge, Spec { name: "aro_front_connections", help, buckets: &[] }, open);
}

/// Metrics, health, log filter and profiles, for this machine only. Gives the checks, for a role to add its own.
pub(crate) async fn start_admin(
    settings: &Settings,
    foundation: &Foundation,
    life: &Lifecycle,
    log: Option<LogControl>,
) -> anyhow::Result<Readiness> {
    let readiness = Readiness::new(life.leaving());
    let store = Arc::clone(&foundation.store);
    readiness.add("store", move || {
        let store = Arc::clone(&store);
        async move { store.ready().await.map_err(|error| error.to_string()) }
    });
    let audit = foundation.audit.clone();
    readiness.add("audit", move || {
        let ready = audit.ready().map_err(|error| error.to_string());
        async move { ready }
    });
    let admin = Admin { registry: foundation.registry.clone(), readiness: readiness.clone(), log };
    admin.serve(settings.listen.admin, life.cutting()).await?;
    Ok(readiness)
}

/// How the portal looks at clusters.
struct Clusters {
    api: Arc<ApiProxy>,
    terminals: Terminals,
    places: Arc<Places>,
    budget: rp_net::Budget,
    prom: Prom,
    observer: Observer,
    ssh: Option<SshParts>,
    recordings: Recordings,
    stopping: CancellationToken,
}

async fn portal_state(
    settings: &Settings,
    foundation: &Foundation,
    access: &Arc<Access>,
    clusters: Clusters,
    simulated: bool,
) -> anyhow::Result<PortalState> {
    let missing = |key: &str| anyhow!("{key} is not set");
    let urls = Urls {
        portal: settings.portal.url.clone().ok_or_else(|| missing("portal.url"))?,
        proxy: settings.proxy.url.clone().ok_or_else(|| missing("proxy.url"))?,
        ca_pem: parts::issuing_ca(settings)?,
    };
    let told =
        settings.portal.regions.iter().map(|(name, url)| Link { text: name.clone(), url: url.to_string() });
    let derived = settings
        .azure
        .locations
        .iter()
        .filter(|name| !settings.portal.regions.iter().any(|(told, _)| told == *name));
    let regions = told.chain(derived.filter_map(|name| region_link(&urls.portal, settings, name)));
    let parts = PortalParts {
        store: Arc::clone(&foundation.store),
        audit: foundation.audit.clone(),
        access: Arc::clone(access),
        api: clusters.api,
        places: clusters.places,
        budget: clusters.budget,
        prom: clusters.prom,
        observer: clusters.observer,
        recordings: clusters.recordings,
        live: LiveLimits {
            pages: settings.limits.live_pages,
            per_person: settings.limits.live_pages_per_person,
            ..LiveLimits::default()
        },
        stopping: clusters.stopping,
        keyring: foundation.keyring.clone(),
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        oidc: oidc(settings)?,
        regions: regions.collect(),
        urls,
        region: settings.azure.region.clone().unwrap_or_else(|| "local".to_owned()),
        version: VERSION.to_owned(),
        simulated,
        sessions: session_rules(settings),
        networks: parts::networks(settings),
        network_names: parts::network_names(settings),
        metrics: foundation.registry.clone(),
        run_books: portal::RunBooks::new(settings.portal.run_books.clone()),
        vm_states: azure::machines(settings, foundation)?,
        terminals: clusters.terminals,
        ssh: clusters.ssh,
        exchange: None,
    };
    PortalState::new(parts).await.context("the portal cannot start")
}

/// The portal of another region: this one's address with the region's name in its place.
fn region_link(portal: &url::Url, settings: &Settings, name: &str) -> Option<Link> {
    let (host, here) = (portal.host_str()?, settings.azure.region.as_deref()?);
    let host = host.strip_prefix(here).map(|rest| format!("{name}{rest}"))?;
    let mut url = portal.clone();
    url.set_host(Some(&host)).ok()?;
    Some(Link { text: name.to_owned(), url: url.to_string() })
}

fn session_rules(settings: &Settings) -> SessionRules {
    SessionRules {
        idle: settings.session.idle,
        absolute: settings.session.max_age,
        revalidate: settings.session.revalidate,
        alarm_after: settings.session.alarm_after,
        backchannel_ends_grants: settings.session.backchannel_ends_grants,
        cli_life: settings.access.cli_life,
    }
}

fn oidc(settings: &Settings) -> anyhow::Result<OidcConfig> {
    let oidc = settings.oidc.as_ref().ok_or_else(|| anyhow!("oidc.issuer is not set"))?;
    let auth = match &oidc.credential {
        OidcCredential::Secret(file) => ClientAuth::Secret(file.read()?),
        OidcCredential::Key { key_file, cert_file } => {
            let certificate =
                cert_file.as_ref().ok_or_else(|| anyhow!("oidc.client_cert_file is not set"))?;
            ClientAuth::PrivateKey {
                key_pem: key_file.read()?,
                certificate_pem: parts::read(certificate)?,
                audience: AssertionAudience::TokenEndpoint,
            }
        }
    };
    let ca_pem = oidc.ca_file.as_deref().map(parts::read).transpose()?;
    // Providers compare the issuer as text: no slash at its end unless a path has one.
    let issuer = oidc.issuer.as_str().trim_end_matches('/');
    Ok(OidcConfig {
        scopes: oidc.scopes.iter().filter(|scope| *scope != "openid").cloned().collect(),
        groups_claim: oidc.groups_claim.clone(),
        groups_source: match &oidc.groups_from {
            GroupsFrom::Token => GroupsSource::Token,
            GroupsFrom::Userinfo => GroupsSource::Userinfo,
            GroupsFrom::Address(url) => GroupsSource::Address(url.clone()),
        },
        api_audience: oidc.api_audience.clone(),
        ca_pem,
        ..OidcConfig::new(issuer, &oidc.client_id, auth)
    })
}

pub(crate) fn limits(settings: &Settings) -> Limits {
    let limits = &settings.limits;
    Limits {
        connections: limits.connections,
        streams: limits.streams,
        handshake: limits.handshake,
        head: limits.head,
        begun: None,
        head_bytes: limits.head_bytes,
        ping: Duration::from_secs(30),
        origins: Arc::new(Origins {
            proxy_protocol_from: settings.listen.proxy_protocol_from.clone(),
            forwarded_from: settings.listen.forwarded_from.clone(),
        }),
    }
}

/// What is read again when it changes.
pub(crate) fn reloaded_files(settings: &Settings) -> Vec<PathBuf> {
    let tls = settings.tls.iter().flat_map(|tls| [tls.cert_file.clone(), tls.key_file.path().to_owned()]);
    tls.chain([settings.keys.keyring_file.clone()]).collect()
}

pub(crate) fn follow_files(
    life: &Lifecycle,
    watch: Watch,
    tls: Option<Arc<ServerTls>>,
    foundation: &Foundation,
    access: &Arc<Access>,
) -> anyhow::Result<()> {
    let (keyring, access) = (foundation.keyring.clone(), Arc::clone(access));
    reload::follow(life, watch, WATCH_PERIOD, move || {
        if let Some(tls) = &tls {
            reload::certificate(tls);
        }
        reload::keyring(&keyring, || access.reload_keys());
    })
}
