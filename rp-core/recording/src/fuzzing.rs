//! Frames and lines of recordings, for `tests/fuzz`. Compiled with `--cfg fuzzing` alone.

use rp_base::{Digest, Id, Timestamp};
use rp_seal::DataKey;

use crate::StreamKind;
use crate::cast::{Encoder, Header};
use crate::frame::{self, HEAD, Head};
use crate::plain::{self, PlainTextParser};

/// Number and sealed length of a chunk's clear part.
pub fn head(bytes: &[u8]) -> Option<(u32, usize)> {
    Head::parse(bytes).map(|head| (head.number, head.length))
}

/// One chunk, sealed.
pub fn seal(key: &DataKey, id: &Id, number: u32, before: Digest, lines: &[u8]) -> Option<Vec<u8>> {
    frame::seal(key, id, number, before, lines).ok().map(|(chunk, _)| chunk)
}

/// The lines of one chunk.
pub fn open(key: &DataKey, id: &Id, chunk: &[u8]) -> Option<String> {
    let head = Head::parse(chunk)?;
    let sealed = chunk.get(HEAD..HEAD + head.length)?;
    frame::open(key, id, head, sealed).ok()
}

/// The lines of what was sealed.
pub fn unpack(packed: &[u8]) -> Option<String> {
    frame::unpack(packed)
}

/// A cast of output that came in these pieces.
pub fn cast(pieces: &[&[u8]]) -> Vec<u8> {
    let (mut out, at) = (Vec::new(), Timestamp::from_millis(0));
    let header = Header { started: at, size: (80, 24), term: None, title: "fuzz", command: &[] };
    let mut encoder = Encoder::new(&header, &mut out);
    for piece in pieces {
        encoder.wrote(at, StreamKind::Output, piece, &mut out);
    }
    encoder.finish(at, &mut out);
    out
}

/// The texts of a cast's events, and their lines as they are searched.
pub fn shown(cast: &str) -> (String, Vec<String>) {
    let (mut whole, mut lines, mut parser) = (String::new(), Vec::new(), PlainTextParser::default());
    for (at, _, text) in plain::events(cast) {
        whole.push_str(&text);
        parser.take(at, &text, |line| lines.push(line.text));
    }
    lines.extend(parser.rest().map(|line| line.text));
    (whole, lines)
}
