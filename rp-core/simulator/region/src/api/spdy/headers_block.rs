//! Header blocks of SPDY/3 (draft-mbelshe-httpbis-spdy-00, 2.6.10): all blocks of a direction are one zlib stream.
//!
//! This shares no code with the reader of the API proxy, so that tests find what one of the two reads wrongly.

use std::io;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

use super::malformed;

/// Bytes of an unpacked block.
const MOST: usize = 64 * 1024;
const MOST_HEADERS: u32 = 64;
/// CMF and FLG, then the Adler-32 of the dictionary.
const ZLIB_HEAD: usize = 6;

/// The names of the dictionary (2.6.10.1), each behind its length in 32 bits.
const NAMES: &[&str] = &[
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
];
/// What follows them.
const TEXT: &str = concat!(
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505",
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized",
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable",
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT",
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,",
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
);

fn dictionary() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1423);
    for name in NAMES {
        bytes.extend_from_slice(&[0, 0, 0]);
        bytes.extend(u8::try_from(name.len()));
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes.extend_from_slice(TEXT.as_bytes());
    bytes
}

/// The blocks of the client.
#[derive(Debug)]
pub(super) struct HeaderReader {
    unpack: Decompress,
    begun: bool,
}

impl HeaderReader {
    pub(super) fn new() -> Self {
        // Raw deflate: the zlib head is read here, because the library has no dictionaries.
        Self { unpack: Decompress::new(false), begun: false }
    }

    /// Names and values of the next block.
    pub(super) fn read(&mut self, block: &[u8]) -> io::Result<Vec<(String, String)>> {
        let mut block = block;
        if !self.begun {
            let (head, rest) =
                block.split_at_checked(ZLIB_HEAD).ok_or_else(|| malformed("a header block is too short"))?;
            if head[0] & 0x0f != 8 || head[1] & 0x20 == 0 {
                return Err(malformed("a header block has no dictionary"));
            }
            self.begun = true;
            self.preset()?;
            block = rest;
        }
        let plain = self.unpack(block)?;
        parse(&plain).ok_or_else(|| malformed("a header block cannot be read"))
    }

    /// The dictionary as a stored block before the stream (RFC 1951, 3.2.4).
    fn preset(&mut self) -> io::Result<()> {
        let dictionary = dictionary();
        let length = u16::try_from(dictionary.len()).unwrap_or(u16::MAX);
        let mut stored = vec![0];
        stored.extend_from_slice(&length.to_le_bytes());
        stored.extend_from_slice(&(!length).to_le_bytes());
        stored.extend_from_slice(&dictionary);
        self.unpack(&stored).map(drop)
    }

    fn unpack(&mut self, packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::with_capacity(4096);
        let mut rest = packed;
        loop {
            let (before_in, before_out) = (self.unpack.total_in(), self.unpack.total_out());
            let unpacked = self.unpack.decompress_vec(rest, &mut plain, FlushDecompress::Sync);
            unpacked.map_err(|_| malformed("a header block cannot be unpacked"))?;
            let taken = usize::try_from(self.unpack.total_in() - before_in).unwrap_or(usize::MAX);
            rest = rest.get(taken..).unwrap_or_default();
            let idle = taken == 0 && self.unpack.total_out() == before_out;
            let has_room = plain.len() < plain.capacity();
            if has_room && (rest.is_empty() || idle) {
                return if rest.is_empty() { Ok(plain) } else { Err(malformed("a header block ends early")) };
            }
            if plain.len() > MOST {
                return Err(malformed("a header block is too long"));
            }
            plain.reserve(4096);
        }
    }
}

fn parse(mut block: &[u8]) -> Option<Vec<(String, String)>> {
    fn number(block: &mut &[u8]) -> Option<u32> {
        let (number, rest) = block.split_first_chunk::<4>()?;
        *block = rest;
        Some(u32::from_be_bytes(*number))
    }
    fn text(block: &mut &[u8]) -> Option<String> {
        let length = usize::try_from(number(block)?).ok()?;
        let (text, rest) = block.split_at_checked(length)?;
        *block = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }
    let count = number(&mut block).filter(|count| *count <= MOST_HEADERS)?;
    (0..count).map(|_| Some((text(&mut block)?.to_ascii_lowercase(), text(&mut block)?))).collect()
}

/// The blocks of the server, which have no headers and no dictionary.
#[derive(Debug)]
pub(super) struct HeaderWriter(Compress);

impl HeaderWriter {
    pub(super) fn new() -> Self {
        Self(Compress::new(Compression::fast(), true))
    }

    /// The next block: no headers.
    pub(super) fn no_headers(&mut self) -> io::Result<Vec<u8>> {
        let mut packed = Vec::with_capacity(256);
        self.0.compress_vec(&[0; 4], &mut packed, FlushCompress::Sync).map_err(io::Error::other)?;
        Ok(packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block as a client with the dictionary packs it, stored without compression.
    fn packed(plain: &[u8], first: bool) -> Vec<u8> {
        let mut block = if first { vec![0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2] } else { Vec::new() };
        let length = u16::try_from(plain.len()).unwrap();
        block.push(0);
        block.extend_from_slice(&length.to_le_bytes());
        block.extend_from_slice(&(!length).to_le_bytes());
        block.extend_from_slice(plain);
        block
    }

    #[test]
    fn the_dictionary_is_that_of_the_draft() {
        let (mut a, mut b) = (1_u32, 0_u32);
        for byte in dictionary() {
            a = (a + u32::from(byte)) % 65_521;
            b = (b + a) % 65_521;
        }
        assert_eq!(b << 16 | a, 0xe3c6_a7c2);
    }

    #[test]
    fn blocks_are_read_one_after_the_other() {
        let mut reader = HeaderReader::new();
        let block = b"\0\0\0\x01\0\0\0\x0astreamType\0\0\0\x05error";
        let wanted = vec![("streamtype".to_owned(), "error".to_owned())];
        assert_eq!(reader.read(&packed(block, true)).unwrap(), wanted);
        assert_eq!(reader.read(&packed(block, false)).unwrap(), wanted);
        assert!(reader.read(&packed(b"\0\0\xff\xff", false)).is_err());
        assert!(HeaderReader::new().read(b"none").is_err());
    }

    #[test]
    fn every_answer_is_a_block() {
        let mut writer = HeaderWriter::new();
        let mut reader = Decompress::new(true);
        for _ in 0..3 {
            let mut plain = Vec::with_capacity(64);
            let block = writer.no_headers().unwrap();
            reader.decompress_vec(&block, &mut plain, FlushDecompress::Sync).unwrap();
            assert_eq!(plain, [0; 4]);
        }
    }
}
