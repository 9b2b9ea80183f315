//! `[v4.|v5.][base64.]channel.k8s.io` over WebSocket (RFC 6455), one direction, as it passes: the first byte of a
//! message names its channel. Nothing is changed and nothing but headers and short messages is kept.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::streams::{Channel, StreamDirection};
use super::{StreamEvent, Unreadable};
use crate::api::web_socket::FrameHead;

const CONTINUATION: u8 = 0;
/// Longest message in base64: it is decoded whole.
const MOST_BASE64: usize = 1024 * 1024;

/// Reads one direction.
#[derive(Debug)]
pub(super) struct WebSocket {
    way: StreamDirection,
    base64: bool,
    head: [u8; 14],
    head_length: usize,
    frame: Option<Frame>,
    /// The channel of the message that is passing; `None` before its first byte.
    channel: Option<u8>,
    /// A message in base64.
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    left: u64,
    mask: Option<[u8; 4]>,
    at: usize,
    data: bool,
    last: bool,
}

impl WebSocket {
    pub(super) const fn new(way: StreamDirection, base64: bool) -> Self {
        Self { way, base64, head: [0; 14], head_length: 0, frame: None, channel: None, text: Vec::new() }
    }

    /// Takes bytes that pass and appends what they are.
    pub(super) fn take(&mut self, bytes: &Bytes, seen: &mut Vec<StreamEvent>) -> Result<(), Unreadable> {
        let mut at = 0;
        while at < bytes.len() {
            let Some(mut frame) = self.frame.take() else {
                self.begin(bytes[at], seen)?;
                at += 1;
                continue;
            };
            let room = usize::try_from(frame.left).unwrap_or(usize::MAX);
            let end = at.saturating_add(room).min(bytes.len());
            let piece = bytes.slice(at..end);
            frame.left -= (end - at) as u64;
            if frame.data {
                self.payload(&mut frame, piece, seen)?;
            }
            at = end;
            if frame.left > 0 {
                self.frame = Some(frame);
            } else {
                self.end(frame, seen)?;
            }
        }
        Ok(())
    }

    /// One more byte of a frame's head.
    fn begin(&mut self, byte: u8, seen: &mut Vec<StreamEvent>) -> Result<(), Unreadable> {
        self.head[self.head_length] = byte;
        self.head_length += 1;
        let Some(head) = FrameHead::read(&self.head[..self.head_length]) else { return Ok(()) };
        self.head_length = 0;
        if head.reserved() != 0 {
            return Err(Unreadable("a WebSocket extension was not agreed on"));
        }
        let data = match head.opcode() {
            0..=2 => true,
            8..=10 => false,
            _ => return Err(Unreadable("a WebSocket frame of an unknown kind")),
        };
        let frame = Frame { left: head.length, mask: head.mask, at: 0, data, last: head.is_final() };
        if head.length >> 63 != 0 {
            return Err(Unreadable("a WebSocket frame that is too long"));
        }
        // The node's library takes each frame for a message, and its first byte for a channel.
        if data && self.way.is_up() && (!frame.last || head.opcode() == CONTINUATION) {
            return Err(Unreadable("a WebSocket message in pieces, which the node reads as several"));
        }
        if head.length == 0 {
            return self.end(frame, seen);
        }
        self.frame = Some(frame);
        Ok(())
    }

    fn payload(
        &mut self,
        frame: &mut Frame,
        mut piece: Bytes,
        seen: &mut Vec<StreamEvent>,
    ) -> Result<(), Unreadable> {
        if piece.is_empty() {
            return Ok(());
        }
        let channel = match self.channel {
            Some(channel) => channel,
            None => {
                let first = piece[0] ^ frame.mask.map_or(0, |mask| mask[frame.at % 4]);
                frame.at += 1;
                piece = piece.slice(1..);
                let channel = if self.base64 { first.wrapping_sub(b'0') } else { first };
                self.channel = Some(channel);
                channel
            }
        };
        let from = frame.at;
        frame.at += piece.len();
        let Some(stream) = Channel::from_number(channel).filter(|stream| self.way.listens(*stream)) else {
            return Ok(());
        };
        let piece = match frame.mask {
            None => piece,
            Some(mask) => piece.iter().enumerate().map(|(at, byte)| byte ^ mask[(from + at) % 4]).collect(),
        };
        if self.base64 {
            if self.text.len() + piece.len() > MOST_BASE64 {
                return Err(Unreadable("a message in base64 is too long"));
            }
            self.text.extend_from_slice(&piece);
            return Ok(());
        }
        self.way.record(stream, piece, seen);
        Ok(())
    }

    fn end(&mut self, frame: Frame, seen: &mut Vec<StreamEvent>) -> Result<(), Unreadable> {
        if !(frame.data && frame.last) {
            return Ok(());
        }
        let Some(stream) = self.channel.take().and_then(Channel::from_number) else { return Ok(()) };
        if self.base64 {
            let text = std::mem::take(&mut self.text);
            let bytes = STANDARD.decode(text).map_err(|_| Unreadable("a message is not in base64"))?;
            self.way.record(stream, bytes.into(), seen);
        }
        self.way.ended(stream);
        Ok(())
    }
}
