//! One tunnel: from the handshake to its end.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _, future};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use rp_access::{ActiveGrant, StreamGuard};
use rp_audit::AuditError;
use rp_base::{Id, Timestamp, chain};
use rp_documents::{Actor, Entry, Outcome, Phase, ResourceId, Side};
use rp_tunnel::{Destination, DisconnectReason, MOST_MESSAGE, StreamRequests};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::handle::TunnelApi;
use super::relay;

/// Added to audit entries of an ARO cluster's tunnel: names are compared, requests inside TLS are not visible.
const INGRESS: &str = "; inside of TLS a request can ask the same router for any of its routes";
/// Time for the client to read the last message.
const FAREWELL: Duration = Duration::from_millis(500);
/// Read and written at a time.
const BUFFER: usize = 32 * 1024;

/// A tunnel and whose it is.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) api: Arc<TunnelApi>,
    pub(super) live: Arc<ActiveGrant>,
    pub(super) target: ResourceId,
    /// What the grant names.
    pub(super) places: Vec<Destination>,
    request_id: Id,
    from: String,
    began: Timestamp,
    _guard: StreamGuard,
}

impl Session {
    pub(super) fn new(
        api: Arc<TunnelApi>,
        live: Arc<ActiveGrant>,
        target: ResourceId,
        request_id: Id,
        ip: IpAddr,
        guard: StreamGuard,
    ) -> Self {
        let places =
            live.grant.destinations.iter().filter_map(|text| Destination::parse(text).ok()).collect();
        let began = api.clock.now();
        Self { api, live, target, places, request_id, from: ip.to_string(), began, _guard: guard }
    }

    /// An entry about this tunnel.
    pub(super) fn entry(&self, phase: Phase, verb: &str) -> Entry {
        let owner = &self.live.grant.owner;
        let actor = Actor { sub: owner.sub.clone(), name: owner.name.clone(), from: self.from.clone() };
        let mut entry = Entry::new(self.api.clock.now(), phase, self.request_id.clone(), actor, verb);
        entry.grant = Some(self.live.grant.primary_id().clone());
        entry.target = Some(self.target.clone());
        entry
    }

    /// Writes the durable start entry before any data flows.
    pub(super) async fn begin(&self) -> Result<(), AuditError> {
        let mut entry = self.entry(Phase::Start, "tunnel");
        entry.query = self.places.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        if !self.target.is_imported() {
            entry.query.push_str(INGRESS);
        }
        entry.reason.clone_from(&self.live.grant.reason);
        Box::pin(self.api.access.audit().promise(entry)).await.map(drop)
    }

    /// Writes the end entry that belongs to a start entry.
    pub(super) async fn settle(&self, mut entry: Entry, began: Timestamp, result: Outcome) {
        entry.took_ms = u64::try_from(entry.at.since(began).as_millis()).unwrap_or(u64::MAX);
        entry.result = result;
        tracing::info!(
            target: "proxy.access",
            request_id = %entry.request_id,
            person = %entry.actor.name,
            peer = %entry.actor.from,
            grant = entry.grant.as_ref().map(Id::as_str).unwrap_or_default(),
            resource_id = self.target.key(),
            verb = %entry.verb,
            name = %entry.name,
            result = %entry.result.word,
            side = entry.result.side.map(Side::name).unwrap_or_default(),
            bytes_in = entry.bytes_in,
            bytes_out = entry.bytes_out,
            duration_ms = entry.took_ms,
            "tunnel"
        );
        if let Err(error) = self.api.access.audit().queue(entry).await {
            tracing::error!(error = %chain(&error), "the end of a connection could not be audited");
        }
    }

    /// Serves until the client goes, the grant ends or the process does.
    pub(super) async fn run(self, upgrade: OnUpgrade) {
        let open = self.api.metrics.open.track();
        let session = Arc::new(self);
        let result = match upgrade.await {
            Ok(upgraded) => Box::pin(Arc::clone(&session).serve(TokioIo::new(upgraded))).await,
            Err(_) => outcome("cut", Some(Side::You)),
        };
        let entry = session.entry(Phase::End, "tunnel");
        session.settle(entry, session.began, result).await;
        drop((open, session));
    }

    async fn serve(self: Arc<Self>, io: TokioIo<hyper::upgrade::Upgraded>) -> Outcome {
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER)
            .max_message_size(Some(MOST_MESSAGE))
            .max_frame_size(Some(MOST_MESSAGE));
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let (outgoing, incoming) = socket.split();
        let incoming = incoming.filter_map(|message| future::ready(binary(message)));
        let outgoing = outgoing.with(|frame: Bytes| future::ok::<_, Error>(Message::Binary(frame)));
        let (asks, driver) = rp_tunnel::server(self.api.keepalive);
        let driver = driver.run(Box::pin(incoming), Box::pin(outgoing));
        tokio::pin!(driver);
        let (ended, cut, bye) = (self.live.token(), CancellationToken::new(), asks.bye_sender());
        // Whatever ends this, the connections end with it.
        let _streams = cut.clone().drop_guard();
        let tasks = TaskTracker::new();
        let accepting = Arc::clone(&self).accept(asks, tasks.clone(), cut.clone());
        let leaving = async {
            accepting.await;
            // What is open goes on until the client or the deadline ends it.
            bye.send_bye("this process is about to end");
            tasks.close();
            tasks.wait().await;
            tokio::time::sleep(FAREWELL).await;
        };
        let (why, side) = tokio::select! {
            biased;
            () = ended.cancelled() => (self.live.end_reason(self.api.clock.now()).sentence(), Side::You),
            () = self.api.cut.cancelled() => ("this process ends", Side::Us),
            over = &mut driver => {
                cut.cancel();
                tasks.close();
                tasks.wait().await;
                return how(&over);
            }
            () = leaving => ("this process ends", Side::Us),
        };
        cut.cancel();
        bye.send_bye(why);
        tracing::info!(grant = %self.live.grant.primary_id(), why, "tunnel was cut");
        let _ = tokio::time::timeout(FAREWELL, &mut driver).await;
        tasks.close();
        tasks.wait().await;
        outcome("cut", Some(side))
    }

    /// Takes up what the client asks for, until this process is to end.
    async fn accept(self: Arc<Self>, mut asks: StreamRequests, tasks: TaskTracker, cut: CancellationToken) {
        let ended = self.live.token();
        loop {
            let asked = tokio::select! {
                biased;
                () = self.api.stopping.cancelled() => return,
                asked = asks.next() => asked,
            };
            // The caller sees the end of the connection by itself.
            let Some(asked) = asked else { return future::pending().await };
            let (session, cut, ended) = (Arc::clone(&self), cut.clone(), ended.clone());
            tasks.spawn(async move { relay::serve(&session, asked, &cut, &ended).await });
        }
    }
}

fn how(over: &DisconnectReason) -> Outcome {
    match over {
        DisconnectReason::Closed => outcome("ok", None),
        over => {
            tracing::debug!(error = %over, "tunnel broke off");
            outcome("cut", Some(Side::You))
        }
    }
}

pub(super) fn outcome(word: &str, side: Option<Side>) -> Outcome {
    Outcome { status: 0, word: word.to_owned(), side }
}

/// The frames of a client: binary messages. Text is none of ours; pings are answered by the WebSocket itself.
fn binary(message: Result<Message, Error>) -> Option<Result<Bytes, Error>> {
    match message {
        Ok(Message::Binary(frame)) => Some(Ok(frame)),
        Ok(Message::Text(_)) => Some(Ok(Bytes::new())),
        Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => None,
        Err(Error::ConnectionClosed) => None,
        Err(error) => Some(Err(error)),
    }
}
