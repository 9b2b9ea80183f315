//! `aro proxy serve`: the API proxy alone, beside portals on the same database.

use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use rp_audit::Audit;
use rp_base::chain;
use rp_config::Settings;
use rp_core::Foundation;
use rp_database::SharedStore;
use rp_net::listen::{Gauge, Listener, Stop};
use rp_recording::Recordings;
use rp_runtime::{Lifecycle, LogControl, Watch};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::front::Front;
use crate::ssh::{self, Ssh};
use crate::{control, parts, recording, serve, statsd};

/// A process that serves kubectl and its kind.
#[derive(Debug)]
pub struct ProxyServing {
    foundation: Foundation,
    recordings: Recordings,
    front: JoinHandle<()>,
    ssh: Option<JoinHandle<()>>,
    tunnels: Arc<proxy::tunnels::TunnelApi>,
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
) -> anyhow::Result<ProxyServing> {
    let gauge = Arc::new(Gauge::default());
    serve::register_metrics(&foundation.registry, &gauge);
    let watch = Watch::new(serve::reloaded_files(settings));
    serve::start_admin(settings, &foundation, life, log).await?;
    statsd::start(settings, serve::VERSION, Arc::clone(&foundation.clock), &foundation.registry, life)?;
    let access = parts::access(&foundation, settings).await?;
    let directory = parts::directory(&foundation).await?;
    let recordings = recording::recordings(settings, &foundation, life).await?;
    let api = serve::api_proxy(settings, &foundation, &access, &directory, recordings.clone(), life)?;
    let tunnels =
        serve::tunnel_api(&foundation, &access, &serve::places(settings, &foundation, &directory)?, life);
    let way = ssh::way(settings, &foundation)?;
    let ssh = Ssh::open(settings, &foundation, &directory, &way).await?;
    let prom = parts::prom(settings, &foundation, directory, parts::budget(settings, &foundation))?;
    let metrics = serve::metrics_api(&foundation, &access, prom);
    let tls = parts::server_tls(settings)?;
    let address = settings.listen.portal;
    let tcp = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    serve::follow_files(life, watch, tls.clone(), &foundation, &access)?;
    control::start(settings, &foundation, &access, life);
    let health = (Arc::clone(&foundation.store), foundation.audit.clone());
    let pages = Router::new().route("/healthz/ready", get(ready)).with_state(health);
    let limits = serve::limits(settings);
    let front = Front {
        api,
        metrics,
        tunnels: Arc::clone(&tunnels),
        pages,
        proxy_hosts: settings.proxy.hosts.clone(),
        portal_host: None,
        origins: Arc::clone(&limits.origins),
        leaving: life.leaving(),
    };
    let listener = Listener { tcp, tls, handler: Arc::new(front), limits, gauge };
    let stop = Stop { stop: life.stopping(), cut: life.cutting() };
    let ssh =
        ssh.map(|ssh| ssh.serve(settings, &foundation, &access, &recordings, life)).transpose()?.flatten();
    tracing::info!(listen = %address, "serving the API proxy");
    Ok(ProxyServing { foundation, recordings, front: tokio::spawn(listener.serve(stop)), ssh, tunnels })
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
        self.foundation.close().await;
        tracing::info!("stopped");
    }
}
