//! The accept loop: one for every HTTP listener.
//!
//! Admission and lifetime of connections are decided by [`crate::door`]; the stages (TLS, request head) have limits of
//! their own. An accept error never ends the loop, and a stop finishes requests, tells long connections and cuts at the
//! deadline.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rp_base::chain;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::MissedTickBehavior;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::door::{ConnectionHandle, ConnectionPermit, Door, DoorLimits, MonitoredStream, TrackedBody};
use crate::opening::{HeadDeadline, Opening, RequestTurn};
use crate::origin::{Origins, read_header};
use crate::tls::{ClientChain, ServerTls};

/// Silence after which the kernel asks whether a client is still there (`contract/portal.md` §1.3).
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Answers requests. One call is one request; a panic inside ends that request's connection only.
pub trait Handler: Send + Sync + 'static {
    /// The answer's body.
    type Body: Body<Data = bytes::Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;

    /// Answers a request from `peer`. Its extensions have the connection's [`ConnectionHandle`], to be told when the
    /// peer has shown who it is.
    fn handle(
        &self,
        request: Request<Incoming>,
        peer: SocketAddr,
    ) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// What a client may cost.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Who gets in, and how long a connection may last on which nothing happens.
    pub door: Arc<Door>,
    /// For the TLS handshake.
    pub handshake: Duration,
    /// For the head of a request on HTTP/1.1, also the longest idle time between two.
    pub head: Duration,
    /// For a head once its first byte is there, on HTTP/2 also for every frame that is no body's; `None`: as `head`.
    /// Not where connections are upgraded: their bytes would be taken for a head's.
    pub begun: Option<Duration>,
    /// HTTP/2: requests at once on a connection.
    pub streams: u32,
    /// HTTP/2: silence after which the client is pinged, and how long it has to answer.
    pub ping: Duration,
    /// Largest head, bytes.
    pub head_bytes: usize,
    /// Which peers are trusted to state a client's address.
    pub origins: Arc<Origins>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            door: Door::uncounted(DoorLimits::default()),
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(120),
            begun: None,
            streams: 250,
            ping: Duration::from_secs(30),
            head_bytes: 64 * 1024,
            origins: Arc::default(),
        }
    }
}

impl Limits {
    /// Limits with this number of connections and no limits of strangers.
    pub fn with_connections(connections: usize) -> Self {
        let door =
            Door::uncounted(DoorLimits { connections, per_address: connections, ..DoorLimits::default() });
        Self { door, ..Self::default() }
    }
}

/// When to stop: `stop` ends accepting and asks connections to finish, `cut` ends what is left.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    pub stop: CancellationToken,
    pub cut: CancellationToken,
}

/// How many connections a listener has.
#[derive(Debug, Default)]
pub struct Gauge(AtomicUsize);

impl Gauge {
    /// Open connections now.
    pub fn open(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

struct OpenConnectionGuard(Arc<Gauge>);

impl OpenConnectionGuard {
    fn new(gauge: &Arc<Gauge>) -> Self {
        gauge.0.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(gauge))
    }
}

impl Drop for OpenConnectionGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One listener and what it serves with.
#[derive(Debug)]
pub struct Listener<H> {
    pub tcp: TcpListener,
    /// `None`: plain HTTP.
    pub tls: Option<Arc<ServerTls>>,
    pub handler: Arc<H>,
    pub limits: Limits,
    pub gauge: Arc<Gauge>,
}

impl<H: Handler> Listener<H> {
    /// Serves until `stop`; returns when the last connection has ended or was cut.
    pub async fn serve(self, stop: Stop) {
        let tasks = TaskTracker::new();
        let builder = Arc::new(builder(&self.limits));
        let door = &self.limits.door;
        let mut sweeps = tokio::time::interval(door.sweep_every());
        sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = tokio::select! {
                () = stop.stop.cancelled() => break,
                accepted = self.tcp.accept() => accepted,
                _ = sweeps.tick() => {
                    door.sweep();
                    continue;
                }
            };
            let (tcp, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, mostly: take some back and wait, rather than spin.
                    tracing::warn!(error = %chain(&error), "cannot accept");
                    door.relieve(&error);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Ok(place) = door.enter(peer.ip(), self.limits.origins.speaks(peer.ip())) else { continue };
            let connection = Connection {
                tls: self.tls.clone(),
                handler: Arc::clone(&self.handler),
                builder: Arc::clone(&builder),
                handshake: self.limits.handshake,
                head: self.limits.head,
                begun: self.limits.begun,
                origins: Arc::clone(&self.limits.origins),
                stop: stop.clone(),
            };
            let open = OpenConnectionGuard::new(&self.gauge);
            tasks.spawn(async move {
                connection.run(tcp, peer, place).await;
                drop(open);
            });
        }
        drop(self.tcp);
        tasks.close();
        tasks.wait().await;
    }
}

fn builder(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        // Never pipeline_flush: it lifts the bound of the write buffer, and a slow reader then costs all memory.
        .max_buf_size(limits.head_bytes.max(8192));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(limits.head_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(limits.ping)
        .keep_alive_timeout(limits.ping);
    builder
}

struct Connection<H> {
    tls: Option<Arc<ServerTls>>,
    handler: Arc<H>,
    builder: Arc<auto::Builder<TokioExecutor>>,
    handshake: Duration,
    head: Duration,
    begun: Option<Duration>,
    origins: Arc<Origins>,
    stop: Stop,
}

impl<H: Handler> Connection<H> {
    /// Until it has ended, or the door ends it.
    async fn run(self, tcp: TcpStream, peer: SocketAddr, place: ConnectionPermit) {
        let handle = place.handle().clone();
        tokio::select! {
            () = self.talk(tcp, peer, place) => {}
            () = handle.cut() => tracing::debug!(peer = %peer.ip(), "the door ended a connection"),
        }
    }

    async fn talk(self, mut tcp: TcpStream, peer: SocketAddr, place: ConnectionPermit) {
        // Without it every answer waits for the peer's delayed acknowledgement: 44 ms.
        let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
        let set =
            tcp.set_nodelay(true).and_then(|()| socket2::SockRef::from(&tcp).set_tcp_keepalive(&keepalive));
        if let Err(error) = set {
            tracing::debug!(error = %chain(&error), "connection lost at once");
            return;
        }
        let Some(peer) = self.origin(&mut tcp, peer, &place).await else { return };
        match self.tls.clone() {
            None => self.http(MonitoredStream::new(tcp, place), None, None, peer).await,
            // Boxed, for what a handshake needs must not stay in the task of an idle connection.
            Some(tls) => {
                if let Some(stream) = Box::pin(self.accept(&tls, tcp, peer)).await {
                    let session = stream.get_ref().1;
                    let alpn = session.alpn_protocol().map(<[u8]>::to_vec);
                    let shown = session.peer_certificates();
                    let chain = shown
                        .map(|chain| ClientChain(chain.iter().map(|der| der.clone().into_owned()).collect()));
                    self.http(MonitoredStream::new(stream, place), alpn, chain, peer).await;
                }
            }
        }
    }

    /// Behind a balancer, the client that it speaks for. Boxed: see `run`.
    async fn origin(
        &self,
        tcp: &mut TcpStream,
        peer: SocketAddr,
        place: &ConnectionPermit,
    ) -> Option<SocketAddr> {
        if !self.origins.heads(peer.ip()) {
            return Some(peer);
        }
        let read = Box::pin(tokio::time::timeout(self.handshake, read_header(tcp, peer))).await;
        match read.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())) {
            Ok(origin) => place.comes_from(origin).is_ok().then_some(origin),
            Err(error) => {
                tracing::debug!(peer = %peer.ip(), error = %chain(&error), "no PROXY protocol header");
                None
            }
        }
    }

    /// The TLS session in a box: moved around by value it would be in the task several times.
    async fn accept(
        &self,
        tls: &ServerTls,
        tcp: TcpStream,
        peer: SocketAddr,
    ) -> Option<Box<TlsStream<TcpStream>>> {
        match tokio::time::timeout(self.handshake, tls.accept(tcp)).await {
            Ok(Ok(stream)) => return Some(Box::new(stream)),
            Ok(Err(error)) => {
                tracing::debug!(peer = %peer.ip(), error = %chain(&error), "TLS handshake failed");
            }
            Err(_) => tracing::debug!(peer = %peer.ip(), "TLS handshake took too long"),
        }
        None
    }

    async fn http<S>(
        self,
        stream: MonitoredStream<S>,
        alpn: Option<Vec<u8>>,
        shown: Option<ClientChain>,
        peer: SocketAddr,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handle = stream.handle().clone();
        let turn = self.begun.map(|_| Arc::<RequestTurn>::default());
        let heads = self.begun.zip(turn.clone()).map(|(within, turn)| HeadDeadline { within, turn });
        let stream = Opening::new(stream, self.head, heads).speaking(alpn.as_deref());
        let (handler, request_handle) = (self.handler, handle.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            if let Some(shown) = &shown {
                request.extensions_mut().insert(shown.clone());
            }
            request.extensions_mut().insert(request_handle.clone());
            let (handler, turn, request_handle) =
                (Arc::clone(&handler), turn.clone(), request_handle.clone());
            if let Some(turn) = &turn {
                turn.pass();
            }
            // Boxed, so that it is gone while an answer's body goes on: hyper keeps room for it as long as
            // a connection (HTTP/1.1) or a stream (HTTP/2) lives, which with idle watches is most memory.
            Box::pin(async move {
                let answer = answered(&*handler, request, peer, &request_handle).await;
                if let Some(turn) = turn {
                    turn.pass();
                }
                Ok::<_, Infallible>(answer)
            })
        });
        let connection = self.builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let leaving = async {
            tokio::select! {
                () = self.stop.stop.cancelled() => {}
                () = handle.leave() => {}
            }
        };
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = leaving => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection.as_mut() => ended,
                    () = self.stop.cut.cancelled() => Ok(()),
                }
            }
        };
        // The handler of the upgrade holds the connection from here on.
        handle.upgraded();
        if let Err(error) = ended {
            tracing::debug!(peer = %peer.ip(), error = %chain(&*error), "connection ended");
        }
    }
}

/// One request; refused unread when the peer leaves too much of what was answered before.
async fn answered<H: Handler>(
    handler: &H,
    request: Request<Incoming>,
    peer: SocketAddr,
    handle: &ConnectionHandle,
) -> Response<TrackedBody<H::Body>> {
    let Some(_request) = handle.begin() else {
        let mut refused = Response::new(TrackedBody::empty());
        *refused.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        refused.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        return refused;
    };
    handler.handle(request, peer).await.map(|body| TrackedBody::new(body, handle))
}
