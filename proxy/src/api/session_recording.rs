//! Records exec and attach sessions. Both directions are parsed beside the relay, and no byte is changed. A
//! chunk goes on to the other side only after the recording has taken it, so a slow recording slows the session down.

#[cfg(fuzzing)]
pub(super) mod fuzzing;
mod headers_block;
mod spdy;
mod streams;
mod websocket;

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use parking_lot::Mutex;
use rp_access::ActiveGrant;
use rp_documents::RecordingKind;
use rp_recording::{RecordError, Recorder, Recordings, SessionStart, StreamKind};

use super::request::Classified;
use spdy::Spdy;
use streams::{Channel, StreamDirection};
use websocket::WebSocket;

/// The bytes do not follow the exec protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
struct Unreadable(&'static str);

/// One decoded event of a session stream.
#[derive(Debug, PartialEq, Eq)]
enum StreamEvent {
    Bytes(StreamKind, Bytes),
    Resized(u16, u16),
    /// A piece of the status at the end.
    Status(Bytes),
}

/// What the cluster said about the end. It is read when the session is over: a kubelet goes after the status without
/// ending its stream.
#[derive(Debug, Clone, Default)]
struct StatusBuffer(Arc<Mutex<Vec<u8>>>);

impl StatusBuffer {
    /// Of a status, bytes.
    const MOST: usize = 8 * 1024;

    fn take(&self, bytes: &[u8]) {
        let mut held = self.0.lock();
        let room = Self::MOST.saturating_sub(held.len()).min(bytes.len());
        held.extend_from_slice(&bytes[..room]);
    }

    fn outcome(&self) -> Option<String> {
        streams::outcome(&self.0.lock())
    }
}

/// Begins the recording of a session, before anything is sent to the cluster.
pub(super) async fn begin(
    recordings: &Recordings,
    live: &ActiveGrant,
    request: &Classified,
) -> Result<Option<Recorder>, RecordError> {
    let asked: Vec<_> = url::form_urlencoded::parse(request.query.as_bytes()).collect();
    let of = |name: &str| asked.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_ref());
    let tty = matches!(of("tty"), Some("true" | "1"));
    let mut place = format!("{}/{}", request.namespace, request.name);
    if let Some(container) = of("container") {
        place = format!("{place}/{container}");
    }
    let command = match request.subresource.as_str() {
        "attach" => vec!["(attach)".to_owned()],
        _ => request.command.shown.clone(),
    };
    let grant = &live.grant;
    let (kind, person) = (RecordingKind::Exec, &grant.owner);
    // What the node gives a container with a terminal.
    let term = tty.then(|| "xterm".to_owned());
    let start = SessionStart { kind, grant, person, place, command, interactive: tty, size: None, term };
    recordings.begin(start).await
}

/// The recording of one session, for both directions.
#[derive(Debug)]
pub(super) struct Tap {
    recorder: Recorder,
    status: StatusBuffer,
    up: Direction,
    down: Direction,
}

/// One direction's reader; one side of the relay has it.
#[derive(Debug)]
pub(super) struct Direction {
    recorder: Recorder,
    status: StatusBuffer,
    reader: Reader,
    /// It could not be read: with policy `wanted` the session goes on.
    lost: bool,
}

#[derive(Debug)]
enum Reader {
    WebSocket(WebSocket),
    Spdy(Box<Spdy>),
    Unknown,
}

impl Tap {
    /// Reads what the answer agreed on.
    pub(super) fn new(recorder: Recorder, agreed: &HeaderMap, input: bool) -> Self {
        let status = StatusBuffer::default();
        let opened = spdy::OpenStreams::default();
        let direction = |up| Direction {
            recorder: recorder.clone(),
            status: status.clone(),
            reader: reader(agreed, StreamDirection::new(up, input), &opened),
            lost: false,
        };
        let (up, down) = (direction(true), direction(false));
        Self { recorder, status, up, down }
    }

    /// Splits into the two direction readers and the handle that ends the recording.
    pub(super) fn split(self) -> (Direction, Direction, RecordingEnd) {
        (self.up, self.down, RecordingEnd { recorder: self.recorder, status: self.status })
    }
}

fn reader(agreed: &HeaderMap, way: StreamDirection, opened: &spdy::OpenStreams) -> Reader {
    let of = |name: &str| agreed.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if of("upgrade").eq_ignore_ascii_case("spdy/3.1") {
        return Reader::Spdy(Box::new(Spdy::new(way, Arc::clone(opened))));
    }
    let base64 = match of("sec-websocket-protocol") {
        // Without one the API server speaks the first version.
        "" | "channel.k8s.io" | "v4.channel.k8s.io" | "v5.channel.k8s.io" => false,
        "base64.channel.k8s.io" | "v4.base64.channel.k8s.io" => true,
        _ => return Reader::Unknown,
    };
    Reader::WebSocket(WebSocket::new(way, base64))
}

impl Direction {
    /// Records bytes that are about to be forwarded.
    ///
    /// # Errors
    /// Recording is required and failed: the bytes must not be forwarded.
    pub(super) async fn pass(&mut self, bytes: &Bytes) -> Result<(), RecordError> {
        if self.lost {
            return Ok(());
        }
        let mut seen = Vec::new();
        let read = match &mut self.reader {
            Reader::WebSocket(reader) => reader.take(bytes, &mut seen),
            Reader::Spdy(reader) => reader.take(bytes, &mut seen),
            Reader::Unknown => Err(Unreadable("they agreed on another protocol")),
        };
        for seen in seen {
            match seen {
                StreamEvent::Bytes(what, bytes) => self.recorder.wrote(what, &bytes).await?,
                StreamEvent::Resized(cols, rows) => self.recorder.resized(cols, rows).await?,
                StreamEvent::Status(bytes) => self.status.take(&bytes),
            }
        }
        if let Err(Unreadable(why)) = read {
            self.lost = true;
            return self.recorder.unreadable(why).await;
        }
        Ok(())
    }
}

/// The stream of a session by SPDY on which its status goes: the client opens it.
#[derive(Debug, Default)]
pub(super) struct ErrorStream(spdy::OpenStreams);

/// Finds that stream in what the client sends. `None`: the client does not speak the protocol.
#[derive(Debug)]
pub(super) struct ErrorStreamReader(Option<Box<Spdy>>);

impl ErrorStream {
    /// The reader of the client's side.
    pub(super) fn reader(&self) -> ErrorStreamReader {
        let way = StreamDirection::new(true, false);
        ErrorStreamReader(Some(Box::new(Spdy::new(way, Arc::clone(&self.0)))))
    }

    /// Its number; `None`: the client has not opened it.
    pub(super) fn id(&self) -> Option<u32> {
        self.0.lock().iter().find(|(_, channel)| *channel == Channel::Status).map(|(id, _)| *id)
    }
}

impl ErrorStreamReader {
    /// Reads what the client sends.
    pub(super) fn pass(&mut self, bytes: &Bytes) {
        if let Some(reader) = &mut self.0
            && reader.take(bytes, &mut Vec::new()).is_err()
        {
            self.0 = None;
        }
    }
}

/// The end of a recorded session.
#[derive(Debug)]
pub(super) struct RecordingEnd {
    recorder: Recorder,
    status: StatusBuffer,
}

impl RecordingEnd {
    /// Resolves when the session must end because it cannot be recorded any more.
    pub(super) async fn failed(&self) -> RecordError {
        self.recorder.failed().await
    }

    /// Ends the recording with the cluster's exit status, or with the text `otherwise` if there is none.
    pub(super) async fn finish(self, otherwise: &str) {
        let told = self.status.outcome();
        self.recorder.finish(told.as_deref().unwrap_or(otherwise)).await;
    }
}

#[cfg(test)]
mod tests;
