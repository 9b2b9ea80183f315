//! A container as the remote end: messages of `v5.channel.k8s.io`, whose first byte names the channel.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::{SinkExt as _, StreamExt as _};
use rp_documents::Side;
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_tungstenite::tungstenite::Message;

use super::remote_end::{Input, Output, ProgramExit, RemoteChannels};
use crate::api::RunningExec;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;

/// Ping interval: balancers drop silent connections, and the pongs show that the cluster is alive.
const PING_EVERY: Duration = Duration::from_secs(20);

/// bash where there is one, else sh; a terminal type that images know.
pub(super) const SHELL: [&str; 3] = [
    "/bin/sh",
    "-c",
    "TERM=${TERM:-xterm-256color}; export TERM; if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi",
];

/// Copies both directions until the program ends or the session is gone.
pub(super) async fn carry(running: RunningExec, carried: RemoteChannels) {
    let RunningExec { socket, mut held } = running;
    let (sent, received) = held.counters();
    let (mut to, mut from) = socket.split();
    let RemoteChannels { mut input, output } = carried;
    let writing = async {
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let message = tokio::select! {
                said = input.recv() => match said {
                    Some(Input::Bytes(bytes)) => {
                        received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                        Message::Binary(on(STDIN, &bytes))
                    }
                    Some(Input::Size(size)) => {
                        let size = serde_json::json!({ "Width": size.cols, "Height": size.rows });
                        Message::Binary(on(RESIZE, size.to_string().as_bytes()))
                    }
                    None => return,
                },
                _ = ping.tick() => Message::Ping(Bytes::new()),
            };
            if to.send(message).await.is_err() {
                // The reading half reports the reason.
                std::future::pending::<()>().await;
            }
        }
    };
    let reading = async {
        loop {
            let message = match from.next().await {
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Text(_) | Message::Frame(_))) => {
                    continue;
                }
                Some(Ok(Message::Close(_))) | None => {
                    return ProgramExit::broken(
                        "The cluster closed the connection without saying how the shell ended.",
                    );
                }
                Some(Err(error)) => {
                    tracing::debug!(error = %rp_base::chain(&error), "an exec broke off");
                    return ProgramExit::broken("The connection to the cluster broke off.");
                }
            };
            match message.split_first() {
                Some((&(STDOUT | STDERR), rest)) if !rest.is_empty() => {
                    sent.fetch_add(rest.len() as u64, Ordering::Relaxed);
                    if output.send(Output::Bytes(message.slice(1..))).await.is_err() {
                        return ProgramExit::broken("Nobody listens any more.");
                    }
                }
                Some((&ERROR, rest)) => return ended(rest),
                _ => {}
            }
        }
    };
    let end = tokio::select! {
        biased;
        side = held.over() => {
            held.outcome("cut", side);
            return;
        }
        () = output.closed() => return,
        end = reading => end,
        () = writing => return,
    };
    if let Some(side) = end.side {
        held.outcome("failed", side);
    }
    let _ = output.send(Output::Ended(end)).await;
}

fn on(channel: u8, bytes: &[u8]) -> Bytes {
    let mut message = BytesMut::with_capacity(bytes.len() + 1);
    message.put_u8(channel);
    message.put_slice(bytes);
    message.freeze()
}

/// The `Status` on the error channel.
fn ended(said: &[u8]) -> ProgramExit {
    let status: Value = serde_json::from_slice(said).unwrap_or_default();
    if status.get("status").and_then(Value::as_str) == Some("Success") {
        return ProgramExit::code(0);
    }
    let causes = status.pointer("/details/causes").and_then(Value::as_array).into_iter().flatten();
    let mut codes = causes.filter(|cause| cause.get("reason").and_then(Value::as_str) == Some("ExitCode"));
    let code = codes.find_map(|cause| cause.get("message").and_then(Value::as_str)?.parse().ok());
    if let Some(code) = code {
        return ProgramExit::code(code);
    }
    let message = status.get("message").and_then(Value::as_str).unwrap_or_default();
    let message = match message {
        "" => String::from_utf8_lossy(said).into_owned(),
        message => message.to_owned(),
    };
    ProgramExit {
        side: Some(Side::Cluster),
        ..ProgramExit::broken(format!("The cluster ended it: {}", rp_base::text::clean(&message, 500)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_how_a_program_ended() {
        assert_eq!(ended(br#"{"status":"Success"}"#), ProgramExit::code(0));
        let failed = br#"{"status":"Failure","reason":"NonZeroExitCode","message":"x","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}"#;
        assert_eq!(ended(failed), ProgramExit::code(7));
        assert_eq!(ended(failed).outcome(), "exit 7");
        let gone = ended(br#"{"status":"Failure","message":"container not found (\"x\")"}"#);
        assert_eq!(gone.side, Some(Side::Cluster));
        assert!(gone.words.contains("container not found"), "{}", gone.words);
        for hostile in [&b""[..], b"\xff\xfe", b"[]", br#"{"details":{"causes":7}}"#] {
            assert!(!ended(hostile).words.is_empty());
        }
    }
}
