//! Frames of WebSocket connections (RFC 6455 §5.2), as they pass.

/// The longest head: two bytes, a length of eight, a mask of four.
const MOST_HEAD: usize = 14;
const PING: u8 = 9;
const PONG: u8 = 10;
const FINAL: u8 = 0x80;
/// Of a control frame, bytes.
const MOST_CONTROL: u64 = 125;

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    /// Flags and the opcode.
    first: u8,
    pub(super) mask: Option<[u8; 4]>,
    /// Bytes of the payload.
    pub(super) length: u64,
    /// Bytes of the head itself.
    size: usize,
}

impl FrameHead {
    /// The head that bytes begin with; `None`: it is not whole.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let [first, second] = *bytes.first_chunk()?;
        let sized = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let big = bytes.get(2..2 + sized)?;
        let length = match sized {
            0 => u64::from(second & 0x7f),
            _ => big.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
        };
        // A server masks nothing; one that does is followed all the same.
        let masked = second & 0x80 != 0;
        let size = 2 + sized + if masked { 4 } else { 0 };
        let mask = match masked {
            true => Some(*bytes.get(2 + sized..)?.first_chunk()?),
            false => None,
        };
        Some(Self { first, mask, length, size })
    }

    pub(super) const fn opcode(self) -> u8 {
        self.first & 0x0f
    }

    /// The last frame of its message.
    pub(super) const fn is_final(self) -> bool {
        self.first & FINAL != 0
    }

    /// Bits that only an extension sets.
    pub(super) const fn reserved(self) -> u8 {
        self.first & 0x70
    }
}

/// Follows where frames begin, in bytes that come in any pieces. Heads are of at most 14 bytes; what they say of the length
/// is the caller's affair, so that frames of SPDY can be followed too.
#[derive(Debug, Default)]
pub(super) struct Frames {
    head: [u8; MOST_HEAD],
    had: usize,
    /// Bytes of the current frame that have not passed.
    left: u64,
}

impl Frames {
    /// A frame has ended, and none has begun.
    pub(super) const fn are_whole(&self) -> bool {
        self.had == 0 && self.left == 0
    }

    /// Notes bytes that pass. `length` is given the beginning of a head, and gives the length of the rest of the frame
    /// once the head is whole.
    pub(super) fn pass(&mut self, mut bytes: &[u8], mut length: impl FnMut(&[u8]) -> Option<u64>) {
        while let Some((byte, rest)) = bytes.split_first() {
            if self.left > 0 {
                let skipped = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
                self.left -= skipped as u64;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head[self.had] = *byte;
            self.had += 1;
            bytes = rest;
            if let Some(left) = length(&self.head[..self.had]) {
                (self.had, self.left) = (0, left);
            }
        }
    }

    /// How many of these bytes of a WebSocket end the frame that has begun; `None`: it goes on after them.
    pub(super) fn rest_of_frame(&self, bytes: &[u8]) -> Option<usize> {
        let rest = if self.are_whole() {
            0
        } else if self.left > 0 {
            self.left
        } else {
            let more = bytes.len().min(MOST_HEAD - self.had);
            let mut head = self.head;
            head[self.had..self.had + more].copy_from_slice(&bytes[..more]);
            let head = FrameHead::read(&head[..self.had + more])?;
            head.length.saturating_add((head.size - self.had) as u64)
        };
        usize::try_from(rest).ok().filter(|rest| *rest <= bytes.len())
    }
}

/// What the last of these frames carries, if all are pings and nothing else is there.
pub(super) fn only_pings(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut last = None;
    while !bytes.is_empty() {
        let head = FrameHead::read(bytes)?;
        if head.first != FINAL | PING || head.length > MOST_CONTROL {
            return None;
        }
        let length = usize::try_from(head.length).ok()?;
        let payload = bytes.get(head.size..)?.get(..length)?;
        let mask = head.mask.unwrap_or_default();
        last = Some(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect());
        bytes = &bytes[head.size + length..];
    }
    last
}

/// A server's answer to a ping that carries `payload`, which has at most 125 bytes.
pub(super) fn pong(payload: &[u8]) -> Vec<u8> {
    let payload = &payload[..payload.len().min(125)];
    let length = u8::try_from(payload.len()).unwrap_or_default();
    [&[FINAL | PONG, length][..], payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_when_they_are_whole() {
        let long = [0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4];
        for short in 0..long.len() {
            assert_eq!(FrameHead::read(&long[..short]), None, "{short}");
        }
        let head = FrameHead::read(&long).unwrap();
        assert_eq!((head.length, head.mask, head.size), (65_536, Some([1, 2, 3, 4]), 14));
        assert_eq!((head.opcode(), head.is_final(), head.reserved()), (2, true, 0));
        let head = FrameHead::read(&[0x49, 3, 9]).unwrap();
        assert_eq!((head.length, head.mask, head.size), (3, None, 2));
        assert_eq!((head.opcode(), head.is_final(), head.reserved()), (9, false, 0x40));
    }

    #[test]
    fn pings_alone_are_known() {
        let masked = [0x89, 0x82, 1, 2, 3, 4, b'h' ^ 1, b'i' ^ 2];
        assert_eq!(only_pings(&masked), Some(b"hi".to_vec()));
        let two = [&[0x89, 0][..], &masked].concat();
        assert_eq!(only_pings(&two), Some(b"hi".to_vec()), "the last is answered (RFC 6455 §5.5.3)");
        for other in [
            &[][..],
            &masked[..7],
            &[&masked[..], &[0x82, 0]].concat(),
            &[0x8a, 0],
            &[0x09, 0],
            &[0xc9, 0],
            &[&[0x89, 126, 0, 126][..], &[0; 126]].concat(),
        ] {
            assert_eq!(only_pings(other), None, "{other:?}");
        }
        assert_eq!(pong(b"hi"), [0x8a, 2, b'h', b'i']);
    }

    #[test]
    fn the_end_of_a_frame_is_found_in_what_follows() {
        let stream = [&[0x82, 126, 1, 0][..], &[b'x'; 256], &[0x82, 0]].concat();
        for at in 0..260 {
            let mut frames = Frames::default();
            frames.pass(&stream[..at], |head| FrameHead::read(head).map(|head| head.length));
            let expected = if at == 0 { 0 } else { 260 - at };
            assert_eq!(frames.rest_of_frame(&stream[at..]), Some(expected), "{at}");
            if at > 0 {
                assert_eq!(frames.rest_of_frame(&stream[at..259]), None, "{at}");
            }
        }
    }
}
