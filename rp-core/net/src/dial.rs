//! The one dialer (`contract/portal.md` §12): private endpoints directly or by CONNECT, imported clusters
//! directly.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use rp_documents::Side;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::networks::{Forbidden, Networks};
use crate::stream::Tunnelled;
use crate::{Endpoint, Stream, Target};

/// Addresses of a name that are tried.
const MOST_ADDRESSES: usize = 8;

/// Which service of a cluster (`contract/portal.md` §12.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// The API server: 6443 behind a private endpoint.
    Api,
    /// SSH of master n: 2200 + n.
    Ssh(u8),
}

impl Port {
    const fn behind_private_endpoint(self) -> u16 {
        match self {
            Self::Api => 6443,
            Self::Ssh(master) => 2200 + master as u16,
        }
    }
}

/// Where a dial stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    Resolve,
    Allow,
    Connect,
    Proxy,
    Tls,
}

impl Stage {
    /// The name in logs and as a label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Allow => "allow",
            Self::Connect => "connect",
            Self::Proxy => "proxy",
            Self::Tls => "tls",
        }
    }
}

/// A dial that failed: whose fault, where, and whether another try can help.
#[derive(Debug, thiserror::Error)]
#[error("could not reach the cluster ({})", stage.name())]
pub struct DialError {
    pub side: Side,
    pub stage: Stage,
    /// Nothing was sent: a repeat is safe. False where it would fail the same way.
    pub retry: bool,
    /// The deadline passed.
    pub timed_out: bool,
    #[source]
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

impl DialError {
    /// An error at a stage.
    pub fn new(side: Side, stage: Stage, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let cause = cause.into();
        let timed_out =
            cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
        Self { side, stage, retry: true, timed_out, cause }
    }

    /// Whether the other side ended the connection, and no more is known.
    pub fn broke_off(&self) -> bool {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        let kind = self.cause.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(kind, Some(BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof))
    }

    fn deadline(side: Side, stage: Stage) -> Self {
        Self::new(side, stage, io::Error::new(io::ErrorKind::TimedOut, "no answer before the deadline"))
    }

    const fn hopeless(mut self) -> Self {
        self.retry = false;
        self
    }
}

/// The CONNECT proxy of `contract/portal.md` §12.3–12.4.
#[derive(Clone)]
pub struct ConnectProxy {
    /// `host:port`.
    pub address: String,
    /// Name in the proxy's certificate; upstream's is `proxy`.
    pub server_name: ServerName<'static>,
    /// Trust and client certificate for the proxy; ALPN must be empty or `http/1.1`.
    pub tls: Arc<ClientConfig>,
}

impl std::fmt::Debug for ConnectProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectProxy").field("address", &self.address).finish_non_exhaustive()
    }
}

/// How private addresses are reached.
#[derive(Debug, Clone)]
pub enum PrivateWay {
    /// The process stands in the network of the private endpoints.
    Direct,
    /// Through the CONNECT proxy.
    Connect(ConnectProxy),
}

/// What the dialer is told.
#[derive(Debug, Clone)]
pub struct DialerOptions {
    pub private: PrivateWay,
    /// Where direct (imported) targets may be.
    pub networks: Networks,
    /// TCP keep-alive, seconds of silence before the first probe (`contract/portal.md` §1.3: 30 s).
    pub keepalive: Duration,
}

/// Finds the addresses of names that people entered.
#[async_trait]
pub trait Resolver: Send + Sync + std::fmt::Debug + 'static {
    /// The addresses of a host name, or of an IP address itself, with the port.
    ///
    /// # Errors
    /// There is no such name, or nobody answers.
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// As this host does it.
#[derive(Debug, Clone, Copy)]
struct HostResolver;

#[async_trait]
impl Resolver for HostResolver {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(lookup_host((host, port)).await?.collect())
    }
}

/// Dials clusters.
#[derive(Debug, Clone)]
pub struct Dialer {
    options: Arc<DialerOptions>,
    resolver: Arc<dyn Resolver>,
}

impl Dialer {
    /// A dialer with these ways.
    pub fn new(options: DialerOptions) -> Self {
        Self::with_resolver(options, Arc::new(HostResolver))
    }

    /// The same with another way to find addresses.
    pub fn with_resolver(options: DialerOptions, resolver: Arc<dyn Resolver>) -> Self {
        Self { options: Arc::new(options), resolver }
    }

    /// How private addresses are reached.
    pub fn private_way(&self) -> &PrivateWay {
        &self.options.private
    }

    /// Opens a connection to a port of the target; no TLS towards the target itself yet.
    ///
    /// # Errors
    /// [`DialError`]; nothing was sent to the target.
    pub async fn dial(&self, target: &Target, port: Port, deadline: Duration) -> Result<Stream, DialError> {
        let deadline = Instant::now() + deadline;
        match &target.endpoint {
            Endpoint::Private { ip } => self.private(*ip, port.behind_private_endpoint(), deadline).await,
            Endpoint::Direct { url } => {
                let host = url.host_str().unwrap_or_default();
                let number = url.port_or_known_default().unwrap_or(443);
                if port != Port::Api {
                    // Its machines stand where the import says: `dial_address`.
                    let why = "an imported cluster has no private link";
                    return Err(DialError::new(Side::You, Stage::Allow, why).hopeless());
                }
                self.direct(host, number, deadline).await.map(Stream::Tcp)
            }
        }
    }

    /// Opens a connection to an address that a person entered, inside the allowed networks only.
    ///
    /// # Errors
    /// [`DialError`]; nothing was sent.
    pub async fn dial_address(&self, host: &str, port: u16, deadline: Duration) -> Result<Stream, DialError> {
        self.direct(host, port, Instant::now() + deadline).await.map(Stream::Tcp)
    }

    async fn private(&self, ip: IpAddr, port: u16, deadline: Instant) -> Result<Stream, DialError> {
        match &self.options.private {
            PrivateWay::Direct => {
                let tcp = self.tcp(SocketAddr::new(ip, port), deadline, Side::Cluster).await?;
                Ok(Stream::Tcp(tcp))
            }
            PrivateWay::Connect(proxy) => {
                let tunnel = self.tunnel(proxy, SocketAddr::new(ip, port), deadline).await?;
                Ok(Stream::Tunnel(Box::new(tunnel)))
            }
        }
    }

    async fn direct(&self, host: &str, port: u16, deadline: Instant) -> Result<TcpStream, DialError> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let found = timeout_at(deadline, self.resolver.addresses(host, port))
            .await
            .map_err(|_| DialError::deadline(Side::Us, Stage::Resolve))?
            .map_err(|error| DialError::new(Side::Cluster, Stage::Resolve, error))?;
        let mut last = DialError::new(Side::Cluster, Stage::Resolve, "the name has no address");
        // What was checked is dialled, and no name: another answer of a resolver changes nothing.
        for address in found.into_iter().take(MOST_ADDRESSES) {
            if let Err(forbidden) = self.options.networks.check(address) {
                last = forbidden_error(forbidden);
                continue;
            }
            match self.tcp(address, deadline, Side::Cluster).await {
                Ok(tcp) => return Ok(tcp),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn tcp(&self, address: SocketAddr, deadline: Instant, side: Side) -> Result<TcpStream, DialError> {
        let failed = |error: io::Error| DialError::new(side, Stage::Connect, error);
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let socket = socket.map_err(|error| DialError::new(Side::Us, Stage::Connect, error))?;
        let tcp = timeout_at(deadline, socket.connect(address))
            .await
            .map_err(|_| DialError::deadline(side, Stage::Connect))?
            .map_err(failed)?;
        tcp.set_nodelay(true).map_err(failed)?;
        let keepalive = socket2::TcpKeepalive::new()
            .with_time(self.options.keepalive)
            .with_interval(self.options.keepalive);
        socket2::SockRef::from(&tcp).set_tcp_keepalive(&keepalive).map_err(failed)?;
        Ok(tcp)
    }

    async fn tunnel(
        &self,
        proxy: &ConnectProxy,
        to: SocketAddr,
        deadline: Instant,
    ) -> Result<Tunnelled, DialError> {
        let ours =
            |cause: Box<dyn std::error::Error + Send + Sync>| DialError::new(Side::Us, Stage::Proxy, cause);
        let found = timeout_at(deadline, lookup_host(&proxy.address))
            .await
            .map_err(|_| DialError::deadline(Side::Us, Stage::Proxy))?
            .map_err(|error| ours(error.into()))?
            .next()
            .ok_or_else(|| ours("the proxy's name has no address".into()))?;
        let tcp = self.tcp(found, deadline, Side::Us).await?;
        let connect = TlsConnector::from(Arc::clone(&proxy.tls)).connect(proxy.server_name.clone(), tcp);
        let tls = timeout_at(deadline, connect)
            .await
            .map_err(|_| DialError::deadline(Side::Us, Stage::Proxy))?
            .map_err(|error| ours(error.into()))?;
        timeout_at(deadline, ask_for_tunnel(tls, to))
            .await
            .map_err(|_| DialError::deadline(Side::Cluster, Stage::Proxy))?
    }
}

/// Sends CONNECT and waits for its 200. What the far side has sent along with it is kept
/// (`contract/portal.md` §12.3).
async fn ask_for_tunnel(tls: TlsStream<TcpStream>, to: SocketAddr) -> Result<Tunnelled, DialError> {
    let ours = |cause: hyper::Error| DialError::new(Side::Us, Stage::Proxy, cause);
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(tls)).await.map_err(ours)?;
    let driver = tokio::spawn(connection.with_upgrades());
    let request = hyper::Request::connect(to.to_string())
        .header(hyper::header::HOST, to.to_string())
        .body(Empty::<Bytes>::new())
        .map_err(|error| DialError::new(Side::Us, Stage::Proxy, error))?;
    let response = sender.send_request(request).await.map_err(ours)?;
    if response.status() != hyper::StatusCode::OK {
        driver.abort();
        let why = format!("the proxy answered {}", response.status().as_u16());
        let side = if response.status().is_client_error() { Side::Us } else { Side::Cluster };
        return Err(DialError::new(side, Stage::Proxy, why));
    }
    let upgraded = hyper::upgrade::on(response).await.map_err(ours)?;
    let parts = upgraded
        .downcast::<TokioIo<TlsStream<TcpStream>>>()
        .map_err(|_| DialError::new(Side::Us, Stage::Proxy, "unexpected connection type"))?;
    Ok(Tunnelled::new(parts.read_buf, parts.io.into_inner()))
}

fn forbidden_error(forbidden: Forbidden) -> DialError {
    DialError::new(Side::You, Stage::Allow, forbidden).hopeless()
}
