//! API servers that do as the test says and remember every byte that they got.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::{Request, Response};
use parking_lot::Mutex;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::world::{Ca, World};

/// A request as its bytes came.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    /// Request line and headers, as they were.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) connection: usize,
}

impl ReceivedRequest {
    /// Every value of a header, any casing.
    pub(crate) fn values(&self, name: &str) -> Vec<&str> {
        let matches = |line: &&str| line.split_once(':').is_some_and(|(n, _)| n.eq_ignore_ascii_case(name));
        let lines = self.head.lines().filter(matches);
        lines.filter_map(|line| line.split_once(':')).map(|(_, value)| value.trim()).collect()
    }

    /// Header names in lower case, sorted, each as often as it came.
    pub(crate) fn names(&self) -> Vec<String> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut names: Vec<String> = lines.map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort();
        names
    }

    pub(crate) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

/// A connection to a scripted server, with what was read too far.
pub(crate) struct Peer {
    pub(crate) stream: TlsStream<TcpStream>,
    pub(crate) buffer: Vec<u8>,
}

impl Peer {
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        // The proxy may have closed: the test sees it on the other side.
        let _ = self.stream.write_all(bytes.as_ref()).await;
        let _ = self.stream.flush().await;
    }

    /// Whether the bytes went.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok() && self.stream.flush().await.is_ok()
    }

    pub(crate) async fn json(&mut self, body: &str) {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.write(format!("{head}{body}")).await;
    }

    /// Reads until `length` bytes are there; false at the end.
    pub(crate) async fn fill(&mut self, length: usize) -> bool {
        while self.buffer.len() < length {
            if self.stream.read_buf(&mut self.buffer).await.unwrap_or(0) == 0 {
                return false;
            }
        }
        true
    }

    async fn request(&mut self, connection: usize) -> Option<ReceivedRequest> {
        let end = loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            let before = self.buffer.len();
            if !self.fill(before + 1).await {
                return None;
            }
        };
        let head = String::from_utf8_lossy(&self.buffer.drain(..end).collect::<Vec<_>>()).into_owned();
        let mut seen = ReceivedRequest { head, body: Vec::new(), connection };
        let length =
            seen.values("content-length").first().and_then(|length| length.parse().ok()).unwrap_or(0);
        if !self.fill(length).await {
            return None;
        }
        seen.body = self.buffer.drain(..length).collect();
        if seen.values("transfer-encoding") == ["chunked"] {
            while !self.buffer.ends_with(b"0\r\n\r\n") {
                let before = self.buffer.len();
                if !self.fill(before + 1).await {
                    return None;
                }
            }
            seen.body = std::mem::take(&mut self.buffer);
        }
        Some(seen)
    }
}

/// What an HTTP/1.1 server does with a request; `Some` keeps the connection.
pub(crate) type Script = Arc<dyn Fn(ReceivedRequest, Peer) -> BoxFuture<'static, Option<Peer>> + Send + Sync>;
/// What an HTTP/2 server does with a request.
pub(crate) type H2Script =
    Arc<dyn Fn(Request<RecvStream>, SendResponse<Bytes>) -> BoxFuture<'static, ()> + Send + Sync>;

#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) seen: Mutex<Vec<ReceivedRequest>>,
    /// Bodies of access reviews.
    pub(crate) reviews: Mutex<Vec<String>>,
    pub(crate) connections: AtomicUsize,
    /// So many reviews are answered 503 first.
    pub(crate) unready: AtomicUsize,
    /// Bytes of TLS payload connections that are open now.
    pub(crate) open: AtomicUsize,
}

pub(crate) struct Upstream {
    pub(crate) port: u16,
    pub(crate) record: Arc<Record>,
    task: JoinHandle<()>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn acceptor(ca: &Ca, alpn: &[u8]) -> TlsAcceptor {
    let (chain, key) = ca.leaf("cluster", &["127.0.0.1", "::1"]);
    let chain = vec![CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let mut config = rustls::ServerConfig::builder_with_provider(rp_net::tls::provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

struct Open(Arc<Record>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn listen<F>(tls: TlsAcceptor, record: Arc<Record>, serve: F) -> Upstream
where
    F: Fn(TlsStream<TcpStream>, usize) -> BoxFuture<'static, ()> + Send + Sync + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let kept = Arc::clone(&record);
    let task = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        let serve = Arc::new(serve);
        while let Ok((tcp, _)) = listener.accept().await {
            let (tls, serve, record) = (tls.clone(), Arc::clone(&serve), Arc::clone(&record));
            connections.spawn(async move {
                let Ok(stream) = tls.accept(tcp).await else { return };
                record.open.fetch_add(1, Ordering::SeqCst);
                let _open = Open(Arc::clone(&record));
                let number = record.connections.fetch_add(1, Ordering::SeqCst);
                serve(stream, number).await;
            });
        }
    });
    Upstream { port, record: kept, task }
}

const REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

fn reviewed(allowed: bool) -> String {
    format!(r#"{{"kind":"SelfSubjectAccessReview","status":{{"allowed":{allowed}}}}}"#)
}

/// An HTTP/1.1 server; its reviews allow impersonation or not.
pub(crate) async fn h1(ca: &Ca, allowed: bool, script: Script) -> Upstream {
    let record = Arc::new(Record::default());
    let kept = Arc::clone(&record);
    listen(acceptor(ca, b"http/1.1"), record, move |stream, number| {
        let (record, script) = (Arc::clone(&kept), Arc::clone(&script));
        Box::pin(async move {
            let mut peer = Peer { stream, buffer: Vec::new() };
            while let Some(seen) = peer.request(number).await {
                if seen.head.contains(REVIEW) {
                    record.reviews.lock().push(String::from_utf8_lossy(&seen.body).into_owned());
                    let unready = record
                        .unready
                        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                        .is_ok();
                    if unready {
                        peer.write("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}").await;
                    } else {
                        peer.json(&reviewed(allowed)).await;
                    }
                    continue;
                }
                record.seen.lock().push(seen.clone());
                match script(seen, peer).await {
                    Some(kept) => peer = kept,
                    None => return,
                }
            }
        })
    })
    .await
}

/// An HTTP/1.1 server that answers everything with a small JSON object.
pub(crate) async fn echo(ca: &Ca, allowed: bool) -> Upstream {
    h1(
        ca,
        allowed,
        script(async |_, mut peer| {
            peer.json(r#"{"kind":"Echo"}"#).await;
            Some(peer)
        }),
    )
    .await
}

/// Makes a script of an async closure.
pub(crate) fn script<F, Fut>(script: F) -> Script
where
    F: Fn(ReceivedRequest, Peer) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Option<Peer>> + Send + 'static,
{
    Arc::new(move |seen, peer| Box::pin(script(seen, peer)))
}

/// An HTTP/1.1 server that allows impersonation, as the cluster of the test's resource id.
pub(crate) async fn scripted(world: &World, script: Script) -> Upstream {
    let upstream = h1(&world.ca, true, script).await;
    world.cluster(upstream.port);
    upstream
}

/// Limits of an HTTP/2 server.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct H2Limits {
    pub(crate) streams: Option<u32>,
    /// A connection says GOAWAY after so many requests.
    pub(crate) goaway_after: Option<usize>,
    /// A connection is closed without a word at the request after so many.
    pub(crate) closed_after: Option<usize>,
    /// Bytes that a stream and a connection may have in flight.
    pub(crate) window: Option<u32>,
}

/// An HTTP/2 server.
pub(crate) async fn h2(ca: &Ca, limits: H2Limits, script: H2Script) -> Upstream {
    let record = Arc::new(Record::default());
    listen(acceptor(ca, b"h2"), record, move |stream, _| {
        let script = Arc::clone(&script);
        Box::pin(async move {
            let mut builder = h2::server::Builder::new();
            if let Some(streams) = limits.streams {
                builder.max_concurrent_streams(streams);
            }
            if let Some(window) = limits.window {
                builder.initial_window_size(window).initial_connection_window_size(window);
            }
            let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
            let (mut tasks, mut served) = (JoinSet::new(), 0);
            while let Some(Ok((request, respond))) = connection.accept().await {
                served += 1;
                if limits.closed_after.is_some_and(|most| served > most) {
                    return;
                }
                let script = Arc::clone(&script);
                tasks.spawn(async move {
                    if request.uri().path() == REVIEW {
                        reply(respond, &reviewed(true));
                    } else {
                        script(request, respond).await;
                    }
                });
                if limits.goaway_after.is_some_and(|most| served >= most) {
                    connection.graceful_shutdown();
                }
            }
        })
    })
    .await
}

/// Starts a JSON answer.
pub(crate) fn begin(mut respond: SendResponse<Bytes>) -> SendStream<Bytes> {
    let response = Response::builder().header("content-type", "application/json").body(()).unwrap();
    respond.send_response(response, false).unwrap()
}

/// A whole JSON answer.
pub(crate) fn reply(respond: SendResponse<Bytes>, body: &str) {
    // The proxy may be gone.
    let _ = begin(respond).send_data(Bytes::copy_from_slice(body.as_bytes()), true);
}
