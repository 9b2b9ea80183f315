//! Exec over WebSocket: `v5.channel.k8s.io` and `v4.channel.k8s.io` (KEP-4006). SPDY is not spoken here.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
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
use rp_base::{SharedClock, chain};
use rp_simulator::body::Body;
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

use super::Call;
use super::path::Resource;
use super::shell::{self, CommandOutput, Editor, ShellContext};
use super::status::Failure;
use crate::ssh;

/// Channels of a message's first byte.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
const CLOSE: u8 = 255;

/// Without a message for that long a shell ends.
const IDLE: Duration = Duration::from_mins(30);
/// Largest message, and longest line that is being typed.
const MOST: usize = 1 << 20;

/// `…/pods/{name}/exec`.
pub(super) fn answer(
    call: &Call<'_>,
    mut request: Request<Incoming>,
    at: &Resource,
) -> Result<Response<Body>, Failure> {
    let kind = rp_simulator::objects::find("", "v1", "pods").ok_or_else(Failure::no_path)?;
    let name = at.name.clone().unwrap_or_default();
    let pod = call.find(kind, at.namespace.as_deref(), &name)?;
    let command: Vec<String> = call.query.all("command").map(str::to_owned).collect();
    if command.is_empty() {
        return Err(Failure::bad("you must specify at least one command for the container"));
    }
    let (accept, protocol) = handshake(&call.headers).ok_or_else(|| {
        Failure::bad("Upgrade request required: the simulated region speaks WebSocket (v4, v5)")
    })?;
    // The machine config daemon sees the host's files.
    let node = pod["spec"]["nodeName"].as_str().filter(|_| name.starts_with("machine-config-daemon-"));
    let host_keys = node.map(|node| ssh::public_keys(call.view.cluster, node)).unwrap_or_default();
    let session = Session {
        pod: name,
        host_keys,
        command,
        tty: call.query.flag("tty"),
        stdin: call.query.flag("stdin"),
        clock: call.api.clock.clone(),
        stop: call.api.stop.clone(),
    };
    Ok(switch(&mut request, (accept, protocol), "exec", |upgraded| session.serve(upgraded)))
}

/// Answers a handshake and serves the session; `what` names it in the log.
pub(super) fn switch<F, E>(
    request: &mut Request<Incoming>,
    (accept, protocol): (HeaderValue, &'static str),
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
    let headers: [(HeaderName, HeaderValue); 4] = [
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accept),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol)),
    ];
    response.headers_mut().extend(headers);
    response
}

/// The accept key and the protocol, when the request is a WebSocket handshake with a protocol we speak.
pub(super) fn handshake(headers: &HeaderMap) -> Option<(HeaderValue, &'static str)> {
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
    let protocol =
        ["v5.channel.k8s.io", "v4.channel.k8s.io"].into_iter().find(|known| offered.contains(known))?;
    Some((HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()?, protocol))
}

struct Session {
    pod: String,
    /// Public host keys of the machine, for those that see its files.
    host_keys: String,
    command: Vec<String>,
    tty: bool,
    stdin: bool,
    clock: SharedClock,
    stop: CancellationToken,
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

impl Session {
    async fn serve(self, upgraded: Upgraded) -> Result<(), Error> {
        let config = WebSocketConfig::default()
            .read_buffer_size(16 * 1024)
            .write_buffer_size(16 * 1024)
            .max_write_buffer_size(4 * MOST)
            .max_message_size(Some(MOST))
            .max_frame_size(Some(MOST));
        let mut socket =
            WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
        let code = self.command(&mut socket).await?;
        send(&mut socket, STATUS, status(code).to_string().as_bytes()).await?;
        // A close without a status is an error for kubectl.
        let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        socket.close(Some(frame)).await?;
        // Until the client has closed too, or shows no sign of it.
        let rest = async { while let Some(Ok(_)) = socket.next().await {} };
        let _ = tokio::time::timeout(Duration::from_secs(5), rest).await;
        Ok(())
    }

    fn place(&self) -> ShellContext<'_> {
        ShellContext { pod: &self.pod, now: self.clock.now(), host_keys: &self.host_keys }
    }

    /// Runs the command; gives its exit code.
    async fn command(&self, socket: &mut Socket) -> Result<u8, Error> {
        let words: Vec<&str> = self.command.iter().map(String::as_str).collect();
        let place = self.place();
        let done = match shell::shell(&words) {
            Some(None) if self.stdin => return self.interactive(socket).await,
            Some(None) => CommandOutput::default(),
            Some(Some(script)) => shell::script(script, &place),
            None => shell::run(&words, &place),
        };
        self.print(socket, &done).await?;
        if done.copy && self.stdin {
            while let Some(typed) = self.typed(socket).await? {
                send(socket, STDOUT, &typed).await?;
            }
        }
        Ok(done.code)
    }

    async fn print(&self, socket: &mut Socket, done: &CommandOutput) -> Result<(), Error> {
        let text = |text: &str| if self.tty { text.replace('\n', "\r\n") } else { text.to_owned() };
        if !done.out.is_empty() {
            send(socket, STDOUT, text(&done.out).as_bytes()).await?;
        }
        if !done.err.is_empty() {
            // A terminal has one screen.
            send(socket, if self.tty { STDOUT } else { STDERR }, text(&done.err).as_bytes()).await?;
        }
        Ok(())
    }

    /// A shell that reads commands until `exit` or the end of its input.
    async fn interactive(&self, socket: &mut Socket) -> Result<u8, Error> {
        if self.tty {
            let greeting = format!("{}{}", shell::GREETING.replace('\n', "\r\n"), shell::PROMPT);
            send(socket, STDOUT, greeting.as_bytes()).await?;
        }
        let mut editor = Editor::new(self.tty);
        let mut code = 0;
        while let Some(typed) = self.typed(socket).await? {
            for byte in typed.iter().copied() {
                let key = editor.key(byte);
                send(socket, STDOUT, &key.echo).await?;
                if let Some(line) = key.line {
                    match self.line(socket, &line, &mut code).await? {
                        true => return Ok(code),
                        false if self.tty => send(socket, STDOUT, shell::PROMPT.as_bytes()).await?,
                        false => {}
                    }
                }
                if key.end {
                    return Ok(code);
                }
            }
        }
        let rest = editor.rest();
        self.line(socket, &rest, &mut code).await?;
        Ok(code)
    }

    /// Runs a line; true when the shell ends with it.
    async fn line(&self, socket: &mut Socket, line: &str, code: &mut u8) -> Result<bool, Error> {
        if line.trim().is_empty() {
            return Ok(false);
        }
        let done = shell::script(line, &self.place());
        *code = done.code;
        self.print(socket, &done).await?;
        Ok(done.exit)
    }

    /// What came in on standard input; `None` at its end.
    async fn typed(&self, socket: &mut Socket) -> Result<Option<Bytes>, Error> {
        loop {
            let message = tokio::select! {
                message = tokio::time::timeout(IDLE, socket.next()) => message,
                () = self.stop.cancelled() => return Ok(None),
            };
            let data = match message {
                Ok(Some(message)) => match message? {
                    Message::Binary(data) => data,
                    Message::Text(text) => Bytes::from(text),
                    Message::Close(_) => return Ok(None),
                    _ => continue,
                },
                Ok(None) | Err(_) => return Ok(None),
            };
            match (data.first(), data.get(1)) {
                (Some(&STDIN), _) => return Ok(Some(data.slice(1..))),
                (Some(&CLOSE), Some(&STDIN)) => return Ok(None),
                // Terminal sizes, and channels that are not read.
                _ => {}
            }
        }
    }
}

async fn send(socket: &mut Socket, channel: u8, data: &[u8]) -> Result<(), Error> {
    if data.is_empty() {
        return Ok(());
    }
    let mut message = BytesMut::with_capacity(data.len() + 1);
    message.put_u8(channel);
    message.put_slice(data);
    socket.send(Message::Binary(message.freeze())).await
}

/// The exit status of the command, in the format of the status channel.
fn status(code: u8) -> Value {
    if code == 0 {
        return json!({"metadata": {}, "status": "Success"});
    }
    json!({"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": format!("command terminated with non-zero exit code: exit status {code}"),
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]}})
}
