//! What several fuzz targets need: cuts of an input, chance that is always the same, and models of how other programs
//! read the same bytes. The models are written from those programs' sources and share no code with the product.

pub mod client_hello;
pub mod kube_protobuf;
pub mod node_spdy;
pub mod node_websocket;
pub mod request_info;
pub mod wire;

use http::{HeaderMap, HeaderName, HeaderValue};
use rp_base::Random;

/// Bytes that repeat, so that an input means the same in each run.
#[derive(Debug, Clone, Copy)]
pub struct SameRandom;

impl Random for SameRandom {
    fn fill(&self, out: &mut [u8]) {
        for (at, byte) in out.iter_mut().enumerate() {
            *byte = (at as u8).wrapping_mul(37).wrapping_add(11);
        }
    }
}

/// Methods that a byte chooses from.
pub const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"];

/// The first byte, and the rest.
pub fn first(data: &[u8]) -> Option<(u8, &[u8])> {
    data.split_first().map(|(first, rest)| (*first, rest))
}

/// The rest cut in pieces of a size that the first byte chooses.
pub fn pieces(data: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let (size, rest) = first(data).unwrap_or((0, &[]));
    rest.chunks(1 + usize::from(size))
}

/// Removes the escapes of a path or a pair of a query; `None`: one is not whole.
pub fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((byte, after)) = rest.split_first() {
        if *byte != b'%' {
            out.push(*byte);
            rest = after;
            continue;
        }
        let pair = std::str::from_utf8(after.get(..2)?).ok()?;
        if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        out.push(u8::from_str_radix(pair, 16).ok()?);
        rest = &after[2..];
    }
    Some(out)
}

/// Lines of `name: value`.
pub fn headers(data: &[u8]) -> HeaderMap {
    let mut all = HeaderMap::new();
    for line in data.split(|byte| *byte == b'\n').take(64) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(line[..colon].trim_ascii()), value) {
            all.append(name, value);
        }
    }
    all
}
