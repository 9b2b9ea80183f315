//! Both framings, in pieces of any size, and any bytes at all.

use bytes::{Bytes, BytesMut};
use flate2::{Compress, Compression, FlushCompress};
use proptest::collection::vec;
use proptest::prelude::*;
use rp_recording::StreamKind;

use super::spdy::{OpenStreams, Spdy};
use super::streams::StreamDirection;
use super::websocket::WebSocket;
use super::{ErrorStream, StatusBuffer, StreamEvent, Unreadable};

fn frame(opcode: u8, last: bool, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let masked = if mask.is_some() { 0x80 } else { 0 };
    let mut out = vec![opcode | if last { 0x80 } else { 0 }];
    match payload.len() {
        length @ 0..126 => out.push(length as u8 | masked),
        length @ 126..65_536 => {
            out.push(126 | masked);
            out.extend((length as u16).to_be_bytes());
        }
        length => {
            out.push(127 | masked);
            out.extend((length as u64).to_be_bytes());
        }
    }
    out.extend(mask.into_iter().flatten());
    let key = mask.unwrap_or_default();
    out.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]));
    out
}

/// What is seen of bytes that come in pieces; texts of one kind put together.
fn read(
    bytes: &[u8],
    piece: usize,
    mut take: impl FnMut(&Bytes, &mut Vec<StreamEvent>) -> Result<(), Unreadable>,
) -> (Vec<StreamEvent>, Result<(), Unreadable>) {
    let mut seen = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        if let Err(error) = take(&Bytes::copy_from_slice(piece), &mut seen) {
            return (joined(seen), Err(error));
        }
    }
    (joined(seen), Ok(()))
}

fn joined(seen: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut out: Vec<StreamEvent> = Vec::new();
    for next in seen {
        match (out.last_mut(), next) {
            (Some(StreamEvent::Bytes(what, bytes)), StreamEvent::Bytes(other, more)) if *what == other => {
                let mut all = BytesMut::from(&bytes[..]);
                all.extend_from_slice(&more);
                *bytes = all.freeze();
            }
            (Some(StreamEvent::Status(bytes)), StreamEvent::Status(more)) => {
                *bytes = [&bytes[..], &more].concat().into();
            }
            (_, next) => out.push(next),
        }
    }
    out
}

fn bytes(what: StreamKind, text: &str) -> StreamEvent {
    StreamEvent::Bytes(what, Bytes::copy_from_slice(text.as_bytes()))
}

const STATUS: &[u8] = b"{\"status\":\"Success\"}";

fn status() -> StreamEvent {
    StreamEvent::Status(Bytes::from_static(STATUS))
}

#[test]
fn a_status_is_read_once_it_is_over() {
    let told = StatusBuffer::default();
    assert_eq!(told.outcome(), None);
    let (begin, end) = STATUS.split_at(9);
    told.take(begin);
    told.take(end);
    assert_eq!(told.outcome().as_deref(), Some("exit 0"));
    told.take(&[b' '; 2 * StatusBuffer::MOST]);
    assert_eq!((told.outcome().as_deref(), told.0.lock().len()), (Some("exit 0"), StatusBuffer::MOST));
}

#[test]
fn channels_of_a_websocket_are_told_apart_in_any_pieces() {
    let long = "x".repeat(70_000);
    let mut down = frame(2, true, None, b"\x01out");
    down.extend(frame(9, true, None, b"ping"));
    down.extend(frame(2, true, None, b"\x02err"));
    down.extend(frame(2, false, None, b"\x01"));
    down.extend(frame(0, true, None, long.as_bytes()));
    down.extend(frame(2, true, None, b"\x01"));
    down.extend(frame(2, true, None, &[b"\x03", STATUS].concat()));
    down.extend(frame(8, true, None, &[3, 232]));
    for piece in [1, 2, 7, 4096, 1 << 20] {
        let mut reader = WebSocket::new(StreamDirection::new(false, true), false);
        let (seen, end) = read(&down, piece, |bytes, seen| reader.take(bytes, seen));
        assert_eq!(end, Ok(()));
        let expected = [
            bytes(StreamKind::Output, "out"),
            bytes(StreamKind::Error, "err"),
            bytes(StreamKind::Output, &long),
            status(),
        ];
        assert!(seen == expected, "{piece}");
    }
    let mask = Some([1, 2, 3, 4]);
    let mut up = frame(2, true, mask, b"\x00ls\r");
    up.extend(frame(2, true, mask, b"\x04{\"Width\":80,\"Height\":24}"));
    up.extend(frame(2, true, mask, b"\x01forged output"));
    for (piece, input) in [(1, true), (3, false), (100, true)] {
        let mut reader = WebSocket::new(StreamDirection::new(true, input), false);
        let (seen, _) = read(&up, piece, |bytes, seen| reader.take(bytes, seen));
        let keys = input.then(|| bytes(StreamKind::Input, "ls\r"));
        assert_eq!(seen, keys.into_iter().chain([StreamEvent::Resized(80, 24)]).collect::<Vec<_>>());
    }
    let mut reader = WebSocket::new(StreamDirection::new(false, false), true);
    let text = frame(1, true, None, b"1aGVsbG8=");
    assert_eq!(
        read(&text, 2, |bytes, seen| reader.take(bytes, seen)).0,
        [bytes(StreamKind::Output, "hello")]
    );
    let mut reader = WebSocket::new(StreamDirection::new(false, false), false);
    assert!(read(&[0xc2, 5], 2, |bytes, seen| reader.take(bytes, seen)).1.is_err(), "a compressed message");
}

/// A zlib stream with the dictionary, as a client makes it.
struct Packer(Compress, bool);

impl Packer {
    fn block(&mut self, headers: &[(&str, &str)]) -> Vec<u8> {
        let mut plain = (headers.len() as u32).to_be_bytes().to_vec();
        for text in headers.iter().flat_map(|(name, value)| [name, value]) {
            plain.extend((text.len() as u32).to_be_bytes());
            plain.extend(text.as_bytes());
        }
        let mut out = Vec::with_capacity(4096);
        if !std::mem::replace(&mut self.1, true) {
            out.extend([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);
        }
        self.0.compress_vec(&plain, &mut out, FlushCompress::Sync).unwrap();
        out
    }

    fn open(&mut self, id: u32, kind: &str) -> Vec<u8> {
        self.open_with(id, &[("streamtype", kind), ("port", "0")])
    }

    fn open_with(&mut self, id: u32, headers: &[(&str, &str)]) -> Vec<u8> {
        let mut payload = id.to_be_bytes().to_vec();
        payload.extend([0; 6]);
        payload.extend(self.block(headers));
        control(1, &payload)
    }
}

fn control(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = (0x8003_0000 | u32::from(kind)).to_be_bytes().to_vec();
    out.extend((payload.len() as u32).to_be_bytes());
    out.extend(payload);
    out
}

fn data(id: u32, fin: bool, payload: &[u8]) -> Vec<u8> {
    let mut out = id.to_be_bytes().to_vec();
    out.extend((payload.len() as u32 | if fin { 1 << 24 } else { 0 }).to_be_bytes());
    out.extend(payload);
    out
}

#[test]
fn streams_of_spdy_are_known_by_their_headers_in_any_pieces() {
    let mut packer = Packer(Compress::new(Compression::default(), false), false);
    let mut up = Vec::new();
    for (id, kind) in [(1, "error"), (3, "stdin"), (5, "stdout"), (7, "stderr"), (9, "resize")] {
        up.extend(packer.open(id, kind));
    }
    up.extend(control(6, &[0, 0, 0, 1]));
    up.extend(data(3, false, b"ls\r"));
    up.extend(data(9, false, b"{\"Width\":80,\"Height\":24}\n"));
    let mut down = control(2, &[0, 0, 0, 1, 9, 9, 9]);
    down.extend(data(5, false, b"out"));
    down.extend(data(7, false, b"err"));
    // A kubelet leaves the stream open.
    down.extend(data(1, false, STATUS));
    for piece in [1, 5, 1000] {
        let opened = OpenStreams::default();
        let mut reader = Spdy::new(StreamDirection::new(true, true), opened.clone());
        let (seen, end) = read(&up, piece, |bytes, seen| reader.take(bytes, seen));
        assert_eq!(
            (seen, end),
            (vec![bytes(StreamKind::Input, "ls\r"), StreamEvent::Resized(80, 24)], Ok(()))
        );
        let mut reader = Spdy::new(StreamDirection::new(false, true), opened);
        let (seen, end) = read(&down, piece, |bytes, seen| reader.take(bytes, seen));
        let expected = vec![bytes(StreamKind::Output, "out"), bytes(StreamKind::Error, "err"), status()];
        assert_eq!((seen, end), (expected, Ok(())));
    }
    let mut reader = Spdy::new(StreamDirection::new(false, true), OpenStreams::default());
    assert!(read(&data(11, false, b"x"), 9, |bytes, seen| reader.take(bytes, seen)).1.is_err());
    assert!(read(&up[..80], 9, |bytes, seen| reader.take(bytes, seen)).1.is_err(), "the cluster opens none");
}

#[test]
fn the_stream_of_the_status_is_found_in_what_the_client_sends() {
    let mut packer = Packer(Compress::new(Compression::default(), false), false);
    let sent = [packer.open(1, "stdin"), packer.open(3, "error"), data(1, false, b"ls")].concat();
    for piece in [1, 7, 1000] {
        let stream = ErrorStream::default();
        let mut reader = stream.reader();
        assert_eq!(stream.id(), None);
        for bytes in sent.chunks(piece) {
            reader.pass(&Bytes::copy_from_slice(bytes));
        }
        assert_eq!(stream.id(), Some(3));
    }
    let stream = ErrorStream::default();
    let mut reader = stream.reader();
    for bytes in [&b"no SPDY at all"[..], &sent] {
        reader.pass(&Bytes::copy_from_slice(bytes));
    }
    assert_eq!(stream.id(), None, "what cannot be read opens nothing");
}

#[test]
fn a_stream_that_the_node_could_read_otherwise_makes_a_session_unreadable() {
    for headers in [
        // The node's library splits a value at its NULs, and takes the first of what it has.
        [("streamtype", "stdout\0x"), ("port", "0")],
        [("streamtype", "x\0stdout"), ("port", "0")],
        [("streamtype", "stdin"), ("streamtype", "stdout")],
        [("streamtype", "stdout"), ("StreamType", "stdin")],
        [("streamtype\0", "stdout"), ("port", "0")],
        [("streamtype", "stdout "), ("port", "0")],
        [("streamtype", "STDOUT"), ("port", "0")],
        [("streamtype", "data"), ("port", "0")],
        [("streamtype", ""), ("port", "0")],
        [("other", "stdout"), ("port", "0")],
        [("streamtype", "stdout"), ("port", "0\x001")],
    ] {
        let mut packer = Packer(Compress::new(Compression::default(), false), false);
        let bytes = packer.open_with(1, &headers);
        let mut reader = Spdy::new(StreamDirection::new(true, true), OpenStreams::default());
        let (_, end) = read(&bytes, 100, |bytes, seen| reader.take(bytes, seen));
        assert!(end.is_err(), "{headers:?}");
    }
    // What the node resets is no stream.
    for ids in [[1, 1], [3, 1], [1, 2], [0, 2]] {
        let mut packer = Packer(Compress::new(Compression::default(), false), false);
        let bytes = [packer.open(ids[0], "error"), packer.open(ids[1], "stdin")].concat();
        let mut reader = Spdy::new(StreamDirection::new(true, true), OpenStreams::default());
        assert!(read(&bytes, 100, |bytes, seen| reader.take(bytes, seen)).1.is_err(), "{ids:?}");
    }
    // Nor does it get another kind later.
    let mut packer = Packer(Compress::new(Compression::default(), false), false);
    let mut bytes = packer.open(1, "stdin");
    let block = packer.block(&[("streamtype", "stdout")]);
    bytes.extend(control(8, &[&[0, 0, 0, 1][..], &block].concat()));
    let mut reader = Spdy::new(StreamDirection::new(true, true), OpenStreams::default());
    assert!(read(&bytes, 100, |bytes, seen| reader.take(bytes, seen)).1.is_err());
}

#[test]
fn a_frame_that_the_node_could_end_elsewhere_makes_a_session_unreadable() {
    let ends = |frames: &[u8]| {
        let opened = OpenStreams::default();
        opened.lock().push((3, super::streams::Channel::Input));
        let mut reader = Spdy::new(StreamDirection::new(true, true), opened);
        read(frames, 100, |bytes, seen| reader.take(bytes, seen)).1
    };
    let entry = [0, 0, 0, 4, 0, 0, 0, 1];
    for (kind, payload) in [
        (3, vec![0; 8]),
        (4, vec![0; 4]),
        (4, [&[0, 0, 0, 1][..], &entry].concat()),
        (6, vec![0, 0, 0, 1]),
        (7, vec![0; 8]),
        (9, vec![0; 8]),
    ] {
        assert_eq!(ends(&control(kind, &payload)), Ok(()), "{kind}");
        // What is behind the bytes that the node reads is a frame to it.
        let hidden = [&payload[..], &data(3, false, b"hidden")].concat();
        assert!(ends(&control(kind, &hidden)).is_err(), "{kind} with another frame inside");
    }
    // A client replies to no stream, and the block of a reply would change what later blocks mean.
    let mut packer = Packer(Compress::new(Compression::default(), false), false);
    let reply = [&[0, 0, 0, 1][..], &packer.block(&[("streamtype", "stdin")])].concat();
    assert!(ends(&control(2, &reply)).is_err());
    assert!(ends(&control(5, &[])).is_err(), "a kind that the node does not know");
}

#[test]
fn a_message_that_the_node_could_read_otherwise_makes_a_session_unreadable() {
    let mask = Some([1, 2, 3, 4]);
    let mut pieces = frame(2, false, mask, b"\x01");
    pieces.extend(frame(0, true, mask, b"\x00rm -rf /\r"));
    let alone = frame(0, true, mask, b"\x00id\r");
    // The node's library leaves the first bit of such a length out.
    let mut long = vec![0x89, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
    long.extend(frame(2, true, mask, b"\x00id\r"));
    for bytes in [pieces, alone, long] {
        let mut reader = WebSocket::new(StreamDirection::new(true, true), false);
        assert!(read(&bytes, 100, |bytes, seen| reader.take(bytes, seen)).1.is_err(), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_in_the_place_of_frames_never_panic(noise in vec(any::<u8>(), 0..600), piece in 1usize..64, up: bool, base64: bool) {
        let mut reader = WebSocket::new(StreamDirection::new(up, true), base64);
        let _ = read(&noise, piece, |bytes, seen| reader.take(bytes, seen));
        let mut reader = Spdy::new(StreamDirection::new(up, true), OpenStreams::default());
        let _ = read(&noise, piece, |bytes, seen| reader.take(bytes, seen));
    }

    #[test]
    fn headers_that_were_changed_never_panic(changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..5), piece in 1usize..64) {
        let mut packer = Packer(Compress::new(Compression::default(), false), false);
        let mut up = packer.open(1, "error");
        up.extend(packer.open(3, "stdout"));
        for (place, value) in changes {
            let length = up.len();
            up[place.index(length)] = value;
        }
        let mut reader = Spdy::new(StreamDirection::new(true, true), OpenStreams::default());
        let _ = read(&up, piece, |bytes, seen| reader.take(bytes, seen));
    }
}
