//! Both ways of a channel. Data is taken from the leg only when the client has room for it, so little waits here.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use rp_recording::{RecordError, Recorder, StreamKind};
use russh::{ChannelId, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, client, server};
use tokio::sync::oneshot;

use super::{
    ChannelOutcome, ChannelRequest, ClientMessage, Gatekeeper, NEWS_WITHIN, Outlet, RelayState,
    RequestResult, short, unrecorded,
};
use crate::ssh::banner;

/// Marks a channel whose client has no room for more, until it is dropped.
struct StallMark<'a>(&'a AtomicBool);

impl Drop for StallMark<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A client that took nothing for so long is marked.
const STALLED_AFTER: Duration = Duration::from_millis(100);

impl RelayState {
    /// Waits until the client's connection has taken a piece, and marks the channel when that takes long.
    async fn sent<T>(&self, sending: impl Future<Output = T>) -> T {
        let mut sending = pin!(sending);
        // Most pieces are taken at once, and need no timer.
        if let Poll::Ready(sent) = futures_util::poll!(sending.as_mut()) {
            return sent;
        }
        if let Ok(sent) = tokio::time::timeout(STALLED_AFTER, sending.as_mut()).await {
            return sent;
        }
        self.stalled.store(true, Ordering::Relaxed);
        let _mark = StallMark(&self.stalled);
        sending.await
    }
}

/// How long a machine has to answer a request.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// How long the end of a program's output waits for its exit status, once the person has said all too: a client that has
/// nothing more to say or to hear closes the channel, and nothing can be told on it after that.
const STATUS_WITHIN: Duration = Duration::from_secs(5);

/// The person's client, or the machine, is gone.
struct PeerGone;

/// Machine to person.
pub(super) async fn down(
    from: &mut ChannelReadHalf,
    person: &ChannelWriteHalf<server::Msg>,
    handle: &server::Handle,
    shared: &RelayState,
) -> ChannelOutcome {
    let id = person.id();
    let mut owes_eof = false;
    loop {
        let message = if owes_eof {
            let next = tokio::time::timeout(STATUS_WITHIN, from.wait()).await;
            next.unwrap_or(Some(ChannelMsg::Eof))
        } else {
            from.wait().await
        };
        let Some(message) = message else { break };
        let ends = matches!(message, ChannelMsg::ExitStatus { .. } | ChannelMsg::ExitSignal { .. });
        let passed = match message {
            ChannelMsg::Eof if !owes_eof && shared.only_status_is_left() => {
                announce_recording(person, shared).await;
                owes_eof = true;
                continue;
            }
            ChannelMsg::Data { data } => {
                if let Err(error) = shared.record(StreamKind::Output, &data).await {
                    return unrecorded(&error);
                }
                shared.count_down(data.len());
                shared.sent(person.data_bytes(data)).await.map_err(|_| PeerGone)
            }
            ChannelMsg::ExtendedData { data, ext } => {
                if let Err(error) = shared.record(StreamKind::Error, &data).await {
                    return unrecorded(&error);
                }
                shared.count_down(data.len());
                shared.sent(person.extended_data_bytes(ext, data)).await.map_err(|_| PeerGone)
            }
            ChannelMsg::Close => return shared.end.lock().clone(),
            other => {
                let eof = matches!(other, ChannelMsg::Eof);
                if eof || ends {
                    announce_recording(person, shared).await;
                }
                owes_eof &= !eof;
                forward_control(other, id, handle, shared).await
            }
        };
        let passed = match passed {
            Ok(()) if ends && std::mem::take(&mut owes_eof) => handle.eof(id).await.map_err(|()| PeerGone),
            passed => passed,
        };
        if passed.is_err() {
            return ChannelOutcome::Left;
        }
    }
    // No more messages, and none that it is closed.
    match &*shared.end.lock() {
        ChannelOutcome::Closed => ChannelOutcome::Broken,
        known => known.clone(),
    }
}

/// Tells a person at a terminal where the recording is, before the end of the program.
async fn announce_recording(person: &ChannelWriteHalf<server::Msg>, shared: &RelayState) {
    if let Some(page) = shared.recorder().and_then(Recorder::take_page) {
        let words = Bytes::from(banner::line(&format!("recorded: {page}")));
        let _ = tokio::time::timeout(NEWS_WITHIN, person.extended_data_bytes(1, words)).await;
    }
}

/// Forwards messages that carry no data. All use one queue, so that nothing overtakes the last byte.
async fn forward_control(
    message: ChannelMsg,
    id: ChannelId,
    handle: &server::Handle,
    shared: &RelayState,
) -> Result<(), PeerGone> {
    let told = match message {
        ChannelMsg::Eof => handle.eof(id).await,
        ChannelMsg::ExitStatus { exit_status } => {
            *shared.end.lock() = ChannelOutcome::Exit(exit_status);
            handle.exit_status_request(id, exit_status).await
        }
        ChannelMsg::ExitSignal { signal_name, core_dumped, error_message, lang_tag } => {
            *shared.end.lock() = ChannelOutcome::Signal(format!("{signal_name:?}"));
            handle.exit_signal_request(id, signal_name, core_dumped, error_message, lang_tag).await
        }
        ChannelMsg::XonXoff { client_can_do } => handle.xon_xoff_request(id, client_can_do).await,
        ChannelMsg::Success | ChannelMsg::Failure => {
            if let Some(asked) = shared.asked.lock().pop_front() {
                let _ = asked.send(matches!(message, ChannelMsg::Success));
            }
            Ok(())
        }
        _ => Ok(()),
    };
    told.map_err(|()| PeerGone)
}

/// Person to machine.
pub(super) async fn up<G: Gatekeeper>(
    mut outlet: Outlet,
    far: &ChannelWriteHalf<client::Msg>,
    gate: &G,
    shared: &RelayState,
) -> ChannelOutcome {
    while let Some((message, size)) = outlet.next().await {
        let passed = pass(message, far, gate, shared).await;
        outlet.release(size);
        match passed {
            Ok(()) => {}
            Err(InputError::Unrecorded(error)) => return unrecorded(&error),
            // Output that the machine sent before it closed is still being copied.
            Err(InputError::Gone) => {
                while let Some((_, size)) = outlet.next().await {
                    outlet.release(size);
                }
            }
        }
    }
    ChannelOutcome::Left
}

enum InputError {
    Gone,
    Unrecorded(RecordError),
}

impl From<russh::Error> for InputError {
    fn from(_: russh::Error) -> Self {
        Self::Gone
    }
}

impl From<RecordError> for InputError {
    fn from(error: RecordError) -> Self {
        Self::Unrecorded(error)
    }
}

async fn pass<G: Gatekeeper>(
    message: ClientMessage,
    far: &ChannelWriteHalf<client::Msg>,
    gate: &G,
    shared: &RelayState,
) -> Result<(), InputError> {
    match message {
        ClientMessage::Data(bytes) => {
            shared.idle.typed();
            shared.record(StreamKind::Input, &bytes).await?;
            shared.count_up(bytes.len());
            far.data_bytes(bytes).await?;
        }
        ClientMessage::Extended(kind, bytes) => {
            shared.count_up(bytes.len());
            far.extended_data_bytes(kind, bytes).await?;
        }
        ClientMessage::Eof => {
            shared.said_all.store(true, Ordering::Relaxed);
            far.eof().await?;
        }
        ClientMessage::Size { cols, rows, width, height } => {
            if let Some(recorder) = shared.recorder() {
                recorder.resized(short(cols), short(rows)).await?;
            }
            far.window_change(cols, rows, width, height).await?;
        }
        ClientMessage::Signal(signal) => far.signal(signal).await?,
        ClientMessage::Request(ask, answer) => {
            let answered = put(ask, far, gate, shared).await;
            let _ = answer.send(answered);
        }
    }
    Ok(())
}

async fn put<G: Gatekeeper>(
    ask: ChannelRequest,
    far: &ChannelWriteHalf<client::Msg>,
    gate: &G,
    shared: &RelayState,
) -> RequestResult {
    if let Some(begun) = Box::pin(gate.admit(&ask)).await.map_err(|error| Some(error.to_string()))? {
        let _ = shared.begun.set(begun);
        shared.begins.notify_one();
    }
    if matches!(ask, ChannelRequest::Terminal(_)) {
        shared.idle.begin();
    }
    let (answer, wait) = oneshot::channel();
    shared.asked.lock().push_back(answer);
    let sent = match ask {
        ChannelRequest::Terminal(t) => {
            far.request_pty(true, &t.term, t.cols, t.rows, t.width, t.height, &t.modes).await
        }
        ChannelRequest::Variable { name, value } => far.set_env(true, name, value).await,
        ChannelRequest::Agent => far.agent_forward(true).await,
        ChannelRequest::Shell => far.request_shell(true).await,
        ChannelRequest::Exec(command) => far.exec(true, command).await,
        ChannelRequest::Subsystem(name) => far.request_subsystem(true, name).await,
    };
    sent.map_err(|_| None)?;
    match tokio::time::timeout(ANSWER_WITHIN, wait).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false) | Err(_)) => Err(None),
        Err(_) => Err(Some("the machine did not answer in time".to_owned())),
    }
}
