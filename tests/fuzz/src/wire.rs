//! What clients of an exec send, made of any bytes.

use crate::node_spdy::ZLIB_HEAD;

const KINDS: [&str; 5] = ["error", "stdin", "stdout", "stderr", "resize"];

/// SPDY: each step is a kind of frame, a number of a stream, a length and so many bytes.
pub fn spdy(mut data: &[u8]) -> Vec<u8> {
    let (mut wire, mut began) = (Vec::new(), false);
    while let Some(([step, id, length], rest)) = data.split_first_chunk::<3>() {
        let (bytes, after) = rest.split_at(usize::from(length & 0x3f).min(rest.len()));
        // What the head says may be more than what follows.
        let more = usize::from(length >> 6);
        data = after;
        match step & 7 {
            0 => frame(&mut wire, u32::from(*id), 0, bytes, more),
            1 => syn_stream(
                &mut wire,
                *id,
                KINDS[usize::from(step >> 3) % KINDS.len()].as_bytes(),
                bytes,
                &mut began,
            ),
            2 => syn_stream(&mut wire, *id, bytes, &[], &mut began),
            3 => {
                let payload = [&[0, 0, 0, *id][..], &block(b"streamtype", bytes, &mut began)].concat();
                frame(&mut wire, 0x8003_0000 | if step & 8 == 0 { 2 } else { 8 }, 0, &payload, more);
            }
            4 => wire.extend_from_slice(bytes),
            _ => frame(&mut wire, 0x8003_0000 | u32::from(step >> 3 & 15), u32::from(*id & 1), bytes, more),
        }
    }
    wire
}

fn frame(wire: &mut Vec<u8>, first: u32, flags: u32, payload: &[u8], more: usize) {
    wire.extend(first.to_be_bytes());
    wire.extend((flags << 24 | (payload.len() + more) as u32).to_be_bytes());
    wire.extend_from_slice(payload);
}

fn syn_stream(wire: &mut Vec<u8>, id: u8, kind: &[u8], other: &[u8], began: &mut bool) {
    let mut headers = vec![(&b"streamtype"[..], kind)];
    headers.extend((!other.is_empty()).then_some((&b"port"[..], other)));
    let payload = [&[0, 0, 0, id, 0, 0, 0, 0, 0, 0][..], &blocks(&headers, began)].concat();
    frame(wire, 0x8003_0001, 0, &payload, 0);
}

fn block(name: &[u8], value: &[u8], began: &mut bool) -> Vec<u8> {
    blocks(&[(name, value)], began)
}

/// One stored block of deflate.
fn blocks(headers: &[(&[u8], &[u8])], began: &mut bool) -> Vec<u8> {
    let mut plain = (headers.len() as u32).to_be_bytes().to_vec();
    for text in headers.iter().flat_map(|(name, value)| [name, value]) {
        plain.extend((text.len() as u32).to_be_bytes());
        plain.extend_from_slice(text);
    }
    let mut out = if std::mem::replace(began, true) { Vec::new() } else { ZLIB_HEAD.to_vec() };
    out.push(0);
    out.extend((plain.len() as u16).to_le_bytes());
    out.extend((!(plain.len() as u16)).to_le_bytes());
    out.extend(plain);
    out
}

/// A WebSocket: each step is the first byte of a frame, how its length is written, and so many bytes. A frame as it
/// stands in the input would need a mask that fits.
pub fn websocket(mut data: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    while let Some(([head, length], rest)) = data.split_first_chunk::<2>() {
        let (bytes, after) = rest.split_at(usize::from(length & 0x1f).min(rest.len()));
        data = after;
        wire.push(*head);
        match length >> 5 {
            0 => wire.extend_from_slice(&[bytes.len() as u8]),
            1 => wire.extend([&[0x80 | 127][..], &(bytes.len() as u64 | 1 << 63).to_be_bytes()].concat()),
            2 => wire.extend([&[0x80 | 127][..], &(bytes.len() as u64).to_be_bytes()].concat()),
            3 => wire.extend([&[0x80 | 126][..], &(bytes.len() as u16).to_be_bytes()].concat()),
            _ => wire.push(0x80 | bytes.len() as u8),
        }
        if length >> 5 != 0 {
            wire.extend([0; 4]);
        }
        wire.extend_from_slice(bytes);
    }
    wire
}
