//! One connection through a tunnel: checked against the grant, audited, dialled, copied.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rp_base::{chain, text};
use rp_documents::{Entry, Outcome, Phase, Side};
use rp_tunnel::{Destination, StreamRequest, TunnelStream};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::client_hello::{self, HelloError};
use super::destinations::RemoteStream;
use super::handle::TunnelLabels;
use super::session::{Session, outcome};

const VERB: &str = "tunnel.connect";
/// Time to finish after one side ended, where the transport has no half-close.
const LINGER: Duration = Duration::from_secs(30);
/// Copied at a time.
const CHUNK: usize = 16 * 1024;

/// Serves one connection from the request to the last byte.
pub(super) async fn serve(
    session: &Session,
    asked: StreamRequest,
    cut: &CancellationToken,
    ended: &CancellationToken,
) {
    let result = Box::pin(connect(session, asked, cut, ended)).await;
    session.api.metrics.asked.with(&TunnelLabels { result }).inc();
}

async fn connect(
    session: &Session,
    asked: StreamRequest,
    cut: &CancellationToken,
    ended: &CancellationToken,
) -> &'static str {
    let api = &session.api;
    if api.access.rates().stream(session.live.grant.primary_id().as_str()).is_err() {
        asked.refuse("too_often", "Connections are opened too often; try again in a moment.");
        return "refused";
    }
    let place = match permitted(session, &asked) {
        Ok(place) => place,
        Err((code, sentence)) => {
            let mut entry = session.entry(Phase::Single, VERB);
            entry.name = format!("{}:{}", text::clean(&asked.host, 255), asked.port);
            let began = entry.at;
            session.settle(entry, began, outcome("refused", Some(Side::You))).await;
            asked.refuse(code, &sentence);
            return "refused";
        }
    };
    let entry = |phase| named(session, phase, &place);
    let started = entry(Phase::Start);
    let began = started.at;
    if let Err(error) = Box::pin(api.access.audit().promise(started)).await {
        tracing::error!(error = %chain(&error), "a connection could not be audited");
        asked.refuse("audit_unavailable", "The audit trail cannot be written, so nothing was opened.");
        return "failed";
    }
    let reached = tokio::select! {
        biased;
        () = ended.cancelled() => None,
        () = cut.cancelled() => None,
        reached = api.places.reach(&session.target, &place) => Some(reached),
    };
    let far = match reached {
        Some(Ok(far)) => far,
        Some(Err(error)) => {
            tracing::warn!(resource_id = session.target.key(), %place, error = %chain(&error), "a place was not reached");
            session.settle(entry(Phase::End), began, outcome("failed", Some(error.side()))).await;
            asked.refuse(error.code(), error.sentence());
            return "failed";
        }
        None => {
            session.settle(entry(Phase::End), began, outcome("cut", Some(Side::You))).await;
            return "cut";
        }
    };
    let open = api.metrics.connections.track();
    let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
    let carried = compared(session, &place, asked.accept(), far, (&sent, &received));
    let mut end = entry(Phase::End);
    let result = tokio::select! {
        biased;
        () = ended.cancelled() => outcome("cut", Some(Side::You)),
        () = cut.cancelled() => outcome("cut", None),
        carried = carried => ending(session, carried, &mut end),
    };
    let (sent, received) = (sent.into_inner(), received.into_inner());
    api.metrics.sent.add(sent);
    api.metrics.received.add(received);
    let word = match result.word.as_str() {
        "ok" => "ok",
        "refused" => "refused",
        _ => "cut",
    };
    end.at = api.clock.now();
    (end.bytes_out, end.bytes_in) = (sent, received);
    session.settle(end, began, result).await;
    drop(open);
    word
}

fn named(session: &Session, phase: Phase, place: &Destination) -> Entry {
    let mut entry = session.entry(phase, VERB);
    entry.name = place.to_string();
    entry.identity_used = if session.target.is_imported() { String::new() } else { "service".to_owned() };
    entry
}

fn permitted(session: &Session, asked: &StreamRequest) -> Result<Destination, (&'static str, String)> {
    let place = Destination::new(&asked.host, asked.port)
        .map_err(|error| ("bad_place", format!("This place cannot be reached: {error}.")))?;
    if session.places.contains(&place) {
        return Ok(place);
    }
    Err(("not_granted", format!("{place} is not among the destinations of this access.")))
}

/// Copies a connection whose ClientHello names the granted destination.
async fn compared(
    session: &Session,
    place: &Destination,
    mut near: TunnelStream,
    mut far: Box<dyn RemoteStream>,
    (sent, received): (&AtomicU64, &AtomicU64),
) -> Result<(), HelloError> {
    // What an import names is a place of its own; what is below a domain of ours is one router for all.
    if !session.target.is_imported() {
        let said = client_hello::read(&mut near, place).await?;
        received.fetch_add(said.len() as u64, Ordering::Relaxed);
        far.write_all(&said).await.map_err(HelloError::Broke)?;
    }
    carry(near, far, sent, received).await.map_err(HelloError::Broke)
}

fn ending(session: &Session, carried: Result<(), HelloError>, entry: &mut Entry) -> Outcome {
    match carried {
        Ok(()) => outcome("ok", None),
        Err(
            strange
            @ (HelloError::NoTls | HelloError::NoName | HelloError::OtherName(_) | HelloError::Silent),
        ) => {
            tracing::info!(resource_id = session.target.key(), place = %entry.name, reason = %strange, "connection was refused");
            entry.query = strange.to_string();
            outcome("refused", Some(Side::You))
        }
        Err(HelloError::Broke(error)) => {
            // One side closed without a close message, as browsers end many connections.
            tracing::debug!(resource_id = session.target.key(), error = %chain(&error), "connection broke off");
            outcome("cut", None)
        }
    }
}

/// Copies both ways and passes each direction's end on.
///
/// A port-forward ends as a whole: after one side's end the other has a while to finish.
async fn carry(
    near: TunnelStream,
    far: Box<dyn RemoteStream>,
    sent: &AtomicU64,
    received: &AtomicU64,
) -> io::Result<()> {
    let halves = far.ends_by_halves();
    let (near_read, mut near_write) = tokio::io::split(near);
    let (far_read, mut far_write) = tokio::io::split(far);
    let up = async {
        copy(near_read, &mut far_write, received).await?;
        if halves { far_write.shutdown().await } else { Ok(()) }
    };
    let down = async {
        copy(far_read, &mut near_write, sent).await?;
        near_write.shutdown().await
    };
    tokio::pin!(up, down);
    if halves {
        return tokio::try_join!(up, down).map(drop);
    }
    tokio::select! {
        done = &mut down => {
            done?;
            // The client has received the end; wait for its own end only for a while.
            let _ = timeout(LINGER, up).await;
            Ok(())
        }
        done = &mut up => {
            done?;
            timeout(LINGER, down).await.unwrap_or(Ok(()))
        }
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    to: &mut (impl AsyncWrite + Unpin),
    count: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        count.fetch_add(length as u64, Ordering::Relaxed);
        to.write_all(buffer.get(..length).unwrap_or_default()).await?;
        to.flush().await?;
    }
}
