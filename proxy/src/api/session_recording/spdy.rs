//! SPDY/3.1 framing, as far as an exec needs it: which stream carries what, and the bytes of each. The client opens
//! all streams and names each in the header `streamtype` of its SYN_STREAM.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::headers_block::HeaderBlocks;
use super::streams::{Channel, StreamDirection};
use super::{StreamEvent, Unreadable};

const HEAD: usize = 8;
/// Of a control frame that is read.
const MOST_CONTROL: usize = 64 * 1024;
const MOST_STREAMS: usize = 64;
const SYN_STREAM: u16 = 1;
const SETTINGS: u16 = 4;
const HEADERS: u16 = 8;
/// RST_STREAM, PING, GOAWAY and WINDOW_UPDATE. The node's library reads so many bytes of them, whatever length they name:
/// with another one the next frame would be in another place for the node than for this reader.
const FIXED: [(u16, usize); 4] = [(3, 8), (6, 4), (7, 8), (9, 8)];
const FIN: u8 = 1;

const MISSIZED: Unreadable = Unreadable("a SPDY frame whose length is not that of its kind");

/// The streams that were opened: known to both directions.
pub(super) type OpenStreams = Arc<Mutex<Vec<(u32, Channel)>>>;

/// Reads one direction.
#[derive(Debug)]
pub(super) struct Spdy {
    way: StreamDirection,
    opened: OpenStreams,
    blocks: HeaderBlocks,
    head: Vec<u8>,
    frame: Option<Frame>,
}

#[derive(Debug)]
struct Frame {
    left: usize,
    fin: bool,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Data(Channel),
    /// A control frame that is read whole: its type and what came of it.
    Control(u16, Vec<u8>),
    Passed,
}

impl Spdy {
    pub(super) fn new(way: StreamDirection, opened: OpenStreams) -> Self {
        Self { way, opened, blocks: HeaderBlocks::new(), head: Vec::with_capacity(HEAD), frame: None }
    }

    /// Takes bytes that pass and appends what they are.
    pub(super) fn take(&mut self, bytes: &Bytes, seen: &mut Vec<StreamEvent>) -> Result<(), Unreadable> {
        let mut at = 0;
        while at < bytes.len() {
            let Some(mut frame) = self.frame.take() else {
                let end = (at + HEAD - self.head.len()).min(bytes.len());
                self.head.extend_from_slice(&bytes[at..end]);
                at = end;
                if self.head.len() == HEAD {
                    let frame = self.begin()?;
                    self.head.clear();
                    self.buffer(frame)?;
                }
                continue;
            };
            let end = at.saturating_add(frame.left).min(bytes.len());
            let piece = bytes.slice(at..end);
            frame.left -= end - at;
            at = end;
            match &mut frame.kind {
                Kind::Data(channel) => self.way.record(*channel, piece, seen),
                Kind::Control(_, held) => held.extend_from_slice(&piece),
                Kind::Passed => {}
            }
            self.buffer(frame)?;
        }
        Ok(())
    }

    fn begin(&self) -> Result<Frame, Unreadable> {
        let word = |at: usize| u32::from_be_bytes(std::array::from_fn(|place| self.head[at + place]));
        let (first, second) = (word(0), word(4));
        let fin = (second >> 24) as u8 & FIN != 0;
        let left = (second & 0x00ff_ffff) as usize;
        if first & 0x8000_0000 == 0 {
            let opened = self.opened.lock();
            let found = opened.iter().find(|(id, _)| *id == first);
            let Some((_, channel)) = found else {
                return Err(Unreadable("a SPDY stream that nobody opened"));
            };
            return Ok(Frame { left, fin, kind: Kind::Data(*channel) });
        }
        if first >> 16 & 0x7fff != 3 {
            return Err(Unreadable("another version of SPDY"));
        }
        let kind = (first & 0xffff) as u16;
        if !self.way.is_up() {
            // Clusters open no streams here; what they answer about ours is not needed.
            let strange = kind == SYN_STREAM;
            return if strange {
                Err(Unreadable("a SPDY stream of the cluster's"))
            } else {
                Ok(Frame { left, fin, kind: Kind::Passed })
            };
        }
        if let Some((_, length)) = FIXED.iter().find(|(fixed, _)| *fixed == kind) {
            let frame = Frame { left, fin, kind: Kind::Passed };
            return if left == *length { Ok(frame) } else { Err(MISSIZED) };
        }
        if !matches!(kind, SYN_STREAM | SETTINGS | HEADERS) {
            // A reply is one: its headers are packed with those of streams, and the cluster opens none.
            return Err(Unreadable("a SPDY frame that clients do not send"));
        }
        if left > MOST_CONTROL {
            return Err(Unreadable("SPDY headers are too long"));
        }
        Ok(Frame { left, fin, kind: Kind::Control(kind, Vec::with_capacity(left)) })
    }

    /// Keeps a frame until it is whole.
    fn buffer(&mut self, frame: Frame) -> Result<(), Unreadable> {
        if frame.left > 0 {
            self.frame = Some(frame);
            return Ok(());
        }
        match frame.kind {
            Kind::Data(channel) if frame.fin => self.way.ended(channel),
            Kind::Control(kind, held) => self.control(kind, &held)?,
            Kind::Data(_) | Kind::Passed => {}
        }
        Ok(())
    }

    fn control(&mut self, kind: u16, held: &[u8]) -> Result<(), Unreadable> {
        let short = Unreadable("a SPDY control frame is too short");
        if kind == SETTINGS {
            let (count, entries) = held.split_first_chunk::<4>().ok_or(short)?;
            let whole = entries.len() as u64 == 8 * u64::from(u32::from_be_bytes(*count));
            return if whole { Ok(()) } else { Err(MISSIZED) };
        }
        let (id, rest) = held.split_first_chunk::<4>().ok_or(short)?;
        let id = u32::from_be_bytes(*id) & 0x7fff_ffff;
        // Every block is read, for the next one is packed with it.
        let block = if kind == SYN_STREAM { rest.get(6..).ok_or(short)? } else { rest };
        let named = self.blocks.read(block, b"streamtype")?;
        if kind == SYN_STREAM {
            // A stream with any other name would carry bytes that are not recorded.
            let channel = named.and_then(|name| Channel::from_name(&name));
            let channel = channel.ok_or(Unreadable("a SPDY stream of an unknown kind"))?;
            let mut opened = self.opened.lock();
            // The node resets what is not opened in order, and goes on.
            let in_order = opened.last().is_none_or(|(last, _)| id >= last.saturating_add(2));
            if opened.len() >= MOST_STREAMS || id == 0 || !in_order {
                return Err(Unreadable("too many SPDY streams, or one opened out of order"));
            }
            opened.push((id, channel));
        } else if named.is_some() {
            return Err(Unreadable("a SPDY stream that changes its kind"));
        }
        Ok(())
    }
}
