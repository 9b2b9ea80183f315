//! Leaving HTTP: SPDY/3.1 and WebSocket pass as bytes, with back-pressure, until the grant ends.
//!
//! The handshake's answer decides: only a 101 naming the protocol that was asked for opens the stream; any
//! other answer is passed on and the connection is closed after it (`contract/rules.md` §3.6).

mod copy;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use rp_access::{ActiveGrant, StreamGuard};
use rp_base::SharedClock;
use rp_documents::Side;
use rp_recording::Recorder;
use tokio::io::WriteHalf;
use tokio_util::sync::CancellationToken;

use self::copy::{ClusterEnd, Leg, copy_to_client, copy_to_cluster};
use super::audit::AuditEntryGuard;
use super::body::{Body, ClusterBody};
use super::error::ProxyError;
use super::headers;
use super::pool::{OutBody, Upstream, UpstreamBody};
use super::redirect;
use super::session_recording::Tap;
use super::session_status::SessionStatus;
use crate::overseer::{Overseer, WatchLimits};

/// How long a client whose cluster broke off may take for the last output.
const LAST_OUTPUT: Duration = Duration::from_secs(60);

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
    /// The client reads a status at the end: exec and attach.
    pub(super) has_status: bool,
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
    let status = session.has_status.then(|| SessionStatus::agreed(answer.headers())).flatten();
    let client = hyper::upgrade::on(client);
    let cluster = hyper::upgrade::on(answer);
    tokio::spawn(relay(client, cluster, session, tap, status));
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
        trailers: Vec::new(),
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

/// The client's side of a relay: kept when the relay ends, for its last words.
struct ClientSide {
    write: WriteHalf<TokioIo<Upgraded>>,
    status: Option<SessionStatus>,
}

async fn relay(
    client: OnUpgrade,
    cluster: OnUpgrade,
    session: Session,
    tap: Option<Tap>,
    status: Option<SessionStatus>,
) {
    let Session { live, ended, mut settle, open, streams, cut, clock, request_id, .. } = session;
    let (sent, received) = settle.counters();
    let (up, down, ending) = match tap.map(Tap::split) {
        Some((up, down, ending)) => (Some(up), Some(down), Some(ending)),
        None => (None, None, None),
    };
    let mut client_side = None;
    let both = relayed(
        (client, cluster),
        Leg::new(&received, up).reading_for(status.as_ref()),
        Leg::new(&sent, down),
        (&mut client_side, status),
    );
    let unrecorded = async {
        match &ending {
            Some(ending) => ending.failed().await,
            None => std::future::pending().await,
        }
    };
    let (mut how, mut why) = ("closed", None);
    tokio::select! {
        done = both => if let Err(error) = done {
            // One side closed without a close message, as kubectl ends most sessions.
            tracing::debug!(error = %rp_base::chain(&error), "stream broke off");
        },
        () = ended.cancelled() => {
            settle.outcome("cut", Side::You);
            how = "cut: the access ended";
            why = Some(ended_access(&live, &clock));
        }
        () = cut.cancelled() => {
            settle.outcome("cut", Side::Us);
            how = "cut: the service stopped";
            why = Some(ProxyError::Stopping);
        }
        error = unrecorded => {
            tracing::error!(error = %rp_base::chain(&error), "stream was cut");
            settle.outcome("cut", Side::Us);
        }
    }
    if let (Some(ClientSide { mut write, status: Some(status) }), Some(why)) = (client_side, why) {
        status.tell(&mut write, &why.object(&request_id)).await;
    }
    if let Some(ending) = ending {
        ending.finish(how).await;
    }
    drop((open, streams));
}

/// Why an access ended, logged.
fn ended_access(live: &ActiveGrant, clock: &SharedClock) -> ProxyError {
    let reason = live.end_reason(clock.now());
    tracing::info!(grant = %live.grant.primary_id(), reason = reason.sentence(), "stream was cut");
    ProxyError::Refused(rp_access::Refusal::Ended(reason))
}

/// Copies both ways until both have ended. What it needs of the client's side stays in `kept`.
async fn relayed(
    (client, cluster): (OnUpgrade, OnUpgrade),
    up: Leg<'_>,
    down: Leg<'_>,
    (kept, status): (&mut Option<ClientSide>, Option<SessionStatus>),
) -> std::io::Result<()> {
    let (client, cluster) = tokio::try_join!(client, cluster).map_err(std::io::Error::other)?;
    let (client_read, write) = tokio::io::split(TokioIo::new(client));
    let (cluster_read, cluster_write) = tokio::io::split(TokioIo::new(cluster));
    let ClientSide { write, status } = kept.insert(ClientSide { write, status });
    let up = pin!(copy_to_cluster(client_read, cluster_write, up));
    let down = pin!(copy_to_client(cluster_read, write, down, status.as_mut()));
    // Each direction's end is passed on; the stream ends when both have.
    match select(up, down).await {
        Either::Left((done, down)) => {
            done?;
            down.await.map(drop)
        }
        Either::Right((end, up)) => match end? {
            ClusterEnd::Closed => up.await,
            ClusterEnd::BrokeOff => tokio::time::timeout(LAST_OUTPUT, up).await.unwrap_or(Ok(())),
        },
    }
}
