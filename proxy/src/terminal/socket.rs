//! The browser's connection: the handshake, and what passes on it in both directions.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use rp_base::chain;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::frames::{self, FromPage, ToPage};
use super::session::FromSocket;
use super::{Terminals, Visitor};

/// The one subprotocol that is spoken here.
pub const PROTOCOL: &str = "aro.terminal.v1";

/// Largest message of a browser.
const MOST_MESSAGE: usize = 32 * 1024;
/// Read at once; a busy terminal reads little.
const READ: usize = 4 * 1024;
/// The first frame comes within this, and the connection itself too.
const FIRST: Duration = Duration::from_secs(20);
const BEAT_EVERY: Duration = Duration::from_secs(15);
/// A browser that sends nothing for this long, not even a heartbeat, counts as gone.
const SILENCE: Duration = Duration::from_secs(45);
/// Frames that may wait, each way.
const WAITING: usize = 4;

pub(super) type Sender = SplitSink<WebSocketStream<TokioIo<Upgraded>>, Message>;
pub(super) type Receiver = SplitStream<WebSocketStream<TokioIo<Upgraded>>>;

/// A connection that is about to leave HTTP.
#[derive(Debug)]
pub struct PendingUpgrade(OnUpgrade);

/// Reads a WebSocket handshake (RFC 6455, 4.2) and answers it. The caller has already checked authorization and
/// origin.
///
/// # Errors
/// It is not a valid handshake; the text says why.
pub fn accept<B>(request: &mut Request<B>) -> Result<(Response<()>, PendingUpgrade), &'static str> {
    let headers = request.headers();
    let lists = |name, wanted: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|text| text.split(',')).any(|each| each.trim().eq_ignore_ascii_case(wanted))
    };
    if !lists(header::CONNECTION, "upgrade") || !lists(header::UPGRADE, "websocket") {
        return Err("this address is for a WebSocket");
    }
    if one(headers, &header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err("the WebSocket's version is not 13");
    }
    if !lists(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
        return Err("the WebSocket's protocol is not aro.terminal.v1");
    }
    let key = one(headers, &header::SEC_WEBSOCKET_KEY).filter(|key| key.len() == 24);
    let key = key.ok_or("the WebSocket's key cannot be read")?;
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    let accept = accept.map_err(|_| "the WebSocket's key cannot be read")?;
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let out = response.headers_mut();
    out.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    out.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    out.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    out.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    Ok((response, PendingUpgrade(hyper::upgrade::on(request))))
}

/// The value of a header that stands there once.
fn one<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let value = all.next().filter(|_| all.next().is_none())?;
    value.to_str().ok()
}

impl Terminals {
    /// Serves a browser's connection to its end.
    pub async fn serve(&self, upgrading: PendingUpgrade, visitor: Visitor) {
        let Ok(Ok(io)) = timeout(FIRST, upgrading.0).await else { return };
        let config = WebSocketConfig::default()
            .read_buffer_size(READ)
            .write_buffer_size(0)
            .max_message_size(Some(MOST_MESSAGE))
            .max_frame_size(Some(MOST_MESSAGE));
        let socket = WebSocketStream::from_raw_socket(TokioIo::new(io), Role::Server, Some(config)).await;
        let (mut to, mut from) = socket.split();
        let Ok(Some(first)) = timeout(FIRST, first(&mut from)).await else { return };
        let (frames, queue) = mpsc::channel(WAITING);
        let (said, hear) = mpsc::channel(WAITING);
        let wires = SocketChannels { to: frames, from: hear };
        let begun = match first {
            FromPage::Open { place, size } => {
                let opened = Box::pin(self.open(&visitor, &place, size, wires)).await;
                opened.map_err(|refusal| refusal.text())
            }
            FromPage::Resume { id, token, seen, size } => {
                let resumed = self.resume(&visitor, &id, &token, seen, size, wires).await;
                resumed.map_err(|error| ToPage::Lost { words: &error.to_string() }.text())
            }
            FromPage::Watch { id } => {
                let watched = self.watch(&visitor, &id, wires).await;
                watched.map_err(|refusal| refusal.text())
            }
            FromPage::Ack { .. } | FromPage::Size { .. } | FromPage::Here | FromPage::Bye => return,
        };
        match begun {
            Ok(()) => carry(to, from, queue, said).await,
            Err(no) => {
                let _ = timeout(FIRST, send_refusal(&mut to, no)).await;
            }
        }
    }
}

/// The session's ends of a connection.
pub(super) struct SocketChannels {
    pub(super) to: mpsc::Sender<Message>,
    pub(super) from: mpsc::Receiver<FromSocket>,
}

async fn send_refusal(to: &mut Sender, no: String) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    to.send(Message::text(no)).await?;
    to.close().await
}

async fn first(from: &mut Receiver) -> Option<FromPage> {
    loop {
        match from.next().await?.ok()? {
            Message::Text(text) => return frames::read(&text).ok(),
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Binary(_) | Message::Close(_) | Message::Frame(_) => return None,
        }
    }
}

/// Passes frames until either end is done with the connection.
async fn carry(
    mut to: Sender,
    mut from: Receiver,
    mut queue: mpsc::Receiver<Message>,
    said: mpsc::Sender<FromSocket>,
) {
    let writing = async {
        let mut beat = interval_at(Instant::now() + BEAT_EVERY, BEAT_EVERY);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let sent = tokio::select! {
                frame = queue.recv() => match frame {
                    Some(frame) => to.send(frame).await,
                    None => {
                        // The session has closed this connection and sent the reason.
                        let _ = timeout(FIRST, to.close()).await;
                        return;
                    }
                },
                _ = beat.tick() => match to.feed(Message::text(ToPage::Beat.text())).await {
                    Ok(()) => to.send(Message::Ping(Bytes::new())).await,
                    Err(error) => Err(error),
                },
            };
            if sent.is_err() {
                return;
            }
        }
    };
    let reading = async {
        while let Ok(Some(Ok(message))) = timeout(SILENCE, from.next()).await {
            let heard = match message {
                Message::Binary(bytes) if bytes.is_empty() => continue,
                Message::Binary(bytes) => FromSocket::Input(bytes),
                Message::Text(text) => match frames::read(&text) {
                    Ok(frame) => FromSocket::Said(frame),
                    Err(error) => {
                        tracing::warn!(error = %chain(&error), "a frame of a terminal's page cannot be read");
                        return;
                    }
                },
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
                Message::Close(_) => return,
            };
            if said.send(heard).await.is_err() {
                // The session ended; its last frames are still being written.
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = writing => {}
        () = reading => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shake(change: impl FnOnce(&mut HeaderMap)) -> Result<Response<()>, &'static str> {
        let mut request = Request::new(());
        for (name, value) in [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-protocol", "aro.terminal.v1"),
        ] {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        change(request.headers_mut());
        accept(&mut request).map(|(response, _)| response)
    }

    #[test]
    fn a_handshake_is_answered_as_the_standard_says() {
        let response = shake(|_| {}).unwrap();
        // The example of RFC 6455, 1.3.
        assert_eq!(response.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(response.headers()["sec-websocket-protocol"], PROTOCOL);
    }

    #[test]
    fn anything_else_is_none() {
        for (name, value) in [
            ("connection", "close"),
            ("upgrade", "h2c"),
            ("sec-websocket-version", "8"),
            ("sec-websocket-key", "short"),
            ("sec-websocket-protocol", "v5.channel.k8s.io"),
        ] {
            assert!(
                shake(|headers| drop(headers.insert(name, HeaderValue::from_static(value)))).is_err(),
                "{name}"
            );
            assert!(shake(|headers| drop(headers.remove(name))).is_err(), "{name}");
        }
        let twice = |headers: &mut HeaderMap| {
            headers.append("sec-websocket-key", HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ=="));
        };
        assert!(
            shake(|headers| {
                twice(headers);
            })
            .is_err()
        );
    }
}
