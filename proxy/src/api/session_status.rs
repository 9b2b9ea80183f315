//! Why an exec or attach ends before its end, told on its error channel as an API server tells the end of a command: a
//! `Status`, after which clients print its message.
//!
//! Clients read it in the versions 4 and 5 of the protocol: over WebSocket as a message on channel 3, over SPDY as the
//! last frame of the stream that the client opened as `error`. It can only go between two frames, so what passes to the
//! client is followed by the heads of its frames. In the middle of one the session is cut without words.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::pings::{PingReader, Pings};
use super::session_recording::{ErrorStream, ErrorStreamReader};
use super::web_socket::{FrameHead, Frames};

/// A client that takes nothing gets no words.
const WITHIN: Duration = Duration::from_millis(500);
const SPDY_HEAD: usize = 8;
const SPDY_FIN: u32 = 1 << 24;
/// The close frame of a WebSocket with status 1000, as the API server closes one that ends.
const CLOSE: [u8; 4] = [0x88, 2, 0x03, 0xe8];
/// The channel of the status.
const CHANNEL: u8 = 3;

/// Follows the bytes of a session towards its client.
#[derive(Debug)]
pub(super) struct SessionStatus {
    protocol: Protocol,
    frames: Frames,
    /// Of a WebSocket.
    pings: Option<Arc<Pings>>,
}

#[derive(Debug)]
enum Protocol {
    WebSocket {
        base64: bool,
        /// A message is not whole, or the connection was closed.
        inside: bool,
    },
    Spdy(ErrorStream),
}

impl SessionStatus {
    /// By what the cluster agreed to; `None` for versions that have no status.
    pub(super) fn agreed(agreed: &HeaderMap) -> Option<Self> {
        let of = |name: &str| agreed.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let web_socket = |base64| Protocol::WebSocket { base64, inside: false };
        let protocol = if of("upgrade").eq_ignore_ascii_case("spdy/3.1") {
            (of("x-stream-protocol-version") == "v4.channel.k8s.io")
                .then(|| Protocol::Spdy(ErrorStream::default()))
        } else {
            match of("sec-websocket-protocol") {
                "v4.channel.k8s.io" | "v5.channel.k8s.io" => Some(web_socket(false)),
                "v4.base64.channel.k8s.io" => Some(web_socket(true)),
                _ => None,
            }
        };
        protocol.map(|protocol| {
            let is_web_socket = matches!(protocol, Protocol::WebSocket { .. });
            Self { protocol, frames: Frames::default(), pings: is_web_socket.then(Arc::default) }
        })
    }

    /// The reader that must get the client's bytes, to know where the status goes; `None`: that is known.
    pub(super) fn client_reader(&self) -> Option<ErrorStreamReader> {
        match &self.protocol {
            Protocol::Spdy(stream) => Some(stream.reader()),
            Protocol::WebSocket { .. } => None,
        }
    }

    /// The reader that must get the client's bytes, to answer its pings; `None`: they go to the cluster.
    pub(super) fn ping_reader(&self) -> Option<PingReader> {
        self.pings.as_ref().map(|pings| PingReader::new(Arc::clone(pings)))
    }

    /// Notes what the client got.
    pub(super) fn passed(&mut self, bytes: &[u8]) {
        let (frames, protocol) = (&mut self.frames, &mut self.protocol);
        frames.pass(bytes, |head| protocol.length(head));
    }

    /// Notes that output of the cluster has passed: a client's pings need not ask whether it lives.
    pub(super) fn output_passed(&self, bytes: usize) {
        if let Some(pings) = &self.pings {
            pings.passed(bytes);
        }
    }

    /// Notes whether bytes wait for the client.
    pub(super) fn set_writing(&self, writing: bool) {
        if let Some(pings) = &self.pings {
            pings.set_writing(writing);
        }
    }

    /// Until a ping is to be answered here and now.
    pub(super) async fn pong_due(&self) {
        match &self.pings {
            Some(pings) if self.frames.are_whole() => pings.due().await,
            _ => std::future::pending().await,
        }
    }

    /// How many of the next bytes go before the answer to a ping: up to the end of a frame where there is an answer, else all.
    pub(super) fn before_pong(&self, next: &[u8]) -> usize {
        let due = self.pings.as_ref().is_some_and(|pings| pings.is_due());
        let end = if due { self.frames.rest_of_frame(next) } else { None };
        end.unwrap_or(next.len())
    }

    /// The frame that answers a ping, if it goes here.
    pub(super) fn take_pong(&self) -> Option<Vec<u8>> {
        let pings = self.pings.as_ref().filter(|_| self.frames.are_whole());
        pings.and_then(|pings| pings.take())
    }

    /// The bytes that tell a status and end the session; `None` in the middle of a frame, or when the client has opened
    /// no stream for it.
    fn words(&self, status: &Value) -> Option<Vec<u8>> {
        if !self.frames.are_whole() {
            return None;
        }
        let text = status.to_string();
        match &self.protocol {
            Protocol::WebSocket { inside: true, .. } => None,
            Protocol::WebSocket { base64, .. } => {
                let mut words = message(*base64, &text)?;
                words.extend_from_slice(&CLOSE);
                Some(words)
            }
            Protocol::Spdy(stream) => {
                let length = u32::try_from(text.len()).ok().filter(|length| *length < SPDY_FIN)?;
                let mut words = stream.id()?.to_be_bytes().to_vec();
                words.extend_from_slice(&(SPDY_FIN | length).to_be_bytes());
                words.extend_from_slice(text.as_bytes());
                Some(words)
            }
        }
    }

    /// Tells the client why its session ends, and ends it. A client that does not take the words is cut.
    pub(super) async fn tell(&self, to: &mut (impl AsyncWrite + Unpin), status: &Value) {
        let Some(words) = self.words(status) else { return };
        let told = tokio::time::timeout(WITHIN, async {
            to.write_all(&words).await?;
            to.shutdown().await
        });
        if let Ok(Err(error)) = told.await {
            tracing::debug!(error = %rp_base::chain(&error), "the end of a session was not told");
        }
    }
}

impl Protocol {
    /// The length of the frame whose head is whole; `None`: it is not.
    fn length(&mut self, head: &[u8]) -> Option<u64> {
        match self {
            Self::Spdy(_) => match head {
                [_, _, _, _, _, length @ ..] if head.len() == SPDY_HEAD => {
                    Some(length.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)))
                }
                _ => None,
            },
            Self::WebSocket { inside, .. } => {
                let head = FrameHead::read(head)?;
                match head.opcode() {
                    0..=2 => *inside = !head.is_final(),
                    8 => *inside = true,
                    _ => {}
                }
                Some(head.length)
            }
        }
    }
}

/// A message of one frame on the channel of the status.
fn message(base64: bool, text: &str) -> Option<Vec<u8>> {
    let (opcode, payload) = if base64 {
        (0x81, [&[b'0' + CHANNEL][..], STANDARD.encode(text).as_bytes()].concat())
    } else {
        (0x82, [&[CHANNEL][..], text.as_bytes()].concat())
    };
    let length = u16::try_from(payload.len()).ok()?;
    let mut frame = vec![opcode];
    match u8::try_from(length).ok().filter(|length| *length < 126) {
        Some(length) => frame.push(length),
        None => {
            frame.push(126);
            frame.extend_from_slice(&length.to_be_bytes());
        }
    }
    frame.extend_from_slice(&payload);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use serde_json::json;

    use super::*;

    fn agreed(pairs: &[(&'static str, &'static str)]) -> Option<SessionStatus> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        SessionStatus::agreed(&headers)
    }

    #[test]
    fn versions_that_have_a_status_are_followed() {
        for (protocol, has) in [
            ("v5.channel.k8s.io", true),
            ("v4.channel.k8s.io", true),
            ("v4.base64.channel.k8s.io", true),
            ("channel.k8s.io", false),
            ("", false),
        ] {
            let pairs = [("upgrade", "websocket"), ("sec-websocket-protocol", protocol)];
            assert_eq!(agreed(&pairs).is_some(), has, "{protocol}");
        }
        let spdy = |version| agreed(&[("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", version)]);
        assert!(spdy("v4.channel.k8s.io").is_some() && spdy("v3.channel.k8s.io").is_none());
    }

    #[test]
    fn words_go_between_two_messages_of_a_web_socket() {
        // A short message, a long one, one in two pieces with a ping between them.
        let mut stream = vec![0x82, 2, 1, b'a', 0x82, 126, 1, 0];
        stream.extend_from_slice(&[b'x'; 256]);
        let ends = [0, 4, 264, 273, 276];
        stream.extend_from_slice(&[0x02, 2, 1, b'b', 0x89, 0, 0x80, 1, b'c', 0x8a, 1, b'd']);
        let pairs = [("upgrade", "websocket"), ("sec-websocket-protocol", "v5.channel.k8s.io")];
        let status = json!({ "status": "Failure" });
        for step in [1, 3, 300] {
            let (mut following, mut at) = (agreed(&pairs).unwrap(), 0);
            for piece in stream.chunks(step) {
                let between = following.words(&status).is_some();
                assert_eq!(between, ends.contains(&at), "{at} in steps of {step}");
                following.passed(piece);
                at += piece.len();
            }
            let words = following.words(&status).unwrap();
            assert_eq!(words[..3], [0x82, 21, 3]);
            assert_eq!(words[3..23], *br#"{"status":"Failure"}"#);
            assert_eq!(words[23..], CLOSE);
            following.passed(&CLOSE);
            assert!(following.words(&status).is_none(), "the cluster has closed it");
        }
        let base64 = [("upgrade", "websocket"), ("sec-websocket-protocol", "v4.base64.channel.k8s.io")];
        let words = agreed(&base64).unwrap().words(&json!({ "message": "x".repeat(200) })).unwrap();
        assert_eq!((words[0], words[1], words[4]), (0x81, 126, b'3'));
    }

    #[test]
    fn a_session_by_spdy_without_an_error_stream_is_cut() {
        let following =
            agreed(&[("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", "v4.channel.k8s.io")]).unwrap();
        assert!(following.words(&json!({})).is_none());
    }
}
