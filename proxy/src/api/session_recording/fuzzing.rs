//! The readers of a session's streams, for `tests/fuzz`. Compiled with `--cfg fuzzing` alone.

use std::sync::Arc;

use bytes::Bytes;
use rp_recording::StreamKind;

use super::spdy::{OpenStreams, Spdy};
use super::streams::{Channel, StreamDirection};
use super::websocket::WebSocket;
use super::{StreamEvent, Unreadable};

/// What the recorder made of one direction.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadSession {
    /// Streams of SPDY and what they are for.
    pub streams: Vec<(u32, &'static str)>,
    pub input: Vec<u8>,
    pub output: Vec<u8>,
    pub error: Vec<u8>,
    /// All of it could be read.
    pub readable: bool,
}

/// Bytes of SPDY that come in pieces of that size. `open`: the streams that are open already.
pub fn spdy(bytes: &[u8], piece: usize, up: bool, open: &[(u32, &str)]) -> ReadSession {
    let opened = OpenStreams::default();
    for (id, name) in open {
        opened.lock().extend(Channel::from_name(name.as_bytes()).map(|channel| (*id, channel)));
    }
    let mut reader = Spdy::new(StreamDirection::new(up, true), Arc::clone(&opened));
    let mut session = read(bytes, piece, |bytes, seen| reader.take(bytes, seen));
    session.streams = opened.lock().iter().map(|(id, channel)| (*id, name(*channel))).collect();
    session
}

/// Bytes of a WebSocket that come in pieces of that size.
pub fn websocket(bytes: &[u8], piece: usize, up: bool, base64: bool) -> ReadSession {
    let mut reader = WebSocket::new(StreamDirection::new(up, true), base64);
    read(bytes, piece, |bytes, seen| reader.take(bytes, seen))
}

fn read(
    bytes: &[u8],
    piece: usize,
    mut take: impl FnMut(&Bytes, &mut Vec<StreamEvent>) -> Result<(), Unreadable>,
) -> ReadSession {
    let mut session = ReadSession { readable: true, ..ReadSession::default() };
    for piece in bytes.chunks(piece.max(1)) {
        let mut seen = Vec::new();
        session.readable = take(&Bytes::copy_from_slice(piece), &mut seen).is_ok();
        for event in seen {
            match event {
                StreamEvent::Bytes(StreamKind::Input, bytes) => session.input.extend_from_slice(&bytes),
                StreamEvent::Bytes(StreamKind::Output, bytes) => session.output.extend_from_slice(&bytes),
                StreamEvent::Bytes(StreamKind::Error, bytes) => session.error.extend_from_slice(&bytes),
                StreamEvent::Resized(..) | StreamEvent::Status(_) => {}
            }
        }
        if !session.readable {
            break;
        }
    }
    session
}

const fn name(channel: Channel) -> &'static str {
    match channel {
        Channel::Input => "stdin",
        Channel::Output => "stdout",
        Channel::Error => "stderr",
        Channel::Status => "error",
        Channel::Resize => "resize",
    }
}
