//! Leaving HTTP: SPDY/3.1 and WebSocket pass as bytes, with back-pressure, until the grant ends.
//!
//! The handshake's answer decides: only a 101 naming the protocol that was asked for opens the stream; any
//! other answer is passed on and the connection is closed after it (`contract/rules.md` §3.6).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use rp_access::{ActiveGrant, StreamGuard};
use rp_base::SharedClock;
use rp_documents::Side;
use rp_recording::Recorder;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::audit::AuditEntryGuard;
use super::body::{Body, ClusterBody};
use super::error::ProxyError;
use super::headers;
use super::pool::{OutBody, Upstream, UpstreamBody};
use super::redirect;
use super::session_recording::{Direction, Tap};
use crate::overseer::{Overseer, WatchLimits};

/// Copied at a time, each way.
const CHUNK: usize = 32 * 1024;

/// What an upgrade needs besides its request.
pub(super) struct Session {
    pub(super) live: Arc<ActiveGrant>,
    /// The end of the grant, or of the rights that the upgrade needs.
    pub(super) ended: CancellationToken,
    pub(super) settle: AuditEntryGuard,
    pub(super) open: Option<StreamGuard>,
    pub(super) clock: SharedClock,
    pub(super) streams: rp_metrics::GaugeGuard,
    pub(super) request_id: String,
    pub(super) cut: CancellationToken,
    /// Longest silence of an answer that refuses; `None` when it may be a stream.
    pub(super) idle: Option<Duration>,
    pub(super) overseer: Arc<Overseer>,
    /// Of exec and attach.
    pub(super) recorder: Option<Recorder>,
    /// Keystrokes are recorded.
    pub(super) input: bool,
}

/// Sends the handshake on a connection of its own and passes the answer on.
pub(super) async fn upgrade(
    upstream: &Arc<Upstream>,
    client: Request<Incoming>,
    head: Request<()>,
    silence: Duration,
    mut session: Session,
) -> Result<Response<Body>, (ProxyError, AuditEntryGuard)> {
    let asked = head.uri().path().to_owned();
    let shaken = handshake(upstream, head, silence, &session).await;
    let answer = match shaken {
        Ok(answer) => answer,
        Err(error) => {
            finish(session.recorder.take(), "failed").await;
            return Err((error, session.settle));
        }
    };
    session.settle.status(answer.status().as_u16(), None);
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        finish(session.recorder.take(), "refused by the cluster").await;
        return refused(answer, session, upstream, &asked);
    }
    let asked = client.headers().get(header::UPGRADE).map(|value| value.as_bytes().to_ascii_lowercase());
    let given = answer.headers().get(header::UPGRADE).map(|value| value.as_bytes().to_ascii_lowercase());
    if asked != given {
        finish(session.recorder.take(), "failed").await;
        let error = ProxyError::Broken("the cluster switched to a protocol that was not asked for".into());
        return Err((error, session.settle));
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *response.headers_mut() = headers::outbound_upgrade(answer.headers());
    if let Ok(id) = http::HeaderValue::from_str(&session.request_id) {
        response.headers_mut().insert("x-request-id", id);
    }
    let tap = session.recorder.take().map(|recorder| Tap::new(recorder, answer.headers(), session.input));
    let client = hyper::upgrade::on(client);
    let cluster = hyper::upgrade::on(answer);
    tokio::spawn(relay(client, cluster, session, tap));
    Ok(response)
}

pub(super) async fn handshake(
    upstream: &Arc<Upstream>,
    head: Request<()>,
    silence: Duration,
    session: &Session,
) -> Result<Response<Incoming>, ProxyError> {
    let broken = |error: hyper::Error| ProxyError::Broken(Box::new(error));
    let tls = upstream.dial_h1().await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(tls)).await.map_err(broken)?;
    tokio::spawn(connection.with_upgrades());
    let mut request = head.map(|()| OutBody::empty());
    let path = request.uri().path_and_query().cloned();
    request.headers_mut().insert(
        header::HOST,
        http::HeaderValue::from_str(upstream.authority.as_str())
            .map_err(|_| ProxyError::BadRequest("the cluster's address"))?,
    );
    if let Some(path) = path {
        *request.uri_mut() = http::Uri::from(path);
    }
    tokio::select! {
        answered = tokio::time::timeout(silence, sender.send_request(request)) => {
            answered.map_err(|_| ProxyError::NoAnswer)?.map_err(broken)
        }
        () = session.ended.cancelled() => {
            let why = session.live.end_reason(session.clock.now());
            Err(ProxyError::Refused(rp_access::Refusal::Ended(why)))
        }
    }
}

/// Any answer but 101: passed on, then the connection ends, whatever the client has sent after its handshake.
fn refused(
    answer: Response<Incoming>,
    session: Session,
    upstream: &Upstream,
    asked: &str,
) -> Result<Response<Body>, (ProxyError, AuditEntryGuard)> {
    let (parts, incoming) = answer.into_parts();
    let Session { live, ended, settle, open, streams, idle, overseer, .. } = session;
    let mut headers = headers::outbound(&parts.headers);
    if let Err(error) = redirect::rewrite(&mut headers, parts.status, &upstream.redirect_context(asked)) {
        return Err((error, settle));
    }
    headers.insert(header::CONNECTION, http::HeaderValue::from_static("close"));
    let until = WatchLimits { ended: Some(ended), idle };
    let answer = ClusterBody {
        answer: UpstreamBody::last(incoming),
        // What is searched is never asked for with an upgrade.
        redactor: None,
        sent: settle.counters().0,
        settle,
        // It may be a stream all the same: a server that knows no upgrade answers a watch with 200.
        farewell: None,
        _live: live,
        _open: open.map(|open| (open, streams)),
    };
    let mut response = Response::new(Body::watched(&overseer, answer, until, None));
    *response.status_mut() = parts.status;
    *response.headers_mut() = headers;
    Ok(response)
}

async fn finish(recorder: Option<Recorder>, outcome: &str) {
    if let Some(recorder) = recorder {
        recorder.finish(outcome).await;
    }
}

async fn relay(client: OnUpgrade, cluster: OnUpgrade, session: Session, tap: Option<Tap>) {
    let Session { live, ended, mut settle, open, streams, cut, clock, .. } = session;
    let (sent, received) = settle.counters();
    let (up, down, ending) = match tap.map(Tap::split) {
        Some((up, down, ending)) => (Some(up), Some(down), Some(ending)),
        None => (None, None, None),
    };
    let both = async {
        let (client, cluster) = tokio::try_join!(client, cluster).map_err(std::io::Error::other)?;
        let (client_read, client_write) = tokio::io::split(TokioIo::new(client));
        let (cluster_read, cluster_write) = tokio::io::split(TokioIo::new(cluster));
        let up = copy(client_read, cluster_write, &received, up);
        let down = copy(cluster_read, client_write, &sent, down);
        // Each direction's end is passed on; the stream ends when both have.
        tokio::try_join!(up, down).map(drop)
    };
    let unrecorded = async {
        match &ending {
            Some(ending) => ending.failed().await,
            None => std::future::pending().await,
        }
    };
    let mut how = "closed";
    tokio::select! {
        done = both => if let Err(error) = done {
            // One side closed without a close message, as kubectl ends most sessions.
            tracing::debug!(error = %rp_base::chain(&error), "stream broke off");
        },
        () = ended.cancelled() => {
            let why = live.end_reason(clock.now());
            tracing::info!(grant = %live.grant.primary_id(), why = why.sentence(), "stream was cut");
            settle.outcome("cut", Side::You);
            how = "cut: the access ended";
        }
        () = cut.cancelled() => {
            settle.outcome("cut", Side::Us);
            how = "cut: the service stopped";
        }
        error = unrecorded => {
            tracing::error!(error = %rp_base::chain(&error), "stream was cut");
            settle.outcome("cut", Side::Us);
        }
    }
    if let Some(ending) = ending {
        ending.finish(how).await;
    }
    drop((open, streams));
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: &AtomicU64,
    mut tap: Option<Direction>,
) -> std::io::Result<()> {
    let mut buffer = bytes::BytesMut::with_capacity(CHUNK);
    loop {
        let read = from.read_buf(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        count.fetch_add(read as u64, Ordering::Relaxed);
        if let Some(tap) = &mut tap {
            let mut bytes = buffer.split().freeze();
            tap.pass(&bytes).await.map_err(std::io::Error::other)?;
            to.write_all_buf(&mut bytes).await?;
        } else {
            to.write_all_buf(&mut buffer).await?;
        }
        if buffer.capacity() == 0 {
            buffer.reserve(CHUNK);
        }
        to.flush().await?;
    }
}
