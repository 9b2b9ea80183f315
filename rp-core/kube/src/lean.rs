//! GETs with little ceremony, for whoever looks at thousands of clusters every minute.
//!
//! A [`Lean`] drives its connections inside the caller's task, reads bodies into the caller's memory and keeps nothing
//! of HTTP between two requests: an idle connection is a socket and its TLS keys. Beside the first connection others
//! are opened only when requests have to wait; a TLS session resumes, so that these are cheap.

#[cfg(test)]
mod tests;
mod wide;

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

use self::wide::Wide;
use crate::connect::{ClientError, ClientOptions, Identity, assemble, base_uri, bearer};

/// What one cluster may cost.
#[derive(Debug, Clone)]
pub struct LeanOptions {
    /// For dialling and the TLS handshake together.
    pub dial: Duration,
    /// From the request to the head of its answer.
    pub head: Duration,
    /// Longest silence inside a body.
    pub silence: Duration,
    /// Connections at once, at most.
    pub connections: usize,
    /// A request that has waited so long for a connection may open another.
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

/// Read at once from a connection, bytes: a TLS record.
const READ: usize = 16 * 1024 + 512;

/// A TLS connection without anything of HTTP in it.
type Wire = Box<TlsStream<Wide>>;

/// Head of an answer; the body is where the caller wanted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Got {
    pub status: StatusCode,
    /// `Retry-After` in seconds, where it is a number.
    pub retry_after: Option<Duration>,
}

/// Why there is no answer.
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
pub struct Lean {
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

impl std::fmt::Debug for Lean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lean").field("target", &self.target.id).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Pool {
    idle: Vec<Wire>,
    /// Idle ones, those in use and those being opened.
    open: usize,
}

/// A place among the connections; given back when it is dropped.
struct Place<'a>(&'a Lean);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.pool.lock().open -= 1;
        self.0.freed.notify_one();
    }
}

enum Taken<'a> {
    Kept(Wire, Place<'a>),
    New(Place<'a>),
}

impl Lean {
    /// Nothing is dialled yet.
    ///
    /// # Errors
    /// What is stored about the target cannot be used.
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
        // Its default is room for 256 servers; here is one.
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

    /// Whom it asks.
    pub const fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// Asks for `path` (with its query, below the target's base path) and reads the body, of at most `most` bytes,
    /// into the emptied `into`, whatever the status is.
    ///
    /// # Errors
    /// [`LeanError`]; `into` may hold a part of the body.
    pub async fn get(&self, path: &str, most: usize, into: &mut Vec<u8>) -> Result<Got, LeanError> {
        loop {
            into.clear();
            let (wire, place, kept) = match self.take().await {
                Taken::Kept(wire, place) => (wire, place, true),
                Taken::New(place) => (self.dial().await?, place, false),
            };
            let (answer, wire) = exchange(wire, self.request(path)?, &self.options, most, into).await;
            if let Some(wire) = wire {
                self.give_back(wire, place);
            }
            match answer {
                // The far side closed it while nobody looked: what only reads is asked again.
                Err(LeanError::Broken(_)) if kept && into.is_empty() => {}
                answer => return answer,
            }
        }
    }

    /// Closes all idle connections but so many, until they are needed again.
    pub fn settle(&self, keep: usize) {
        let mut pool = self.pool.lock();
        let kept = keep.min(pool.idle.len());
        let closed = pool.idle.split_off(kept);
        pool.open -= closed.len();
        pool.idle.shrink_to_fit();
        drop(pool);
        drop(closed);
    }

    /// Open connections now.
    pub fn open(&self) -> usize {
        self.pool.lock().open
    }

    /// An ordinary client that shares trust, credential and TLS sessions: for port-forwards, not to be kept.
    ///
    /// # Errors
    /// The user agent cannot stand in a header.
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

    /// An idle connection, or leave to open one.
    async fn take(&self) -> Taken<'_> {
        let mut patience = false;
        loop {
            let mut freed = pin!(self.freed.notified());
            freed.as_mut().enable();
            {
                let mut pool = self.pool.lock();
                if let Some(wire) = pool.idle.pop() {
                    return Taken::Kept(wire, Place(self));
                }
                if pool.open == 0 || (patience && pool.open < self.options.connections) {
                    pool.open += 1;
                    return Taken::New(Place(self));
                }
            }
            if patience {
                freed.await;
            } else {
                patience = timeout(self.options.crowd, freed).await.is_err();
            }
        }
    }

    fn give_back(&self, wire: Wire, place: Place<'_>) {
        // The connection keeps the place.
        std::mem::forget(place);
        self.pool.lock().idle.push(wire);
        self.freed.notify_one();
    }

    async fn dial(&self) -> Result<Wire, DialError> {
        let within = self.options.dial;
        let connect = async {
            let stream = self.dialer.dial(&self.target, Port::Api, within).await?;
            let connector = TlsConnector::from(Arc::clone(&self.tls));
            let tls = connector.connect(self.server_name.clone(), Wide::new(stream)).await;
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

/// One request and its answer. The connection comes back where another request may follow on it.
async fn exchange(
    wire: Wire,
    request: Request<Empty<Bytes>>,
    options: &LeanOptions,
    most: usize,
    into: &mut Vec<u8>,
) -> (Result<Got, LeanError>, Option<Wire>) {
    let mut builder = http1::Builder::new();
    builder.read_buf_exact_size(Some(READ));
    let (sender, mut connection) = match builder.handshake(TokioIo::new(wire)).await {
        Ok(pair) => pair,
        Err(error) => return (Err(LeanError::Broken(error)), None),
    };
    let mut over = false;
    let answer = {
        let mut answer = pin!(read(sender, request, options, most, into));
        // Both in one task: no wake-ups across threads, and nothing is left behind when the caller goes away.
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

/// The answer, and whether the connection may be used again.
async fn read(
    mut sender: http1::SendRequest<Empty<Bytes>>,
    request: Request<Empty<Bytes>>,
    options: &LeanOptions,
    most: usize,
    into: &mut Vec<u8>,
) -> Result<(Got, bool), LeanError> {
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
    let got = Got { status: head.status, retry_after: retry_after(&head.headers) };
    Ok((got, head.version == Version::HTTP_11 && !closes))
}

fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// RFC 9110 §10.2.3; the form with a date is not used by API servers.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
