//! The health listener of the process (`contract/operator.md` §1), where Alertmanager also posts to.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use parking_lot::RwLock;
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::ServerTls;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::watch::Synced;

/// Connections of a listener.
const CONNECTIONS: usize = 64;

/// What the process is about to do.
#[derive(Debug, Clone, Default)]
enum Phase {
    /// Nothing is known of the cluster yet.
    #[default]
    Starting,
    /// Another process works; this one takes over when it ends.
    Standby,
    /// The controllers run.
    Working(Synced),
}

/// Whether the process is ready: its watches were read once, or it stands by. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Readiness(Arc<RwLock<Phase>>);

impl Readiness {
    /// Another process works.
    pub fn stand_by(&self) {
        *self.0.write() = Phase::Standby;
    }

    /// The controllers run; ready when these watches were read.
    pub fn work(&self, synced: Synced) {
        *self.0.write() = Phase::Working(synced);
    }

    /// Why the process is not ready; `None`: it is.
    pub fn missing(&self) -> Option<String> {
        match &*self.0.read() {
            Phase::Starting => Some("the API server has not answered yet".to_owned()),
            Phase::Standby => None,
            Phase::Working(synced) => {
                let missing = synced.missing();
                (!missing.is_empty()).then(|| format!("not read yet: {}", missing.join(", ")))
            }
        }
    }
}

/// Answers of the health listener.
#[derive(Debug)]
struct Health(Readiness);

impl Handler for Health {
    type Body = Full<Bytes>;

    async fn handle(&self, request: Request<Incoming>, _: SocketAddr) -> Response<Full<Bytes>> {
        // Any method: Alertmanager posts to it.
        match request.uri().path() {
            "/healthz/ready" => answer(StatusCode::OK, "ok".to_owned()),
            "/readyz/ready" => match self.0.missing() {
                None => answer(StatusCode::OK, "ok".to_owned()),
                Some(missing) => answer(StatusCode::SERVICE_UNAVAILABLE, missing),
            },
            _ => answer(StatusCode::NOT_FOUND, "not found".to_owned()),
        }
    }
}

pub(crate) fn answer(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    answer
}

/// Serves health until `stop`.
pub async fn serve_health(tcp: TcpListener, readiness: Readiness, stop: CancellationToken) {
    serve(tcp, None, Health(readiness), stop).await;
}

/// Serves until `stop`; `tls`: `None` is plain HTTP.
pub(crate) async fn serve<H: Handler>(
    tcp: TcpListener,
    tls: Option<Arc<ServerTls>>,
    handler: H,
    stop: CancellationToken,
) {
    let listener = Listener {
        tcp,
        tls,
        handler: Arc::new(handler),
        limits: Limits::with_connections(CONNECTIONS),
        gauge: Arc::new(Gauge::default()),
    };
    listener.serve(Stop { stop: stop.clone(), cut: stop }).await;
}
