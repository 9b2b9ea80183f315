//! How a node reads SPDY: the framer and the streams of github.com/moby/spdystream 0.5 (spdy/read.go, connection.go).
//! It does not read the length of frames whose size it knows, splits values at NUL, and takes the first of them.
//! Packed blocks are read where they are of stored deflate: what is packed otherwise is no input of this model.

/// What the node makes of a client's bytes.
#[derive(Debug, Default)]
pub struct NodeSession {
    /// Streams and their `streamtype`.
    pub streams: Vec<(u32, Vec<u8>)>,
    pub input: Vec<u8>,
    /// A stream was asked for out of order, or after the client had said that it goes: the node resets it and goes on.
    pub reset: bool,
    /// The client has said that it goes.
    gone: bool,
}

/// Why reading ends before the bytes do.
enum Stop {
    /// The node ends the connection, or waits for more.
    Ends,
    /// The model does not know.
    Unknown,
}

/// A zlib stream with the protocol's dictionary begins so.
pub const ZLIB_HEAD: [u8; 6] = [0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2];
/// Of a name or a value, and of headers: the library's bounds.
const MOST_FIELD: usize = 1024 * 1024;
const MOST_HEADERS: u32 = 1000;

/// `None`: the model does not know.
pub fn read(wire: &[u8]) -> Option<NodeSession> {
    let (mut session, mut rest, mut began) = (NodeSession::default(), wire, false);
    loop {
        match frame(&mut session, &mut rest, &mut began) {
            Ok(()) => {}
            Err(Stop::Ends) => return Some(session),
            Err(Stop::Unknown) => return None,
        }
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], Stop> {
    let (taken, after) = rest.split_at_checked(count).ok_or(Stop::Ends)?;
    *rest = after;
    Ok(taken)
}

fn word(rest: &mut &[u8]) -> Result<u32, Stop> {
    let bytes = take(rest, 4)?;
    Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn frame(session: &mut NodeSession, rest: &mut &[u8], began: &mut bool) -> Result<(), Stop> {
    let (first, second) = (word(rest)?, word(rest)?);
    let (flags, length) = (second >> 24, (second & 0x00ff_ffff) as usize);
    if first & 0x8000_0000 == 0 {
        let data = take(rest, length)?;
        if first == 0 {
            return Err(Stop::Ends);
        }
        if session.streams.iter().any(|(id, kind)| *id == first && kind == b"stdin") {
            session.input.extend_from_slice(data);
        }
        return Ok(());
    }
    match first & 0xffff {
        1 => {
            let id = word(rest)?;
            take(rest, 6)?;
            let kind = block(rest, length.checked_sub(10).ok_or(Stop::Unknown)?, began)?;
            open(session, id, kind)
        }
        2 | 8 => {
            word(rest)?;
            block(rest, length.checked_sub(4).ok_or(Stop::Unknown)?, began).map(drop)
        }
        3 => take(rest, 8).map(drop),
        4 => {
            let count = word(rest)?;
            if length < 4 || u64::from(count) > (length as u64 - 4) / 8 {
                return Err(Stop::Ends);
            }
            take(rest, 8 * count as usize).map(drop)
        }
        6 => {
            let id = word(rest)?;
            if id == 0 || flags != 0 { Err(Stop::Ends) } else { Ok(()) }
        }
        7 | 9 => {
            word(rest)?;
            if flags != 0 || length != 8 {
                return Err(Stop::Ends);
            }
            session.gone |= first & 0xffff == 7;
            word(rest).map(drop)
        }
        _ => Err(Stop::Ends),
    }
}

fn open(session: &mut NodeSession, id: u32, kind: Vec<u8>) -> Result<(), Stop> {
    if id == 0 {
        return Err(Stop::Ends);
    }
    let early = session.streams.last().is_some_and(|(last, _)| id < last.saturating_add(2));
    if early || session.gone || id > 0x7fff_ffff {
        session.reset = true;
    } else {
        session.streams.push((id, kind));
    }
    Ok(())
}

/// The first `streamtype` of a block.
fn block(rest: &mut &[u8], length: usize, began: &mut bool) -> Result<Vec<u8>, Stop> {
    let mut packed = take(rest, length)?;
    if !std::mem::replace(began, true) && take(&mut packed, ZLIB_HEAD.len())? != ZLIB_HEAD {
        return Err(Stop::Unknown);
    }
    let mut plain = Vec::new();
    while let Some((kind, after)) = packed.split_first() {
        let ([a, b, c, d], after) = after.split_first_chunk::<4>().ok_or(Stop::Unknown)?;
        let count = u16::from_le_bytes([*a, *b]);
        if *kind != 0 || u16::from_le_bytes([*c, *d]) != !count {
            return Err(Stop::Unknown);
        }
        packed = after;
        plain.extend_from_slice(take(&mut packed, usize::from(count)).map_err(|_| Stop::Unknown)?);
    }
    headers(&plain)
}

fn headers(mut plain: &[u8]) -> Result<Vec<u8>, Stop> {
    let count = word(&mut plain)?;
    if count > MOST_HEADERS {
        return Err(Stop::Ends);
    }
    let (mut names, mut kind) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let mut text = || {
            let length = word(&mut plain)? as usize;
            if length > MOST_FIELD { Err(Stop::Ends) } else { take(&mut plain, length) }
        };
        let (name, value) = (text()?, text()?);
        // Unicode has more upper-case letters than ASCII: the model knows those alone.
        if !name.is_ascii() {
            return Err(Stop::Unknown);
        }
        if name.iter().any(u8::is_ascii_uppercase) || names.contains(&name) {
            return Err(Stop::Ends);
        }
        if name == b"streamtype" {
            kind = value.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
        }
        names.push(name);
    }
    // More than the headers: the next block would go on there.
    if plain.is_empty() { Ok(kind) } else { Err(Stop::Unknown) }
}
