//! Header blocks of SPDY/3 (draft-mbelshe-httpbis-spdy-00, 2.6.10): names and values behind lengths, in one zlib
//! stream for all blocks of a direction, with a preset dictionary.

use flate2::{Decompress, FlushDecompress, Status};

use super::Unreadable;

/// Of an unpacked block, bytes.
const MOST: usize = 64 * 1024;
const MOST_HEADERS: usize = 64;
/// CMF and FLG with FDICT, then Adler-32 of the dictionary.
const ZLIB_HEAD: usize = 6;
const DICTIONARY_ID: u32 = 0xe3c6_a7c2;

/// Names of the dictionary, each behind its length (2.6.10.1).
const NAMES: &str = "options head post put delete trace accept accept-charset accept-encoding accept-language \
    accept-ranges age allow authorization cache-control connection content-base content-encoding content-language \
    content-length content-location content-md5 content-range content-type date etag expect expires from host if-match \
    if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma \
    proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade \
    user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie \
    keep-alive origin";
/// What follows them.
const REST: &str = "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 \
    Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 \
    Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept \
    Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,\
    application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=\
    utf-8charset=iso-8859-1,utf-,*,enq=0.";

fn dictionary() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1423);
    for name in NAMES.split(' ') {
        let name = name.replace('_', " ");
        bytes.extend_from_slice(&(name.len() as u32).to_be_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes.extend_from_slice(REST.as_bytes());
    bytes
}

/// The blocks of one direction.
#[derive(Debug)]
pub(super) struct HeaderBlocks {
    unpack: Decompress,
    /// The zlib head as it comes; whole when the stream has begun.
    head: Vec<u8>,
}

impl HeaderBlocks {
    pub(super) fn new() -> Self {
        Self { unpack: Decompress::new(false), head: Vec::with_capacity(ZLIB_HEAD) }
    }

    /// The value of one header in the next block. A block that the node could read otherwise than this reader is none:
    /// its library takes the first of two headers and what stands before a NUL.
    pub(super) fn read(&mut self, mut block: &[u8], wanted: &[u8]) -> Result<Option<Vec<u8>>, Unreadable> {
        if self.head.len() < ZLIB_HEAD {
            let (head, rest) = block.split_at(block.len().min(ZLIB_HEAD - self.head.len()));
            self.head.extend_from_slice(head);
            block = rest;
            if self.head.len() < ZLIB_HEAD {
                return Err(Unreadable("a SPDY header block is too short"));
            }
            self.begin()?;
        }
        let plain = self.unpack(block)?;
        find(&plain, wanted).ok_or(Unreadable("a SPDY header block is malformed"))
    }

    /// Puts the dictionary before the stream: as a stored block of raw deflate, which ends on a whole byte.
    fn begin(&mut self) -> Result<(), Unreadable> {
        let id = u32::from_be_bytes(std::array::from_fn(|place| self.head[2 + place]));
        let checked = u16::from_be_bytes([self.head[0], self.head[1]]).is_multiple_of(31);
        if self.head[0] & 0x0f != 8 || self.head[1] & 0x20 == 0 || !checked || id != DICTIONARY_ID {
            return Err(Unreadable("SPDY headers with another dictionary"));
        }
        let dictionary = dictionary();
        let length = u16::try_from(dictionary.len()).map_err(|_| Unreadable("the dictionary"))?;
        let mut stored = vec![0];
        stored.extend_from_slice(&length.to_le_bytes());
        stored.extend_from_slice(&(!length).to_le_bytes());
        stored.extend_from_slice(&dictionary);
        (self.unpack(&stored)? == dictionary).then_some(()).ok_or(Unreadable("the dictionary"))
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<Vec<u8>, Unreadable> {
        let bad = Unreadable("a SPDY header block cannot be unpacked");
        let (mut plain, mut at) = (Vec::with_capacity(4096), 0);
        loop {
            let before = (self.unpack.total_in(), self.unpack.total_out());
            let status = self.unpack.decompress_vec(&packed[at..], &mut plain, FlushDecompress::Sync);
            let status = status.map_err(|_| bad)?;
            at += usize::try_from(self.unpack.total_in() - before.0).map_err(|_| bad)?;
            let moved = (self.unpack.total_in(), self.unpack.total_out()) != before;
            if status == Status::StreamEnd {
                return Err(bad);
            }
            if plain.len() < plain.capacity() && (at == packed.len() || !moved) {
                return if at == packed.len() { Ok(plain) } else { Err(bad) };
            }
            if plain.len() > MOST {
                return Err(bad);
            }
            plain.reserve(4096);
        }
    }
}

/// `None`: the block is malformed; `Some(None)`: it has no such header.
#[expect(clippy::option_option, reason = "malformed and absent are two answers")]
fn find(mut block: &[u8], wanted: &[u8]) -> Option<Option<Vec<u8>>> {
    fn number(block: &mut &[u8]) -> Option<usize> {
        let (number, rest) = block.split_first_chunk::<4>()?;
        *block = rest;
        usize::try_from(u32::from_be_bytes(*number)).ok()
    }
    fn text<'a>(block: &mut &'a [u8]) -> Option<&'a [u8]> {
        let length = number(block)?;
        let (text, rest) = block.split_at_checked(length)?;
        *block = rest;
        Some(text)
    }
    let mut found = None;
    let mut names: Vec<&[u8]> = Vec::new();
    for _ in 0..number(&mut block)? {
        let (name, value) = (text(&mut block)?, text(&mut block)?);
        let twice = names.len() >= MOST_HEADERS || names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if twice || name.contains(&0) || value.contains(&0) {
            return None;
        }
        names.push(name);
        if name.eq_ignore_ascii_case(wanted) {
            found = Some(value.to_vec());
        }
    }
    block.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dictionary_is_the_one_of_the_protocol() {
        let (mut a, mut b) = (1u32, 0u32);
        for byte in dictionary() {
            a = (a + u32::from(byte)) % 65_521;
            b = (b + a) % 65_521;
        }
        assert_eq!((dictionary().len(), b << 16 | a), (1423, DICTIONARY_ID));
    }
}
