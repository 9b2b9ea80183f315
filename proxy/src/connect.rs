//! The CONNECT proxy for development (`contract/portal.md` §12.4): into one subnet, for one client
//! certificate.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use ipnet::IpNet;
use rp_base::chain;
use rp_net::door::{ConnectionHandle, Door, DoorLimits, StrangerLimits};
use rp_net::listen::{Gauge, Handler, Limits, Listener, Stop};
use rp_net::tls::ServerTls;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// API server, SSH of the masters, ingress: the ports that are used (`contract/portal.md` "Do better" 43).
const PORTS: [u16; 5] = [443, 6443, 2200, 2201, 2202];
const DIAL_WITHIN: Duration = Duration::from_secs(30);
/// A tunnel that carried nothing for so long is closed.
const IDLE: Duration = Duration::from_secs(4 * 3600);
/// Connections at once, and new ones of an address in a minute.
const CONNECTIONS: usize = 4096;
const NEW_PER_MINUTE: u32 = 3000;
/// The client's certificate is checked in the handshake, so a stranger is who has not ended it.
const STRANGERS: StrangerLimits = StrangerLimits {
    connections: 256,
    per_address: 64,
    answers: 8,
    time: Duration::from_secs(30),
    input: StrangerLimits::INPUT,
};
/// Health checks show no certificate.
const HEALTH_CHECKS: usize = 256;

/// Options of the proxy.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Where tunnels may end (`-subnet`, 10.0.0.0/8).
    pub subnet: IpNet,
    /// Ports beside the usual ones, for development.
    pub more_ports: Vec<u16>,
}

/// Serves CONNECT until stopped. `tls` asks for the one client certificate.
pub async fn serve(tcp: TcpListener, tls: Arc<ServerTls>, options: ConnectOptions, stop: Stop) {
    let handler = Arc::new(Connect { options, cut: stop.cut.clone() });
    let limits = limits(CONNECTIONS);
    Listener { tcp, tls: Some(tls), handler, limits, gauge: Arc::new(Gauge::default()) }.serve(stop).await;
}

/// Answers `Running.` on any path: what upstream's health check reads.
pub async fn serve_health(tcp: TcpListener, stop: Stop) {
    let limits = limits(HEALTH_CHECKS);
    let listener =
        Listener { tcp, tls: None, handler: Arc::new(Running), limits, gauge: Arc::new(Gauge::default()) };
    listener.serve(stop).await;
}

fn limits(connections: usize) -> Limits {
    let door = DoorLimits {
        connections,
        per_address: connections,
        new_per_minute: NEW_PER_MINUTE,
        strangers: Some(STRANGERS),
        ..DoorLimits::default()
    };
    Limits { door: Door::uncounted(door), ..Limits::default() }
}

struct Running;

impl Handler for Running {
    type Body = Full<Bytes>;

    async fn handle(&self, _request: Request<Incoming>, _peer: SocketAddr) -> Response<Full<Bytes>> {
        Response::new(Full::new(Bytes::from_static(b"Running.")))
    }
}

#[derive(Debug)]
struct Connect {
    options: ConnectOptions,
    cut: CancellationToken,
}

impl Handler for Connect {
    type Body = Full<Bytes>;

    async fn handle(&self, request: Request<Incoming>, peer: SocketAddr) -> Response<Full<Bytes>> {
        if let Some(connection) = request.extensions().get::<ConnectionHandle>() {
            connection.known();
        }
        let to = match self.check(&request) {
            Ok(to) => to,
            Err((status, text)) => return answer(status, text),
        };
        let dialled = tokio::time::timeout(DIAL_WITHIN, TcpStream::connect(to)).await;
        let tcp = match dialled {
            Err(_) => return answer(StatusCode::GATEWAY_TIMEOUT, "the address did not answer".to_owned()),
            Ok(Err(error)) => return answer(StatusCode::BAD_GATEWAY, error.to_string()),
            Ok(Ok(tcp)) => tcp,
        };
        if let Err(error) = tcp.set_nodelay(true) {
            return answer(StatusCode::BAD_GATEWAY, error.to_string());
        }
        tracing::info!(target: "proxy.connect", peer = %peer.ip(), to = %to, "tunnel opened");
        tokio::spawn(tunnel(request, tcp, self.cut.clone()));
        answer(StatusCode::OK, String::new())
    }
}

impl Connect {
    /// In the contract's order: `host:port`, then the method, then the subnet.
    fn check(&self, request: &Request<Incoming>) -> Result<SocketAddr, (StatusCode, String)> {
        let bad = || (StatusCode::BAD_REQUEST, "the address is not host:port".to_owned());
        let from_host = request.headers().get(http::header::HOST).and_then(|host| host.to_str().ok());
        let asked =
            request.uri().authority().map(http::uri::Authority::as_str).or(from_host).ok_or_else(bad)?;
        let (host, port) = asked.rsplit_once(':').ok_or_else(bad)?;
        let port: u16 = port.parse().map_err(|_| bad())?;
        if request.method() != Method::CONNECT {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "only CONNECT is answered".to_owned()));
        }
        let ip: Option<IpAddr> = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
        let inside = ip.filter(|ip| self.options.subnet.contains(ip));
        let known = PORTS.contains(&port) || self.options.more_ports.contains(&port);
        match inside {
            Some(ip) if known => Ok(SocketAddr::new(ip, port)),
            Some(_) => {
                Err((StatusCode::FORBIDDEN, format!("port {port} is not one that tunnels may end at")))
            }
            None => {
                Err((StatusCode::FORBIDDEN, format!("the host is not an address in {}", self.options.subnet)))
            }
        }
    }
}

async fn tunnel(request: Request<Incoming>, mut tcp: TcpStream, cut: CancellationToken) {
    let copied = async {
        let client = hyper::upgrade::on(request).await.map_err(std::io::Error::other)?;
        tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut tcp).await
    };
    tokio::select! {
        ended = tokio::time::timeout(IDLE, copied) => {
            if let Ok(Err(error)) = ended {
                tracing::debug!(error = %chain(&error), "tunnel broke off");
            }
        }
        () = cut.cancelled() => {}
    }
}

fn answer(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}
