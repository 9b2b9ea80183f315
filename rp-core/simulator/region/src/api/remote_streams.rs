//! Standard streams of exec and attach, whatever carries them: WebSocket (`v5.channel.k8s.io`, `v4.channel.k8s.io`,
//! KEP-4006) or SPDY.

use std::pin::pin;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use hyper::upgrade::Upgraded;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rp_base::chain;
use rp_simulator::body::Body;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// Channels of a message's first byte.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const CLOSE: u8 = 255;

/// Without a message for that long a session ends.
const IDLE: Duration = Duration::from_mins(30);
/// For the client to read the rest and to close after the server: a slow one is still at the output.
const GOODBYE: Duration = Duration::from_mins(1);
/// Largest message.
const MOST: usize = 1 << 20;
/// Pieces of a direction that wait.
const QUEUE: usize = 16;
/// Bytes of a piece of output.
const PIECE: usize = 32 * 1024;

/// The protocols of exec and attach by WebSocket, best first.
pub(super) const SESSION_PROTOCOLS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

/// One piece of output.
#[derive(Debug)]
pub(super) enum Output {
    Stdout(Bytes),
    Stderr(Bytes),
    /// The `Status` object at the end.
    Status(Bytes),
}

/// The client is gone.
#[derive(Debug)]
pub(super) struct Gone;

/// The streams of one session.
#[derive(Debug)]
pub(super) struct RemoteStreams {
    input: mpsc::Receiver<Bytes>,
    output: mpsc::Sender<Output>,
}

impl RemoteStreams {
    /// Streams, the sender of their input and the receiver of their output.
    pub(super) fn new() -> (Self, mpsc::Sender<Bytes>, mpsc::Receiver<Output>) {
        let (input_sender, input) = mpsc::channel(QUEUE);
        let (output, outputs) = mpsc::channel(QUEUE);
        (Self { input, output }, input_sender, outputs)
    }

    /// What comes next on standard input; `None` at its end.
    pub(super) async fn read(&mut self) -> Option<Bytes> {
        tokio::time::timeout(IDLE, self.input.recv()).await.ok().flatten()
    }

    pub(super) async fn stdout(&self, data: impl Into<Bytes>) -> Result<(), Gone> {
        self.pieces(data.into(), Output::Stdout).await
    }

    pub(super) async fn stderr(&self, data: impl Into<Bytes>) -> Result<(), Gone> {
        self.pieces(data.into(), Output::Stderr).await
    }

    pub(super) async fn status(&self, status: String) -> Result<(), Gone> {
        self.output.send(Output::Status(status.into())).await.map_err(|_| Gone)
    }

    async fn pieces(&self, mut data: Bytes, output: fn(Bytes) -> Output) -> Result<(), Gone> {
        while !data.is_empty() {
            let piece = data.split_to(data.len().min(PIECE));
            self.output.send(output(piece)).await.map_err(|_| Gone)?;
        }
        Ok(())
    }
}

/// The accept key and the protocol, when the request is a WebSocket handshake that offers one of these protocols.
pub(super) fn handshake(headers: &HeaderMap, known: &[&'static str]) -> Option<(HeaderValue, &'static str)> {
    if !headers.get(UPGRADE)?.as_bytes().eq_ignore_ascii_case(b"websocket") {
        return None;
    }
    let key = headers.get(SEC_WEBSOCKET_KEY)?;
    let offered: Vec<&str> = headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    let protocol = known.iter().copied().find(|known| offered.contains(known))?;
    Some((HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()?, protocol))
}

/// The headers of the answer to a WebSocket handshake.
pub(super) fn websocket_headers(
    (accept, protocol): (HeaderValue, &'static str),
) -> Vec<(HeaderName, HeaderValue)> {
    vec![
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accept),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol)),
    ]
}

/// Answers an upgrade with these headers and serves the stream; `what` names it in the log.
pub(super) fn switch<F, E>(
    request: &mut Request<Incoming>,
    headers: Vec<(HeaderName, HeaderValue)>,
    what: &'static str,
    serve: impl FnOnce(Upgraded) -> F + Send + 'static,
) -> Response<Body>
where
    F: Future<Output = Result<(), E>> + Send,
    E: std::error::Error + Send + Sync + 'static,
{
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => {
                if let Err(error) = serve(upgraded).await {
                    tracing::debug!(error = %chain(&error), what, "simulated stream ended");
                }
            }
            Err(error) => tracing::debug!(error = %chain(&error), what, "simulated stream not opened"),
        }
    });
    let mut response = Response::new(Empty::new().boxed_unsync());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().extend(headers);
    response
}

pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// The server's end of a WebSocket.
pub(super) async fn socket(upgraded: Upgraded) -> Socket {
    let config = WebSocketConfig::default()
        .read_buffer_size(16 * 1024)
        .write_buffer_size(16 * 1024)
        .max_write_buffer_size(4 * MOST)
        .max_message_size(Some(MOST))
        .max_frame_size(Some(MOST));
    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await
}

/// Carries a session over channels of a WebSocket, to the end of the session or of the client.
pub(super) async fn carry<F>(
    upgraded: Upgraded,
    session: impl FnOnce(RemoteStreams) -> F,
) -> Result<(), Error>
where
    F: Future<Output = Result<(), Gone>>,
{
    let (sink, stream) = socket(upgraded).await.split();
    let (streams, input, outputs) = RemoteStreams::new();
    let mut reading = pin!(read_channels(stream, input));
    let serving = async { tokio::join!(session(streams), write_channels(sink, outputs)).1 };
    tokio::select! {
        written = serving => written?,
        read = &mut reading => return read,
    }
    // Until the client has closed too, or shows no sign of it.
    let _ = tokio::time::timeout(GOODBYE, reading).await;
    Ok(())
}

/// Standard input out of messages, until the client closes.
async fn read_channels(mut stream: SplitStream<Socket>, input: mpsc::Sender<Bytes>) -> Result<(), Error> {
    let mut input = Some(input);
    loop {
        let data = match tokio::time::timeout(IDLE, stream.next()).await {
            Ok(Some(message)) => match message? {
                Message::Binary(data) => data,
                Message::Text(text) => Bytes::from(text),
                Message::Close(_) => return Ok(()),
                _ => continue,
            },
            Ok(None) | Err(_) => return Ok(()),
        };
        match (data.first(), data.get(1), &input) {
            (Some(&STDIN), _, Some(sender)) if sender.send(data.slice(1..)).await.is_err() => input = None,
            (Some(&CLOSE), Some(&STDIN), _) => input = None,
            // Terminal sizes, and channels that are not read.
            _ => {}
        }
    }
}

/// Output into messages, and a close when there is no more.
async fn write_channels(
    mut sink: SplitSink<Socket, Message>,
    mut outputs: mpsc::Receiver<Output>,
) -> Result<(), Error> {
    while let Some(output) = outputs.recv().await {
        let (channel, data) = match output {
            Output::Stdout(data) => (STDOUT, data),
            Output::Stderr(data) => (STDERR, data),
            Output::Status(data) => (STATUS, data),
        };
        let mut message = BytesMut::with_capacity(data.len() + 1);
        message.put_u8(channel);
        message.put_slice(&data);
        sink.send(Message::Binary(message.freeze())).await?;
    }
    // A close without a status is an error for kubectl.
    let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
    sink.send(Message::Close(Some(frame))).await
}
