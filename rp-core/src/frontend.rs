//! The role frontend: the API of customers and administrators, from the settings.

mod callers;
mod investigations;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response};
use hyper::body::Incoming;
use rp_azure::{AppLens, CallPolicy, Cloud, Endpoints, RetryPolicy};
use rp_config::{Settings, Word as _};
use rp_frontend::{
    AdminParts, AdminRole, AdminRoles, AppLensDetectors, AzureChecks, ClusterConnector, CreateChecks,
    Detectors, Edge, Frontend, FrontendParts, Issuer, Metrics, ReadyWindow, SshEndpoint, StoreOffers,
    TenantResources,
};
use rp_metrics::{Kind, Registry, Spec, Statsd};
use rp_net::Origins;
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::{ClientAuth, ServerFiles, ServerTls};
use rp_runtime::{Lifecycle, WATCH_PERIOD, Watch};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower::Service as _;

use crate::{Services, VERSION, files, listener_limits, reload};

/// The service's name in statsd.
const STATSD: &str = "rp";
/// For a diagnosis with its repeats: a customer waits for the answer.
const DIAGNOSIS_PATIENCE: Duration = Duration::from_secs(50);
/// For one call of an administrator's action with its repeats.
const ACTION_PATIENCE: Duration = Duration::from_mins(10);

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Callers {
    /// Whom the settings tell.
    #[default]
    Settings,
    /// Everybody who reaches a listener on loopback: simulations only.
    Everybody,
}

/// What the process gives the role beside the settings.
#[derive(Debug, Clone, Default)]
pub struct FrontendInputs {
    pub callers: Callers,
    /// What is asked about new clusters where everybody may call; `None`: nothing.
    pub checks: Option<Arc<dyn CreateChecks>>,
    /// The SSH door that administrators are told of; `None`: there is none.
    pub ssh: Option<SshEndpoint>,
}

/// The API at its listener.
#[derive(Debug)]
pub struct FrontendRole {
    pub api: Frontend,
    /// Ends when every request has finished or was cut.
    pub listener: JoinHandle<()>,
}

/// Opens the listener and serves until `life` ends.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    services: &Services,
    life: &Lifecycle,
    inputs: FrontendInputs,
) -> anyhow::Result<FrontendRole> {
    let settings = &services.settings;
    let gauge = Arc::new(Gauge::default());
    register_metrics(&services.registry, &gauge);
    let callers = inputs.callers;
    let api = Frontend::new(parts(services, life, inputs).await?);
    let address = settings.rp.api.listen;
    let tls = tls(settings, life, callers)?;
    tls.show_end(&services.registry, "rp");
    let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let limits = listener_limits::web(settings, "rp", &services.registry);
    let limits = Limits { begun: Some(settings.rp.answers.read_time), ..limits };
    let handler = Arc::new(Api { router: api.router(), origins: Arc::clone(&limits.origins) });
    let listener = Listener { tcp, tls: Some(tls), handler, limits, gauge };
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };
    let (beating, cut) = (api.clone(), life.cutting());
    tokio::spawn(async move { cut.run_until_cancelled(beating.heartbeat()).await });
    tracing::info!(listen = %address, "serving the resource provider's API");
    Ok(FrontendRole { api, listener: tokio::spawn(listener.serve(stop)) })
}

/// Registers what the API counts.
pub fn register_metrics(registry: &Registry, gauge: &Arc<Gauge>) {
    drop(Metrics::new(registry, Statsd::none()));
    rp_net::door::register_metrics(registry);
    let (gauge, help) = (Arc::clone(gauge), "Connections open at the listener of the resource provider.");
    #[expect(clippy::cast_precision_loss, reason = "connections are few")]
    let open = move || Some(gauge.open() as f64);
    registry.callback(Kind::Gauge, Spec { name: "aro_rp_connections", help, buckets: &[] }, open);
}

/// What administrators' routes need: the way to clusters, grants for the proxy where it is known, and what the settings name.
async fn admin(services: &Services, ssh: Option<SshEndpoint>) -> anyhow::Result<AdminParts> {
    let settings = &services.settings;
    let reach =
        ClusterConnector { directory: services.directory().await? as _, dialer: services.dialer.clone() };
    let ca = settings.tls.as_ref().and_then(|tls| tls.ca_file.as_deref());
    let issuer = match &settings.proxy.url {
        None => None,
        Some(url) => Some(Issuer {
            access: services.access().await?,
            proxy: url.origin().ascii_serialization(),
            ca_pem: ca.map(files::read).transpose()?,
            ssh,
        }),
    };
    Ok(AdminParts {
        reach: Some(reach),
        issuer,
        azure: azure(services),
        machines: services.azure.boot_diagnostics(),
        investigations: investigations::investigations(services)?,
        roles: roles(settings),
    })
}

/// Clusters' resources in Azure, for actions of administrators, with the tries of steps: they are waited for.
fn azure(services: &Services) -> Option<Arc<dyn TenantResources>> {
    let policy = CallPolicy::new(RetryPolicy::STEPS, ACTION_PATIENCE);
    services.azure.client().map(|arm| Arc::new(arm.with_policy(policy)) as _)
}

/// What Azure is asked about a new cluster, where there is an Azure; a simulation brings its own.
fn checks(
    services: &Services,
    callers: Callers,
    own: Option<Arc<dyn CreateChecks>>,
) -> Option<Arc<dyn CreateChecks>> {
    match callers {
        Callers::Everybody => own,
        Callers::Settings => services.azure.client().map(|arm| Arc::new(AzureChecks::new(arm.clone())) as _),
    }
}

/// Hosts that may stand in the addresses of answers: those of the settings, else the cloud's resource manager with the
/// hosts below it (regions have their own), and ourselves.
fn referers(settings: &Settings) -> anyhow::Result<Vec<String>> {
    let told = &settings.rp.answers.referers;
    if !told.is_empty() {
        return Ok(told.clone());
    }
    let cloud: Cloud = settings.azure.environment.word().parse().context("azure.environment")?;
    let manager = Endpoints::for_cloud(cloud).map(|endpoints| endpoints.resource_manager);
    let all = [manager.as_ref(), settings.azure.resource_manager.as_ref(), settings.rp.api.url.as_ref()];
    let hosts = all.into_iter().flatten().filter_map(url::Url::host_str).map(str::to_ascii_lowercase);
    let mut hosts: Vec<String> = hosts.flat_map(|host| [format!(".{host}"), host]).collect();
    if hosts.iter().any(|host| host == "localhost") {
        // Under its other name.
        hosts.push("127.0.0.1".to_owned());
    }
    Ok(hosts)
}

/// AppLens, where the cloud has one.
fn detectors(services: &Services) -> Option<Arc<dyn Detectors>> {
    let arm = services.azure.client()?;
    let arm = arm.with_policy(CallPolicy::new(RetryPolicy::DIAGNOSES, DIAGNOSIS_PATIENCE));
    let lens = AppLens::new(arm, Arc::clone(&services.clock), Arc::clone(&services.random))?;
    Some(Arc::new(AppLensDetectors::new(lens)))
}

/// What each person may do for whom the admin tool calls.
fn roles(settings: &Settings) -> AdminRoles {
    let told = &settings.rp.admin;
    AdminRoles::new([
        (AdminRole::Reader, told.admin_readers.as_slice()),
        (AdminRole::Operator, told.admin_operators.as_slice()),
        (AdminRole::Elevated, told.admin_elevated.as_slice()),
    ])
}

async fn parts(
    services: &Services,
    life: &Lifecycle,
    inputs: FrontendInputs,
) -> anyhow::Result<FrontendParts> {
    let settings = &services.settings;
    let (told, answers) = (&settings.rp.api, &settings.rp.answers);
    let missing = |key: &str| anyhow!("{key} is not set");
    let FrontendInputs { callers, checks: own, ssh } = inputs;
    Ok(FrontendParts {
        store: Arc::clone(&services.store),
        keyring: services.keyring.clone(),
        clock: Arc::clone(&services.clock),
        random: Arc::clone(&services.random),
        authorizer: callers::authorizer(services, life, callers)?,
        offers: StoreOffers::start(Arc::clone(&services.store)).await,
        checks: checks(services, callers, own),
        region: settings.azure.region.clone().ok_or_else(|| missing("azure.region"))?,
        domain: told.domain.clone().ok_or_else(|| missing("rp.domain"))?,
        commit: VERSION.to_owned(),
        development_workers: told.d2s_workers,
        gateway: told.gateway,
        edge: Edge {
            audit: Some(services.audit.clone()),
            metrics: Metrics::new(&services.registry, services.statsd.service(STATSD))
                .with_clusters(services.statsd.clusters()),
            ready: ReadyWindow::new(answers.ready_delay, life.leaving()),
            read_time: answers.read_time,
            poll_after: answers.poll_after,
            referers: referers(settings)?,
            own: told.url.clone().ok_or_else(|| missing("rp.url"))?,
            ..Edge::default()
        },
        admin: admin(services, ssh).await?,
        detectors: detectors(services),
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
