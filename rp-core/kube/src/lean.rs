//! A lightweight GET client for the monitor, which reads thousands of clusters every minute.
//!
//! A [`LeanClient`] drives its connections inside the caller's task, reads bodies into the caller's memory and keeps no
//! HTTP state between two requests: an idle connection is a socket and its TLS keys. Connections beyond the first
//! are opened only when requests have to wait; TLS session resumption makes them cheap.

mod read_ahead;
#[cfg(test)]
mod tests;

use std::future::Future as _;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Version};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kube::client::Client;
use parking_lot::Mutex;
use rp_documents::Side;
use rp_net::tls;
use rp_net::{Credential, DialError, Dialer, Port, Stage, Target};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use self::read_ahead::ReadAhead;
use crate::connect::{ClientError, ClientOptions, Identity, assemble, base_uri, bearer};

/// Limits and timeouts for one cluster.
#[derive(Debug, Clone)]
pub struct LeanOptions {
    /// For dialling and the TLS handshake together.
    pub dial: Duration,
    /// Timeout from the request to the response head.
    pub head: Duration,
    /// Longest pause inside a body.
    pub silence: Duration,
    /// Maximum number of concurrent connections.
    pub connections: usize,
    /// A request that has waited this long for a connection may open another one.
    pub crowd: Duration,
    /// `User-Agent` of every request.
    pub user_agent: String,
}

impl Default for LeanOptions {
    fn default() -> Self {
        Self {
            dial: Duration::from_secs(10),
            head: Duration::from_secs(30),
            silence: Duration::from_secs(15),
            connections: 5,
            crowd: Duration::from_millis(250),
            user_agent: "aro".to_owned(),
        }
    }
}

/// Size of one read from a connection, bytes: a TLS record.
const READ: usize = 16 * 1024 + 512;

/// A TLS connection without HTTP state.
type Wire = Box<TlsStream<ReadAhead>>;

/// Head of a response; the body is in the buffer that the caller passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: StatusCode,
    /// `Retry-After` in seconds, where it is a number.
    pub retry_after: Option<Duration>,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum LeanError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error("no answer within {} s", .0.as_secs())]
    NoHead(Duration),
    #[error("the answer stopped in the middle for {} s", .0.as_secs())]
    Stalled(Duration),
    #[error("the connection broke")]
    Broken(#[source] hyper::Error),
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
    #[error("the path cannot be asked for")]
    Path(#[source] http::Error),
}

/// GETs of one cluster. It is made for the target as it is now: make another when [`Target::fingerprint`] changes.
pub struct LeanClient {
    dialer: Dialer,
    target: Arc<Target>,
    tls: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    host: HeaderValue,
    authorization: Option<HeaderValue>,
    user_agent: HeaderValue,
    options: LeanOptions,
    pool: Mutex<Pool>,
    freed: Notify,
}

impl std::fmt::Debug for LeanClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lean").field("target", &self.target.id).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Pool {
    idle: Vec<Wire>,
    /// Idle connections, those in use and those being opened.
    open: usize,
}

/// Permission to hold one connection; released on drop.
struct ConnectionPermit<'a>(&'a LeanClient);

impl Drop for ConnectionPermit<'_> {
    fn drop(&mut self) {
        self.0.pool.lock().open -= 1;
        self.0.freed.notify_one();
    }
}

enum PooledConnection<'a> {
    Kept(Wire, ConnectionPermit<'a>),
    New(ConnectionPermit<'a>),
}

impl LeanClient {
    /// Nothing is dialled yet.
    ///
    /// # Errors
    /// The stored data of the target cannot be used.
    pub fn new(
        dialer: Dialer,
        target: Arc<Target>,
        identity: Identity,
        options: LeanOptions,
    ) -> Result<Self, ClientError> {
        let credential = match identity {
            Identity::Read => &target.read,
            Identity::Admin => &target.admin,
        };
        let authorization = match credential {
            Credential::Token(token) => Some(bearer(token.expose())?),
            Credential::Certificate { .. } => None,
        };
        let mut tls =
            tls::client_config(&target.ca_pem, Some(credential), &[b"http/1.1"]).map_err(ClientError::Tls)?;
        // The default reserves room for 256 servers; there is only one here.
        tls.resumption = Resumption::in_memory_sessions(1);
        let base = base_uri(&target)?;
        let host = base.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        Ok(Self {
            server_name: ServerName::try_from(target.server_name.clone()).map_err(ClientError::ServerName)?,
            host: HeaderValue::from_str(host).map_err(ClientError::Header)?,
            user_agent: HeaderValue::from_str(&options.user_agent).map_err(ClientError::Header)?,
            dialer,
            target,
            tls: Arc::new(tls),
            authorization,
            options,
            pool: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// The target of the requests.
    pub const fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// Sends a GET for `path` (with its query, below the target's base path) and reads the body, at most `most` bytes,
    /// into `into`, which is cleared first; the status may be any.
    ///
    /// # Errors
    /// [`LeanError`]; `into` may hold a part of the body.
    pub async fn get(&self, path: &str, most: usize, into: &mut Vec<u8>) -> Result<ResponseHead, LeanError> {
        loop {
            into.clear();
            let (wire, place, kept) = match self.take().await {
                PooledConnection::Kept(wire, place) => (wire, place, true),
                PooledConnection::New(place) => (self.dial().await?, place, false),
            };
            let (answer, wire) = exchange(wire, self.request(path)?, &self.options, most, into).await;
            if let Some(wire) = wire {
                self.give_back(wire, place);
            }
            match answer {
                // The server closed the idle connection: a GET is safe to send again.
                Err(LeanError::Broken(_)) if kept && into.is_empty() => {}
                answer => return answer,
            }
        }
    }

    /// Closes all idle connections except `keep` of them.
    pub fn settle(&self, keep: usize) {
        let mut pool = self.pool.lock();
        let kept = keep.min(pool.idle.len());
        let closed = pool.idle.split_off(kept);
        pool.open -= closed.len();
        pool.idle.shrink_to_fit();
        drop(pool);
        drop(closed);
    }

    /// Number of open connections.
    pub fn open(&self) -> usize {
        self.pool.lock().open
    }

    /// An ordinary client that shares trust, credential and TLS sessions: for short-lived port-forwards.
    ///
    /// # Errors
    /// The user agent is not a valid header value.
    pub fn client(&self, options: &ClientOptions) -> Result<Client, ClientError> {
        let (dialer, tls) = (self.dialer.clone(), Arc::clone(&self.tls));
        assemble(dialer, Arc::clone(&self.target), tls, self.authorization.clone(), options)
    }

    fn request(&self, path: &str) -> Result<Request<Empty<Bytes>>, LeanError> {
        let uri = format!("{}{path}", self.target.base_path());
        let mut request = Request::get(uri)
            .header(HOST, &self.host)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, &self.user_agent)
            .body(Empty::new())
            .map_err(LeanError::Path)?;
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        Ok(request)
    }

    /// An idle connection, or the permission to open one.
    async fn take(&self) -> PooledConnection<'_> {
        let mut patience = false;
        loop {
            let mut freed = pin!(self.freed.notified());
            freed.as_mut().enable();
            {
                let mut pool = self.pool.lock();
                if let Some(wire) = pool.idle.pop() {
                    return PooledConnection::Kept(wire, ConnectionPermit(self));
                }
                if pool.open == 0 || (patience && pool.open < self.options.connections) {
                    pool.open += 1;
                    return PooledConnection::New(ConnectionPermit(self));
                }
            }
            if patience {
                freed.await;
            } else {
                patience = timeout(self.options.crowd, freed).await.is_err();
            }
        }
    }

    fn give_back(&self, wire: Wire, place: ConnectionPermit<'_>) {
        // The pooled connection still counts as open.
        std::mem::forget(place);
        self.pool.lock().idle.push(wire);
        self.freed.notify_one();
    }

    async fn dial(&self) -> Result<Wire, DialError> {
        let within = self.options.dial;
        let connect = async {
            let stream = self.dialer.dial(&self.target, Port::Api, within).await?;
            let connector = TlsConnector::from(Arc::clone(&self.tls));
            let tls = connector.connect(self.server_name.clone(), ReadAhead::new(stream)).await;
            tls.map(Box::new).map_err(|error| DialError::new(Side::Cluster, Stage::Tls, error))
        };
        match timeout(within, connect).await {
            Ok(wire) => wire,
            Err(_) => {
                let late = io::Error::new(io::ErrorKind::TimedOut, "no TLS handshake before the deadline");
                Err(DialError::new(Side::Cluster, Stage::Tls, late))
            }
        }
    }
}

/// One request and its response. Returns the connection if it can be reused.
async fn exchange(
    wire: Wire,
    request: Request<Empty<Bytes>>,
    options: &LeanOptions,
    most: usize,
    into: &mut Vec<u8>,
) -> (Result<ResponseHead, LeanError>, Option<Wire>) {
    let mut builder = http1::Builder::new();
    builder.read_buf_exact_size(Some(READ));
    let (sender, mut connection) = match builder.handshake(TokioIo::new(wire)).await {
        Ok(pair) => pair,
        Err(error) => return (Err(LeanError::Broken(error)), None),
    };
    let mut over = false;
    let answer = {
        let mut answer = pin!(read(sender, request, options, most, into));
        // Both in one task: no wake-ups across threads, and nothing keeps running when the caller is dropped.
        std::future::poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            if !over {
                over = connection.poll_without_shutdown(cx).is_ready();
            }
            answer.as_mut().poll(cx)
        })
        .await
    };
    match answer {
        Ok((got, true)) if !over => {
            let parts = connection.into_parts();
            let wire = parts.read_buf.is_empty().then(|| parts.io.into_inner());
            (Ok(got), wire)
        }
        Ok((got, _)) => (Ok(got), None),
        Err(error) => (Err(error), None),
    }
}

/// The response head, and whether the connection may be reused.
async fn read(
    mut sender: http1::SendRequest<Empty<Bytes>>,
    request: Request<Empty<Bytes>>,
    options: &LeanOptions,
    most: usize,
    into: &mut Vec<u8>,
) -> Result<(ResponseHead, bool), LeanError> {
    let answer = timeout(options.head, sender.send_request(request)).await;
    let answer = answer.map_err(|_| LeanError::NoHead(options.head))?.map_err(LeanError::Broken)?;
    let (head, mut body) = answer.into_parts();
    let length = length(&head.headers);
    if length.is_some_and(|length| length > most) {
        return Err(LeanError::TooLong(most));
    }
    into.reserve(length.unwrap_or(0));
    loop {
        let frame = timeout(options.silence, body.frame()).await;
        let Some(frame) = frame.map_err(|_| LeanError::Stalled(options.silence))? else { break };
        if let Ok(data) = frame.map_err(LeanError::Broken)?.into_data() {
            if into.len() + data.len() > most {
                return Err(LeanError::TooLong(most));
            }
            into.extend_from_slice(&data);
        }
    }
    let closes =
        head.headers.get(CONNECTION).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
    let got = ResponseHead { status: head.status, retry_after: retry_after(&head.headers) };
    Ok((got, head.version == Version::HTTP_11 && !closes))
}

fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// RFC 9110 §10.2.3; the form with a date is not used by API servers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
