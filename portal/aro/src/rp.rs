//! `aro rp`, and the resource provider inside `aro serve`: settings into the parts of the API.

mod callers;
pub mod workers;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response};
use hyper::body::Incoming;
use rp_access::{Access, StoreDirectory};
use rp_azure::{Cloud, Endpoints};
use rp_base::chain;
use rp_config::Settings;
use rp_core::Foundation;
use rp_frontend::{
    AdminParts, AdminRole, AdminRoles, AzureChecks, ByAppLens, CreateChecks, Detectors, Edge, Frontend,
    FrontendParts, Issuer, Metrics, Reach, Ready, SshDoor, StoreOffers,
};
use rp_metrics::{Kind, Registry, Spec, Statsd};
use rp_net::Origins;
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use rp_runtime::{Lifecycle, LogControl, WATCH_PERIOD, Watch};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower::Service as _;

use crate::{azure, parts, reload, serve, ssh, statsd};

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Callers {
    /// Whom the settings tell.
    #[default]
    Settings,
    /// Everybody who reaches a listener on loopback: simulations only.
    Everybody,
}

/// A resource provider that serves until the process ends.
#[derive(Debug)]
pub struct RpServing {
    front: JoinHandle<()>,
    /// `None`: none run here.
    workers: Option<JoinHandle<()>>,
    /// Closed at the end, where nothing else needs it.
    foundation: Option<Foundation>,
}

/// The role by itself.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    settings: &Settings,
    foundation: Foundation,
    life: &Lifecycle,
    log: Option<LogControl>,
) -> anyhow::Result<RpServing> {
    let registry = &foundation.registry;
    rp_runtime::register_process_metrics(registry);
    rp_audit::register_metrics(registry);
    let readiness = serve::start_admin(settings, &foundation, life, log).await?;
    let access = parts::access(&foundation, settings).await?;
    serve::follow_files(
        life,
        Watch::new(vec![settings.keys.keyring_file.clone()]),
        None,
        &foundation,
        &access,
    )?;
    let directory = parts::directory(&foundation).await?;
    let door = ssh::told(settings, &foundation).await?;
    let admin = admin(settings, &access, &directory, door)?;
    let (api, front) = serving(settings, &foundation, life, (Callers::Settings, None), admin).await?;
    readiness.add("api", move || {
        let api = api.clone();
        async move { api.ready().await }
    });
    let workers = workers::start(settings, &foundation, life)?;
    Ok(RpServing { front, workers, foundation: Some(foundation) })
}

/// The role beside others in one process; `None`: the settings say no.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn within(
    settings: &Settings,
    foundation: &Foundation,
    life: &Lifecycle,
    (callers, checks): (Callers, Option<Arc<dyn CreateChecks>>),
    admin: AdminParts,
) -> anyhow::Result<Option<RpServing>> {
    if !settings.rp.enabled {
        return Ok(None);
    }
    let (_, front) = serving(settings, foundation, life, (callers, checks), admin).await?;
    // A simulation has workers of its own.
    let workers = match callers {
        Callers::Settings => workers::start(settings, foundation, life)?,
        Callers::Everybody => None,
    };
    Ok(Some(RpServing { front, workers, foundation: None }))
}

impl RpServing {
    /// Waits for the end: every request finished or cut.
    pub async fn finished(self) {
        if let Err(error) = self.front.await {
            tracing::error!(error = %chain(&error), "the API's listener failed");
        }
        if let Some(workers) = self.workers
            && let Err(error) = workers.await
        {
            tracing::error!(error = %chain(&error), "the workers failed");
        }
        if let Some(foundation) = self.foundation {
            foundation.close().await;
            tracing::info!("stopped");
        }
    }
}

/// Registers what the API counts.
pub fn register_metrics(registry: &Registry, gauge: &Arc<Gauge>) {
    drop(Metrics::new(registry, Statsd::none()));
    let (gauge, help) = (Arc::clone(gauge), "Connections open at the listener of the resource provider.");
    #[expect(clippy::cast_precision_loss, reason = "connections are few")]
    let open = move || Some(gauge.open() as f64);
    registry.ask(Kind::Gauge, Spec { name: "aro_rp_connections", help, buckets: &[] }, open);
}

async fn serving(
    settings: &Settings,
    foundation: &Foundation,
    life: &Lifecycle,
    (callers, checks): (Callers, Option<Arc<dyn CreateChecks>>),
    admin: AdminParts,
) -> anyhow::Result<(Frontend, JoinHandle<()>)> {
    let gauge = Arc::new(Gauge::default());
    register_metrics(&foundation.registry, &gauge);
    let api = Frontend::new(frontend_parts(settings, foundation, life, (callers, checks), admin).await?);
    let address = settings.rp.listen;
    let tls = tls(settings, life, callers)?;
    let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let limits = Limits { begun: Some(settings.rp.read_time), ..serve::limits(settings) };
    let handler = Arc::new(Api { router: api.router(), origins: Arc::clone(&limits.origins) });
    let listener = Listener { tcp, tls: Some(tls), handler, limits, gauge };
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };
    let (beating, cut) = (api.clone(), life.cutting());
    tokio::spawn(async move { cut.run_until_cancelled(beating.beat()).await });
    tracing::info!(listen = %address, "serving the resource provider's API");
    Ok((api, tokio::spawn(listener.serve(stop))))
}

/// What administrators' routes need: the way to clusters, and grants for the proxy where it is known.
///
/// # Errors
/// The dialer cannot be made, or the proxy's authority cannot be read.
pub fn admin(
    settings: &Settings,
    access: &Arc<Access>,
    directory: &Arc<StoreDirectory>,
    ssh: Option<SshDoor>,
) -> anyhow::Result<AdminParts> {
    let reach = Reach { directory: Arc::clone(directory) as _, dialer: parts::dialer(settings)? };
    let issuer = match &settings.proxy.url {
        None => None,
        Some(url) => Some(Issuer {
            access: Arc::clone(access),
            proxy: url.origin().ascii_serialization(),
            ca_pem: parts::issuing_ca(settings)?,
            ssh,
        }),
    };
    Ok(AdminParts { reach: Some(reach), issuer, ..AdminParts::default() })
}

/// What Azure is asked about a new cluster, where there is an Azure; a simulation brings its own.
fn checks(
    settings: &Settings,
    foundation: &Foundation,
    (callers, own): (Callers, Option<Arc<dyn CreateChecks>>),
) -> anyhow::Result<Option<Arc<dyn CreateChecks>>> {
    if callers == Callers::Everybody {
        return Ok(own);
    }
    let arm = azure::arm(settings, foundation, None)?;
    Ok(arm.map(|arm| Arc::new(AzureChecks::new(arm)) as _))
}

/// Hosts that may stand in the addresses of answers: those of the settings, else the cloud's resource manager with the
/// hosts below it (regions have their own), and ourselves.
fn referers(settings: &Settings) -> anyhow::Result<Vec<String>> {
    let told = &settings.rp.referers;
    if !told.is_empty() {
        return Ok(told.clone());
    }
    let cloud: Cloud = settings.azure.environment.parse().context("azure.environment")?;
    let manager = Endpoints::of(cloud).map(|endpoints| endpoints.resource_manager);
    let all = [manager.as_ref(), settings.azure.resource_manager.as_ref(), settings.rp.url.as_ref()];
    let hosts = all.into_iter().flatten().filter_map(url::Url::host_str).map(str::to_ascii_lowercase);
    let mut hosts: Vec<String> = hosts.flat_map(|host| [format!(".{host}"), host]).collect();
    if hosts.iter().any(|host| host == "localhost") {
        // Under its other name.
        hosts.push("127.0.0.1".to_owned());
    }
    Ok(hosts)
}

/// AppLens, where the cloud has one.
fn detectors(settings: &Settings, foundation: &Foundation) -> anyhow::Result<Option<Arc<dyn Detectors>>> {
    let lens = azure::diagnoses(settings, foundation)?;
    Ok(lens.map(|lens| Arc::new(ByAppLens::new(lens)) as _))
}

/// What each person may do for whom the admin tool calls.
fn roles(settings: &Settings) -> AdminRoles {
    let told = &settings.rp.admin_roles;
    AdminRoles::new([
        (AdminRole::Reader, told.readers.as_slice()),
        (AdminRole::Operator, told.operators.as_slice()),
        (AdminRole::Elevated, told.elevated.as_slice()),
    ])
}

async fn frontend_parts(
    settings: &Settings,
    foundation: &Foundation,
    life: &Lifecycle,
    (callers, checks): (Callers, Option<Arc<dyn CreateChecks>>),
    admin: AdminParts,
) -> anyhow::Result<FrontendParts> {
    let told = &settings.rp;
    let missing = |key: &str| anyhow!("{key} is not set");
    let statsd = statsd::emitter(settings, "rp", serve::VERSION, foundation)?;
    Ok(FrontendParts {
        store: Arc::clone(&foundation.store),
        keyring: foundation.keyring.clone(),
        clock: Arc::clone(&foundation.clock),
        random: Arc::clone(&foundation.random),
        authorizer: callers::authorizer(settings, foundation, life, callers)?,
        offers: StoreOffers::start(Arc::clone(&foundation.store)).await,
        checks: self::checks(settings, foundation, (callers, checks))?,
        region: settings.azure.region.clone().ok_or_else(|| missing("azure.region"))?,
        domain: told.domain.clone().ok_or_else(|| missing("rp.domain"))?,
        commit: serve::VERSION.to_owned(),
        development_workers: told.d2s_workers,
        gateway: told.gateway,
        edge: Edge {
            audit: Some(foundation.audit.clone()),
            metrics: Metrics::new(&foundation.registry, statsd),
            ready: Ready::new(told.ready_delay, life.leaving()),
            read_time: told.read_time,
            referers: referers(settings)?,
            own: told.url.clone().ok_or_else(|| missing("rp.url"))?,
            ..Edge::default()
        },
        admin: AdminParts {
            machines: azure::boot_diagnostics(settings, foundation)?,
            roles: roles(settings),
            ..admin
        },
        detectors: detectors(settings, foundation)?,
    })
}

/// The listener's certificate, read again when it changes. Clients are asked for theirs; who they are is looked at with
/// each request (`contract/frontend.md` §1, §3).
fn tls(settings: &Settings, life: &Lifecycle, callers: Callers) -> anyhow::Result<Arc<ServerTls>> {
    let told = settings.rp.tls.as_ref().ok_or_else(|| anyhow!("rp.cert_file is not set"))?;
    let files = ServerFiles { certificate: told.cert_file.clone(), key: told.key_file.path().to_owned() };
    let watched: Vec<PathBuf> = vec![files.certificate.clone(), files.key.clone()];
    let client = match callers {
        Callers::Settings => ClientAuth::Asked,
        Callers::Everybody => ClientAuth::None,
    };
    let tls = ServerTls::load(files, &[b"h2", b"http/1.1"], client).context("[rp]")?;
    let served = Arc::clone(&tls);
    reload::follow(life, Watch::new(watched), WATCH_PERIOD, move || reload::certificate(&served))?;
    Ok(tls)
}

/// The API at a listener.
#[derive(Debug)]
struct Api {
    router: Router,
    origins: Arc<Origins>,
}

impl Handler for Api {
    type Body = Body;

    async fn handle(&self, mut request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        let peer = SocketAddr::new(self.origins.sender(peer.ip(), request.headers()), peer.port());
        request.extensions_mut().insert(ConnectInfo(peer));
        match self.router.clone().call(request.map(Body::new)).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }
}
