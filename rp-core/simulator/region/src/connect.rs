//! The CONNECT proxy, and the TLS of the API servers inside its tunnels.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rp_base::{SharedClock, chain};
use rp_net::listen::{Handler, Stop};
use rp_net::tls::{certificates, private_key, provider, roots};
use rp_simulator::body::{self, Body};
use rp_simulator::fleet::{Cluster, ClusterShape, Fleet};
use rp_simulator::installed::CertificatePair;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::api::{Api, Identity};
use super::ingress::Routers;
use super::installs::Installs;
use super::{RegionError, RegionIdentity, ssh};

/// Tunnels at once.
const TUNNELS: usize = 32_768;
/// For the TLS handshake inside a tunnel.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a silent cluster blocks a dial before the proxy gives up.
const SILENCE: Duration = Duration::from_secs(60);

/// What a port leads to.
#[derive(Debug)]
enum Service {
    /// With the TLS of this cluster's API server.
    Api(Arc<ServerConfig>),
    /// Of the master of that number.
    Ssh(usize),
}

/// Options of the handler.
pub(super) struct TunnelOptions {
    pub fleet: Arc<Fleet>,
    pub installs: Installs,
    pub tls: Arc<ServerConfig>,
    pub routers: Arc<Routers>,
    pub clock: SharedClock,
    pub tick: Duration,
    pub stop: Stop,
}

/// Answers CONNECT.
pub(super) struct Tunnels {
    fleet: Arc<Fleet>,
    installs: Installs,
    slots: Arc<Semaphore>,
    inner: Arc<Inner>,
}

struct Inner {
    /// Of every API server but those of installed clusters.
    tls: Arc<ServerConfig>,
    api: Arc<Api>,
    http: auto::Builder<TokioExecutor>,
    stop: Stop,
}

/// The configuration of every API server: one leaf, client certificates of the region's CA required.
pub(super) fn api_tls(identity: &RegionIdentity) -> Result<Arc<ServerConfig>, RegionError> {
    server_tls(&identity.ca, &identity.api)
}

/// The configuration of one: its leaf, and client certificates of that authority.
pub(super) fn server_tls(
    client_authority: &str,
    server: &CertificatePair,
) -> Result<Arc<ServerConfig>, RegionError> {
    let trusted = Arc::new(roots(client_authority, "the authority of clients")?);
    let verifier = WebPkiClientVerifier::builder_with_provider(trusted, provider())
        .build()
        .map_err(|error| RegionError::Verifier(error.into()))?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| RegionError::Verifier(error.into()))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            certificates(&server.certificate, "the API servers' certificate")?,
            private_key(&server.key, "the API servers' key")?,
        )
        .map_err(|error| RegionError::Verifier(error.into()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

impl Tunnels {
    pub(super) fn new(parts: TunnelOptions) -> Self {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_mins(2));
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(250)
            .keep_alive_interval(Duration::from_secs(30));
        let api = Arc::new(Api {
            fleet: Arc::clone(&parts.fleet),
            clock: parts.clock,
            tick: parts.tick,
            routers: parts.routers,
            files: Arc::default(),
            stop: parts.stop.stop.clone(),
        });
        let inner = Inner { tls: parts.tls, api, http, stop: parts.stop };
        let installs = parts.installs;
        Self {
            fleet: parts.fleet,
            installs,
            slots: Arc::new(Semaphore::new(TUNNELS)),
            inner: Arc::new(inner),
        }
    }

    /// The checks of `contract/portal.md` §12.4, in its order.
    fn target(&self, request: &Request<Incoming>) -> Result<(Cluster, Service), (StatusCode, &'static str)> {
        let authority = request.uri().authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let Some((host, port)) = authority.rsplit_once(':') else {
            return Err((StatusCode::BAD_REQUEST, "missing port in address"));
        };
        if request.method() != Method::CONNECT {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "only CONNECT"));
        }
        let ip = host.parse::<Ipv4Addr>().ok().filter(|ip| ip.octets()[0] == 10);
        let ip = ip.ok_or((StatusCode::FORBIDDEN, "not an address of the subnet"))?;
        let shared = || Some((self.fleet.at(ip)?, Arc::clone(&self.inner.tls)));
        let found = self.installs.at(ip).or_else(shared);
        let (cluster, tls) = found.ok_or((StatusCode::BAD_REQUEST, "dial: no route to host"))?;
        let service = match port {
            "6443" => Service::Api(tls),
            "2200" => Service::Ssh(0),
            "2201" => Service::Ssh(1),
            "2202" => Service::Ssh(2),
            _ => {
                return Err((
                    StatusCode::BAD_REQUEST,
                    "dial: connection refused: only the API server and SSH are simulated",
                ));
            }
        };
        Ok((cluster, service))
    }
}

impl Handler for Tunnels {
    type Body = Body;

    async fn handle(&self, mut request: Request<Incoming>, peer: SocketAddr) -> Response<Body> {
        let (cluster, service) = match self.target(&request) {
            Ok((cluster, service)) => (self.inner.api.now(&Arc::new(cluster)), service),
            Err((status, why)) => return answer(status, why),
        };
        match cluster.shape {
            ClusterShape::Refusing => return answer(StatusCode::GATEWAY_TIMEOUT, "dial: i/o timeout"),
            ClusterShape::Silent => {
                tokio::select! {
                    () = tokio::time::sleep(SILENCE) => {}
                    () = self.inner.stop.stop.cancelled() => {}
                }
                return answer(StatusCode::GATEWAY_TIMEOUT, "dial: i/o timeout");
            }
            _ => {}
        }
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            return answer(StatusCode::SERVICE_UNAVAILABLE, "too many tunnels");
        };
        let upgrade = hyper::upgrade::on(&mut request);
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            match upgrade.await {
                Ok(upgraded) => match service {
                    Service::Api(tls) => inner.serve(upgraded, cluster, tls, peer.ip(), slot).await,
                    Service::Ssh(master) => inner.ssh(upgraded, cluster, master, slot).await,
                },
                Err(error) => tracing::debug!(error = %chain(&error), "tunnel not opened"),
            }
        });
        answer(StatusCode::OK, "")
    }
}

impl Inner {
    /// A shell on a master, until one side ends it.
    async fn ssh(&self, tunnel: Upgraded, cluster: Arc<Cluster>, master: usize, _slot: OwnedSemaphorePermit) {
        let (clock, files) = (&self.api.clock, &self.api.files);
        let Some(machine) = ssh::Machine::master(&cluster, master, clock, files) else { return };
        let serving = ssh::serve(machine, TokioIo::new(tunnel));
        tokio::select! {
            () = serving => {}
            () = self.stop.stop.cancelled() => {}
        }
    }

    async fn serve(
        &self,
        tunnel: Upgraded,
        cluster: Arc<Cluster>,
        tls: Arc<ServerConfig>,
        peer: IpAddr,
        _slot: OwnedSemaphorePermit,
    ) {
        let tls = TlsAcceptor::from(tls);
        let accepted = tokio::select! {
            accepted = tokio::time::timeout(HANDSHAKE, tls.accept(TokioIo::new(tunnel))) => accepted,
            () = self.stop.cut.cancelled() => return,
        };
        let stream = match accepted {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%peer, error = %chain(&error), "TLS inside the tunnel failed");
                return;
            }
            Err(_) => return,
        };
        let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let Some(identity) = certificate.and_then(|leaf| Identity::of_certificate(leaf)) else { return };
        let identity = Arc::new(identity);
        let service = service_fn(|request| {
            let (api, cluster, identity) =
                (Arc::clone(&self.api), Arc::clone(&cluster), Arc::clone(&identity));
            async move {
                // A silent cluster answers as soon as its fault has healed.
                let cluster = api.wait_until_reachable(&cluster).await;
                Ok::<_, Infallible>(api.handle(&cluster, &identity, request).await)
            }
        });
        let connection = self.http.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stop.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = self.stop.cut.cancelled() => Ok(()),
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, error = %chain(&*error), "connection to a simulated API server ended");
        }
    }
}

fn answer(status: StatusCode, why: &'static str) -> Response<Body> {
    let mut response = Response::new(body::full(why));
    *response.status_mut() = status;
    response
}
