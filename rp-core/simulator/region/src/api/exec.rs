//! Exec in a simulated container: one command, or a shell, over the streams that a client opened.

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response};
use rp_base::SharedClock;
use rp_simulator::body::Body;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Call;
use super::path::Resource;
use super::remote_streams::{
    self, Gone, RemoteStreams, SESSION_PROTOCOLS, handshake, switch, websocket_headers,
};
use super::shell::{self, CommandOutput, Editor, InputUse, ShellContext, ShellState};
use super::spdy;
use super::status::Failure;
use crate::files::{MOST_BYTES, SharedFileTree};
use crate::ssh;

/// Bytes of standard input that are kept for a command: an archive has more than its files.
const MOST_INPUT: usize = 2 * MOST_BYTES;

/// `…/pods/{name}/exec`.
pub(super) fn answer(
    call: &Call<'_>,
    request: Request<Incoming>,
    at: &Resource,
) -> Result<Response<Body>, Failure> {
    let kind = rp_simulator::objects::find("", "v1", "pods").ok_or_else(Failure::no_path)?;
    let name = at.name.clone().unwrap_or_default();
    let namespace = at.namespace.as_deref();
    let pod = call.find(kind, namespace, &name)?;
    let command: Vec<String> = call.query.all("command").map(str::to_owned).collect();
    if command.is_empty() {
        return Err(Failure::bad("you must specify at least one command for the container"));
    }
    // The machine config daemon sees the host's files.
    let node = pod["spec"]["nodeName"].as_str().filter(|_| name.starts_with("machine-config-daemon-"));
    let host_keys = node.map(|node| ssh::public_keys(call.view.cluster, node)).unwrap_or_default();
    let key = format!("{}/pods/{}/{name}", call.view.cluster.index, namespace.unwrap_or_default());
    let session = Session {
        files: call.api.files.open(&key, &name, call.view.now),
        pod: name,
        host_keys,
        command,
        tty: call.query.flag("tty"),
        stdin: call.query.flag("stdin"),
        clock: call.api.clock.clone(),
        stop: call.api.stop.clone(),
    };
    serve(call, request, "exec", move |streams| session.serve(streams))
}

/// Carries a session over what the client asks for: WebSocket, or SPDY.
pub(super) fn serve<F>(
    call: &Call<'_>,
    mut request: Request<Incoming>,
    what: &'static str,
    session: impl FnOnce(RemoteStreams) -> F + Send + 'static,
) -> Result<Response<Body>, Failure>
where
    F: Future<Output = Result<(), Gone>> + Send + 'static,
{
    if let Some(accepted) = handshake(&call.headers, &SESSION_PROTOCOLS) {
        let headers = websocket_headers(accepted);
        return Ok(switch(&mut request, headers, what, |upgraded| remote_streams::carry(upgraded, session)));
    }
    let headers = spdy::handshake(&call.headers, "v4.channel.k8s.io").ok_or_else(|| {
        Failure::bad(
            "Upgrade request required: WebSocket (v4, v5.channel.k8s.io) or SPDY/3.1 (v4.channel.k8s.io)",
        )
    })?;
    let expected = spdy::ExpectedStreams {
        stdin: call.query.flag("stdin"),
        stdout: call.query.flag("stdout"),
        stderr: call.query.flag("stderr") && !call.query.flag("tty"),
        resize: call.query.flag("tty"),
    };
    Ok(switch(&mut request, headers, what, move |upgraded| spdy::session(upgraded, expected, session)))
}

struct Session {
    pod: String,
    /// Public host keys of the machine, for those that see its files.
    host_keys: String,
    command: Vec<String>,
    tty: bool,
    stdin: bool,
    files: SharedFileTree,
    clock: SharedClock,
    stop: CancellationToken,
}

impl Session {
    async fn serve(self, mut streams: RemoteStreams) -> Result<(), Gone> {
        let code = self.command(&mut streams).await?;
        streams.status(status(code).to_string()).await
    }

    fn context(&self) -> ShellContext<'_> {
        let (host_keys, now) = (self.host_keys.as_str(), self.clock.now());
        ShellContext { host: &self.pod, now, host_keys, files: &self.files, own: None }
    }

    /// Runs the command; gives its exit code.
    async fn command(&self, streams: &mut RemoteStreams) -> Result<u8, Gone> {
        let mut state = ShellState::new("/");
        let done = state.words(&self.command, &self.context());
        let code = done.code;
        let input = done.input.clone();
        self.print(streams, done).await?;
        match input {
            Some(_) if !self.stdin => Ok(code),
            Some(InputUse::Lines) => self.interactive(streams, state).await,
            Some(InputUse::Copy) => {
                while let Some(typed) = self.typed(streams).await {
                    streams.stdout(typed).await?;
                }
                Ok(code)
            }
            Some(input) => self.whole(streams, &input).await,
            None => Ok(code),
        }
    }

    /// A command that reads its standard input to the end.
    async fn whole(&self, streams: &mut RemoteStreams, input: &InputUse) -> Result<u8, Gone> {
        let mut kept = Vec::new();
        while let Some(typed) = self.typed(streams).await {
            kept.extend_from_slice(&typed);
            if kept.len() > MOST_INPUT {
                streams.stderr("sh: too much input for this simulation\n").await?;
                return Ok(1);
            }
            // `v4.channel.k8s.io` cannot close one channel: an archive says itself where it ends.
            let may_end = matches!(input, InputUse::Extract { .. }) && typed.last() == Some(&0);
            if may_end && shell::ends(&kept) {
                break;
            }
        }
        let done = shell::take_input(input, &kept, &self.context());
        let code = done.code;
        self.print(streams, done).await?;
        Ok(code)
    }

    async fn print(&self, streams: &RemoteStreams, done: CommandOutput) -> Result<(), Gone> {
        if self.tty {
            // A terminal has one screen.
            streams.stdout(shell::on_screen(&done.out)).await?;
            return streams.stdout(shell::on_screen(&done.err)).await;
        }
        streams.stdout(done.out).await?;
        streams.stderr(done.err).await
    }

    /// A shell that reads commands until `exit` or the end of its input.
    async fn interactive(&self, streams: &mut RemoteStreams, mut state: ShellState) -> Result<u8, Gone> {
        if self.tty {
            let mut greeting = shell::on_screen(shell::GREETING.as_bytes());
            greeting.extend_from_slice(shell::PROMPT.as_bytes());
            streams.stdout(greeting).await?;
        }
        let mut editor = Editor::new(self.tty);
        let mut code = 0;
        while let Some(typed) = self.typed(streams).await {
            for byte in typed {
                let key = editor.key(byte);
                streams.stdout(key.echo).await?;
                if let Some(line) = key.line {
                    match self.line(streams, &mut state, &line, &mut code).await? {
                        true => return Ok(code),
                        false if self.tty => streams.stdout(shell::PROMPT).await?,
                        false => {}
                    }
                }
                if key.end {
                    return Ok(code);
                }
            }
        }
        let rest = editor.rest();
        self.line(streams, &mut state, &rest, &mut code).await?;
        Ok(code)
    }

    /// Runs a line; true when the shell ends with it.
    async fn line(
        &self,
        streams: &RemoteStreams,
        state: &mut ShellState,
        line: &str,
        code: &mut u8,
    ) -> Result<bool, Gone> {
        if line.trim().is_empty() {
            return Ok(false);
        }
        let done = state.script(line, &self.context());
        *code = done.code;
        // `exec sh` goes on as the shell that is there.
        let exit = done.exit && done.input.is_none();
        self.print(streams, done).await?;
        Ok(exit)
    }

    /// What came in on standard input; `None` at its end.
    async fn typed(&self, streams: &mut RemoteStreams) -> Option<Bytes> {
        tokio::select! {
            typed = streams.read() => typed,
            () = self.stop.cancelled() => None,
        }
    }
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
