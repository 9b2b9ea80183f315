//! `aro proxy serve`: the API proxy alone, beside portals on the same database.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use rp_audit::Audit;
use rp_core::{Services, process};
use rp_database::SharedStore;
use rp_runtime::{Lifecycle, LogControl};

use crate::proxy_front::{Pages, ProxyFront, RunningProxy};
use crate::proxy_parts;

/// A process that serves kubectl and its kind.
#[derive(Debug)]
pub struct ProxyServing {
    services: Services,
    proxy: RunningProxy,
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
    let proxy = ProxyFront::prepare(&services, life, log).await?;
    let prom = proxy_parts::prom(&services).await?;
    let health = (Arc::clone(&services.store), services.audit.clone());
    let router = Router::new().route("/healthz/ready", get(ready)).with_state(health);
    let proxy = proxy.serve(&services, prom, Pages { router, host: None }, life).await?;
    tracing::info!(listen = %services.settings.listen.portal, "serving the API proxy");
    Ok(ProxyServing { services, proxy })
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
        self.proxy.finished().await;
        process::close(&self.services).await;
    }
}
