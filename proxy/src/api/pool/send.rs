//! Sending a request on whatever connection has room.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::{Reason, SendStream};
use http::{Request, Response, Version};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rp_net::Stream;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

use super::super::error::ProxyError;
use super::h1::H1Return;
use super::h2_connection::{H2Connection, H2Slot};
use super::upstream_body::UpstreamBody;
use super::{MOST_CONNECTIONS, Upstream};

/// What is wrong with a client's body that ended before its end.
pub(in crate::api) const BROKEN_BODY: &str = "its body broke off, or its chunks are malformed";

/// A request's body.
#[derive(Debug)]
pub(in crate::api) enum Outgoing {
    Empty,
    Full(Bytes),
    /// The client's.
    Client(Incoming, UploadStatus),
}

/// State of the upload of a client's body.
#[derive(Debug, Clone, Default)]
pub(in crate::api) struct UploadStatus {
    /// Bytes that passed.
    bytes: Arc<AtomicU64>,
    /// It broke off, or was framed wrongly.
    broke: Arc<AtomicBool>,
}

impl UploadStatus {
    fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whose fault a request is that was not answered.
    fn error_of(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ProxyError {
        if self.broke.load(Ordering::Relaxed) {
            ProxyError::BadRequest(BROKEN_BODY)
        } else {
            ProxyError::Broken(error.into())
        }
    }
}

/// Tries until a request is given up that the cluster did not process. A connection that says GOAWAY may do so after
/// its first request, and requests that wait together lose one such connection for each of them that is answered.
const TRIES: usize = 6;

enum Connection {
    H2(H2Slot),
    H1(hyper::client::conn::http1::SendRequest<OutBody>, Reused),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reused {
    Yes,
    No,
}

/// A failed try: again on another connection when nothing was processed, with what was not used up.
enum SendError {
    Again(Outgoing),
    Finally(ProxyError),
}

impl Upstream {
    /// Sends a request and gives the answer's head with its body unread. `silence`: the longest wait for the
    /// head during which no byte of the request passed either.
    pub(in crate::api) async fn send(
        self: &Arc<Self>,
        head: Request<()>,
        mut body: Outgoing,
        silence: Duration,
    ) -> Result<Response<UpstreamBody>, ProxyError> {
        *self.used.lock() = Instant::now();
        // A reused connection may be found closed, and GOAWAY may come at any time. The last try has a connection of
        // its own, whose first request no other can be.
        for attempt in 1..=TRIES {
            let connection = if attempt < TRIES {
                self.connection().await?
            } else {
                Box::pin(self.own_connection()).await?
            };
            let sent = match connection {
                Connection::H2(slot) => send_h2(slot, &head, body, silence).await,
                Connection::H1(sender, reused) => self.send_h1(sender, reused, &head, body, silence).await,
            };
            match sent {
                Ok(response) => return Ok(response),
                Err(SendError::Finally(error)) => return Err(error),
                Err(SendError::Again(unused)) => body = unused,
            }
        }
        Err(ProxyError::Broken("the cluster closed several connections in a row".into()))
    }

    fn free(&self) -> Option<Connection> {
        let slot = self.h2.read().iter().find_map(H2Connection::take);
        slot.map(Connection::H2)
            .or_else(|| self.take_idle().map(|sender| Connection::H1(sender, Reused::Yes)))
    }

    async fn connection(&self) -> Result<Connection, ProxyError> {
        match self.free() {
            Some(connection) => Ok(connection),
            // Boxed: rare and large, and every request would carry room for it.
            None => Box::pin(self.new_connection()).await,
        }
    }

    async fn new_connection(&self) -> Result<Connection, ProxyError> {
        let turn = self.turn(&self.dialling).await?;
        // The previous holder of the lock may have opened a connection with room for this request.
        if let Some(connection) = self.free() {
            return Ok(connection);
        }
        self.h2.write().retain(|connection| !connection.finished());
        if self.h2.read().len() >= MOST_CONNECTIONS {
            return Err(ProxyError::Crowded);
        }
        let tls = self.dial(&self.tls).await?;
        if speaks_h2(&tls) {
            let connection = H2Connection::open(tls, self.connect).await?;
            let slot = connection.take().ok_or(ProxyError::Crowded)?;
            self.h2.write().push(connection);
            return Ok(Connection::H2(slot));
        }
        drop(turn);
        handshake_h1(tls).await
    }

    /// A connection that is never offered to another request while this one is under way.
    async fn own_connection(&self) -> Result<Connection, ProxyError> {
        let tls = self.dial(&self.tls).await?;
        if !speaks_h2(&tls) {
            return handshake_h1(tls).await;
        }
        let connection = H2Connection::open(tls, self.connect).await?;
        connection.take().map(Connection::H2).ok_or(ProxyError::Crowded)
    }

    async fn send_h1(
        self: &Arc<Self>,
        mut sender: hyper::client::conn::http1::SendRequest<OutBody>,
        reused: Reused,
        head: &Request<()>,
        body: Outgoing,
        silence: Duration,
    ) -> Result<Response<UpstreamBody>, SendError> {
        let came = body.upload_status();
        let replay = matches!(body, Outgoing::Empty);
        let request = h1_request(head, body);
        let sent = waiting(sender.send_request(request), came.as_ref(), silence)
            .await
            .map_err(SendError::Finally)?;
        match sent {
            Ok(response) => {
                let (parts, incoming) = response.into_parts();
                let give_back = H1Return::new(sender, self);
                Ok(Response::from_parts(parts, UpstreamBody::h1(incoming, give_back)))
            }
            // A pooled connection was closed by the peer, and the request may be repeated.
            Err(_) if reused == Reused::Yes && replay && head.method().is_safe() => {
                Err(SendError::Again(Outgoing::Empty))
            }
            // The client broke its body off, or framed it wrongly.
            Err(error) if error.is_user() => Err(SendError::Finally(ProxyError::BadRequest(BROKEN_BODY))),
            Err(error) => Err(SendError::Finally(came.unwrap_or_default().error_of(error))),
        }
    }
}

fn speaks_h2(tls: &TlsStream<Stream>) -> bool {
    tls.get_ref().1.alpn_protocol() == Some(b"h2")
}

async fn handshake_h1(tls: TlsStream<Stream>) -> Result<Connection, ProxyError> {
    let (sender, connection) = hyper::client::conn::http1::Builder::new()
        .handshake(TokioIo::new(tls))
        .await
        .map_err(|error| ProxyError::Broken(Box::new(error)))?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(error = %rp_base::chain(&error), "connection to a cluster ended");
        }
    });
    Ok(Connection::H1(sender, Reused::No))
}

fn h1_request(head: &Request<()>, body: Outgoing) -> Request<OutBody> {
    let mut request = Request::new(OutBody(body));
    *request.method_mut() = head.method().clone();
    if let Some(path) = head.uri().path_and_query() {
        *request.uri_mut() = http::Uri::from(path.clone());
    }
    request.headers_mut().clone_from(head.headers());
    if let Some(authority) = head.uri().authority()
        && let Ok(host) = http::HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(http::header::HOST, host);
    }
    request
}

async fn send_h2(
    slot: H2Slot,
    head: &Request<()>,
    body: Outgoing,
    silence: Duration,
) -> Result<Response<UpstreamBody>, SendError> {
    let mut sender = match slot.sender().ready().await {
        Ok(sender) => sender,
        Err(_) => {
            slot.close();
            return Err(SendError::Again(body));
        }
    };
    let mut request = head.clone();
    *request.version_mut() = Version::HTTP_2;
    let ends = body.is_empty();
    let (response, stream) = match sender.send_request(request, ends) {
        Ok(sent) => sent,
        Err(_) => {
            slot.close();
            return Err(SendError::Again(body));
        }
    };
    let came = body.upload_status();
    let upload = (!ends).then(|| Upload::new(tokio::spawn(pump(body, stream))));
    let answered = waiting(response, came.as_ref(), silence).await;
    if answered.is_err() {
        // The connection may be dead: do not give it to other requests.
        slot.close();
    }
    match answered.map_err(SendError::Finally)? {
        Ok(response) => {
            let (mut parts, recv) = response.into_parts();
            parts.version = Version::HTTP_11;
            Ok(Response::from_parts(parts, UpstreamBody::h2(recv, slot, upload)))
        }
        Err(error) => {
            slot.close_if_gone(&error);
            // Both say that the stream was not processed (RFC 9113 §8.7).
            let untouched =
                error.is_remote() && (error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM));
            // A pooled connection was closed by the peer, whose GOAWAY a reset may have swallowed: a read may be
            // repeated (RFC 9110 §9.2.2).
            let pooled_read = error.is_io() && slot.reused() && head.method().is_safe();
            if ends && (untouched || pooled_read) {
                Err(SendError::Again(Outgoing::Empty))
            } else {
                Err(SendError::Finally(came.unwrap_or_default().error_of(error)))
            }
        }
    }
}

impl H2Slot {
    fn close_if_gone(&self, error: &h2::Error) {
        if error.is_go_away() || error.is_io() {
            self.close();
        }
    }
}

/// Waits for an answer as long as bytes of the request pass, and `silence` longer.
async fn waiting<T>(
    answer: impl Future<Output = T>,
    came: Option<&UploadStatus>,
    silence: Duration,
) -> Result<T, ProxyError> {
    let passed = || came.map_or(0, UploadStatus::bytes);
    let mut answer = std::pin::pin!(answer);
    let mut before = passed();
    loop {
        match tokio::time::timeout(silence, answer.as_mut()).await {
            Ok(answer) => return Ok(answer),
            Err(_) => {
                let now = passed();
                if now == before {
                    return Err(ProxyError::NoAnswer);
                }
                before = now;
            }
        }
    }
}

/// A request's body on its way; ends when dropped, so that it outlives neither its request nor its grant.
pub(super) type Upload = tokio_util::task::AbortOnDropHandle<()>;

/// Sends a body as the peer takes it.
async fn pump(body: Outgoing, mut stream: SendStream<Bytes>) {
    let mut body = OutBody(body);
    while let Some(frame) = body.frame().await {
        let Ok(Ok(mut data)) = frame.map(Frame::into_data) else {
            stream.send_reset(Reason::CANCEL);
            return;
        };
        while !data.is_empty() {
            stream.reserve_capacity(data.len());
            let Some(Ok(room)) = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await else { return };
            let part = data.split_to(room.min(data.len()));
            if stream.send_data(part, false).is_err() {
                return;
            }
        }
    }
    // Fails only when the peer has answered already and closed the stream.
    let _ = stream.send_data(Bytes::new(), true);
}

impl Outgoing {
    fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Full(bytes) => bytes.is_empty(),
            Self::Client(incoming, _) => incoming.is_end_stream(),
        }
    }

    /// A client's body; `bytes` counts what passes.
    pub(in crate::api) fn client(body: Incoming, bytes: Arc<AtomicU64>) -> Self {
        Self::Client(body, UploadStatus { bytes, broke: Arc::default() })
    }

    fn upload_status(&self) -> Option<UploadStatus> {
        match self {
            Self::Client(_, came) => Some(came.clone()),
            Self::Empty | Self::Full(_) => None,
        }
    }
}

/// [`Outgoing`] as a body.
#[derive(Debug)]
pub(in crate::api) struct OutBody(Outgoing);

impl OutBody {
    pub(in crate::api) const fn empty() -> Self {
        Self(Outgoing::Empty)
    }
}

impl http_body::Body for OutBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Outgoing::Empty => Poll::Ready(None),
            Outgoing::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Outgoing::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Outgoing::Client(incoming, came) => {
                let polled = Pin::new(incoming).poll_frame(cx);
                match &polled {
                    Poll::Ready(Some(Ok(frame))) => match frame.data_ref() {
                        Some(data) => {
                            came.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
                        }
                        // Trailers are headers that no list has let pass, and the last of a body: they are dropped
                        // (RFC 9110 §6.5.1).
                        None => return Poll::Ready(None),
                    },
                    Poll::Ready(Some(Err(_))) => came.broke.store(true, Ordering::Relaxed),
                    Poll::Ready(None) | Poll::Pending => {}
                }
                polled
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Outgoing::Empty => SizeHint::with_exact(0),
            Outgoing::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Outgoing::Client(incoming, _) => incoming.size_hint(),
        }
    }
}
