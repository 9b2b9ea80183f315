//! How an API server or a node reads a client's WebSocket: golang.org/x/net/websocket (hybi.go) below
//! k8s.io/apimachinery's wsstream. Each frame is a message to it, whether it is the last of one or not.

/// The bytes of channel 0, and whether all frames were read to their end.
pub fn input(mut wire: &[u8]) -> (Vec<u8>, bool) {
    let mut input = Vec::new();
    while !wire.is_empty() {
        let Some((kind, payload)) = frame(&mut wire) else { return (input, false) };
        match kind {
            8 => return (input, false),
            9 | 10 => {}
            _ => {
                if let Some((0, rest)) = payload.split_first() {
                    input.extend_from_slice(rest);
                }
            }
        }
    }
    (input, true)
}

/// Kind and payload; `None`: the connection ends, or more is waited for.
fn frame(wire: &mut &[u8]) -> Option<(u8, Vec<u8>)> {
    let ([first, second], mut rest) = wire.split_first_chunk::<2>()?;
    let mut length = u64::from(second & 0x7f);
    if length == 126 {
        let (bytes, after) = rest.split_first_chunk::<2>()?;
        (length, rest) = (u64::from(u16::from_be_bytes(*bytes)), after);
    } else if length == 127 {
        let (bytes, after) = rest.split_first_chunk::<8>()?;
        // The first bit is left out.
        (length, rest) = (u64::from_be_bytes(*bytes) & (u64::MAX >> 1), after);
    }
    if second & 0x80 == 0 {
        return None;
    }
    let (mask, after) = rest.split_first_chunk::<4>()?;
    let (payload, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
    *wire = after;
    Some((first & 0x0f, payload.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]).collect()))
}
