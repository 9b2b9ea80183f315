//! The admin listener: metrics, health, log filter, profiles (`contract/deploy.md` §1: loopback, port 6060).
//! It has no authentication, so it listens on loopback, and there it accepts only this machine's host
//! names: a page in a browser must not reach it by a name that it controls.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rp_base::chain;
use rp_metrics::Registry;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "jemalloc")]
use crate::heap;
#[cfg(feature = "profiling")]
use crate::profile;
use crate::{LogControl, Readiness, VERSION, memory, tasks};

/// Connections at once.
const CONNECTIONS: usize = 64;
/// For the head of a request, and idle between two.
const HEAD: Duration = Duration::from_secs(30);
/// Longest body: a filter.
const BODY: usize = 8 * 1024;

/// What the listener shows. A cheap clone.
#[derive(Debug, Clone)]
pub struct Admin {
    pub registry: Registry,
    pub readiness: Readiness,
    /// None: the log filter cannot be seen or changed here.
    pub log: Option<LogControl>,
}

/// The listener could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for the admin pages")]
pub struct AdminError {
    address: SocketAddr,
    #[source]
    cause: std::io::Error,
}

impl Admin {
    /// Opens the listener and serves until `cut` is cancelled: health and metrics are wanted while the
    /// process drains. Gives the address, which is another than asked for when its port was 0.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn serve(self, address: SocketAddr, cut: CancellationToken) -> Result<SocketAddr, AdminError> {
        let failed = |cause| AdminError { address, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let (readiness, registry) = (self.readiness.clone(), self.registry.clone());
        let router = self.router(bound.ip());
        tokio::spawn(async move {
            tokio::select! {
                () = accept(listener, router) => {}
                () = readiness.show(&registry) => {}
                () = cut.cancelled() => {}
            }
        });
        Ok(bound)
    }

    /// The routes, for a listener on `ip`.
    pub fn router(self, ip: IpAddr) -> Router {
        let routes = Router::new()
            .route("/", get(index))
            .route("/metrics", get(metrics))
            .route("/healthz/live", get(|| async { "ok\n" }))
            .route("/healthz/ready", get(ready))
            .route("/version", get(|| async { format!("{VERSION}\n") }))
            .route("/log", get(log_filter).put(set_log_filter))
            .route("/debug/tasks", get(|| async { Json(tasks::page()) }))
            .route("/debug/pprof", get(index))
            .route("/debug/pprof/", get(index))
            .route("/debug/pprof/cpu", cpu_route())
            // The name that Go's tools ask for.
            .route("/debug/pprof/profile", cpu_route())
            .route("/debug/pprof/heap", heap_route())
            .route("/debug/memory", get(|| async { memory::page() }))
            .layer(axum::extract::DefaultBodyLimit::max(BODY))
            .with_state(self);
        if ip.is_loopback() { routes.layer(middleware::from_fn(only_local_names)) } else { routes }
    }
}

async fn index() -> &'static str {
    "GET /metrics                     Prometheus\n\
     GET /healthz/live                the process answers\n\
     GET /healthz/ready               every check, with the reason of what fails\n\
     GET /version                     the build\n\
     GET /log, PUT /log               the log filter, such as info,rp_net=debug\n\
     GET /debug/tasks                 the Tokio runtime\n\
     GET /debug/pprof/cpu?seconds=10  CPU profile; &format=flamegraph for a picture\n\
     GET /debug/pprof/heap?seconds=10 heap profile of what is allocated in that time and kept\n\
     PUT /debug/pprof/heap            on or off: sampling without an end, then GET answers at once\n\
     GET /debug/memory                memory by mapping\n"
}

async fn metrics(State(admin): State<Admin>) -> Response {
    // In pieces, each made when the last one is sent: a fleet's exposition is hundreds of megabytes.
    let pieces = futures_util::stream::iter(admin.registry.chunks().map(Ok::<_, Infallible>));
    ([(header::CONTENT_TYPE, Registry::CONTENT_TYPE)], Body::from_stream(pieces)).into_response()
}

async fn ready(State(admin): State<Admin>) -> Response {
    let report = admin.readiness.report().await;
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, report.to_string()).into_response()
}

async fn log_filter(State(admin): State<Admin>) -> Response {
    match admin.log {
        Some(log) => format!("{}\n", log.filter()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn set_log_filter(State(admin): State<Admin>, body: String) -> Response {
    let Some(log) = admin.log else { return StatusCode::NOT_FOUND.into_response() };
    match log.set(&body) {
        Ok(()) => {
            tracing::info!(filter = log.filter(), "log filter changed");
            StatusCode::NO_CONTENT.into_response()
        }
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    }
}

#[cfg(feature = "profiling")]
fn cpu_route() -> MethodRouter<Admin> {
    get(profile::cpu)
}

#[cfg(not(feature = "profiling"))]
fn cpu_route() -> MethodRouter<Admin> {
    const NONE: &str = "built without the feature profiling; /debug/tasks has the runtime\n";
    get(|| async { (StatusCode::NOT_IMPLEMENTED, NONE) })
}

#[cfg(feature = "jemalloc")]
fn heap_route() -> MethodRouter<Admin> {
    get(heap::profile).put(|word: String| async move { heap::switch(&word) })
}

/// The system's allocator keeps no profile.
#[cfg(not(feature = "jemalloc"))]
fn heap_route() -> MethodRouter<Admin> {
    const NONE: &str = "built without the feature jemalloc; /debug/memory has sizes by mapping\n";
    get(|| async { (StatusCode::NOT_IMPLEMENTED, NONE) })
}

async fn only_local_names(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.or(request.uri().authority().map(|a| a.as_str())).is_some_and(is_local) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "ask for localhost\n").into_response()
    }
}

/// Whether a host, with or without a port, is a name or address of this machine.
fn is_local(host: &str) -> bool {
    let bare = |ip: &str| ip.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let name = match host.strip_prefix('[') {
        Some(rest) => return rest.split_once(']').is_some_and(|(ip, _)| bare(ip)),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || bare(name)
}

async fn accept(listener: TcpListener, router: Router) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    connection(stream, router).await;
                    drop(permit);
                });
            }
            // Too many open files, mostly: others must close some first.
            Err(error) => {
                tracing::warn!(error = %chain(&error), "admin connection not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, router: Router) {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    let service = TowerToHyperService::new(router);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "admin connection ended early");
    }
}

#[cfg(test)]
mod tests;
