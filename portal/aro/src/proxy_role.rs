//! `aro proxy serve`: the API proxy alone, beside portals on the same database.

use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use rp_audit::Audit;
use rp_base::chain;
use rp_core::{Services, listener_limits, process};
use rp_database::SharedStore;
use rp_net::listen::{Gauge, Listener, Stop};
use rp_recording::Recordings;
use rp_runtime::{Lifecycle, LogControl, Watch};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::front::Front;
use crate::ssh::{self, Ssh};
use crate::{control, metrics, proxy_parts, recording};

/// The service's name in statsd: the portal's, whose listener it is.
const STATSD: &str = "portal";

/// A process that serves kubectl and its kind.
#[derive(Debug)]
pub struct ProxyServing {
    services: Services,
    recordings: Recordings,
    front: JoinHandle<()>,
    ssh: Option<JoinHandle<()>>,
    tunnels: Arc<proxy::tunnel_endpoint::TunnelApi>,
}

/// Opens the listener and serves until `life` ends.
///
/// # Errors
/// A part cannot be started; the message names it.
pub async fn start(
    services: Services,
    life: &Lifecycle,
    log: Option<LogControl>,
) -> anyhow::Result<ProxyServing> {
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
    let ssh = Ssh::open(&services, &ssh::machine_access(&services)).await?;
    let prom = proxy_parts::prom(&services).await?;
    let tls = proxy_parts::server_tls(settings)?;
    let address = settings.listen.portal;
    let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    process::follow_files(&services, life, watch, tls.clone(), Some(Arc::clone(&access)))?;
    control::start(&services, &access, life);
    let health = (Arc::clone(&services.store), services.audit.clone());
    let limits = listener_limits::web(settings, "web", &services.registry);
    let front = Front {
        api,
        metrics: proxy_parts::metrics_api(&services, &access, prom),
        tunnels: Arc::clone(&tunnels),
        pages: Router::new().route("/healthz/ready", get(ready)).with_state(health),
        proxy_hosts: settings.proxy.hosts.clone(),
        portal_host: None,
        origins: Arc::clone(&limits.origins),
        leaving: life.leaving(),
    };
    let listener = Listener { tcp, tls, handler: Arc::new(front), limits, gauge };
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };
    let ssh = ssh.map(|ssh| ssh.serve(&services, &access, &recordings, life)).transpose()?.flatten();
    tracing::info!(listen = %address, "serving the API proxy");
    Ok(ProxyServing { services, recordings, front: tokio::spawn(listener.serve(stop)), ssh, tunnels })
}

/// For the balancer; the reasons are on the admin listener.
async fn ready(State((store, audit)): State<(SharedStore, Audit)>) -> StatusCode {
    if store.ready().await.is_ok() && audit.ready().is_ok() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}

impl ProxyServing {
    /// Waits for the end: every request finished or cut, every audit entry written.
    pub async fn finished(self) {
        if let Err(error) = self.front.await {
            tracing::error!(error = %chain(&error), "the listener failed");
        }
        self.tunnels.finished().await;
        ssh::finished(self.ssh).await;
        self.recordings.close(recording::CLOSE_WITHIN).await;
        self.services.close().await;
        tracing::info!("stopped");
    }
}
