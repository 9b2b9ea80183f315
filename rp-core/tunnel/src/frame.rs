//! Frames: one byte for the kind, four for the stream (big endian), then what the kind says.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::{MOST_DATA, WINDOW};

/// Bytes before what a kind says.
pub(crate) const HEAD: usize = 5;
/// A host as text: the longest name of the DNS, or an address in brackets.
const MOST_HOST: usize = 255;
/// A sentence.
const MOST_REASON: usize = 500;

/// What one message says. `stream` 0 is the connection itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Client: open a stream to this destination.
    Open {
        stream: u32,
        host: String,
        port: u16,
    },
    /// Server: it is reached; bytes may flow.
    Opened {
        stream: u32,
    },
    /// Server: the destination was not reached. `code` is a stable word, `reason` a sentence.
    Refused {
        stream: u32,
        code: String,
        reason: String,
    },
    Data {
        stream: u32,
        bytes: Bytes,
    },
    /// So many bytes were read: they may be sent again.
    Window {
        stream: u32,
        bytes: u32,
    },
    /// Nothing more will be sent; the other direction lives on.
    End {
        stream: u32,
    },
    /// Both directions are over at once.
    Reset {
        stream: u32,
        reason: String,
    },
    Ping {
        token: u64,
    },
    Pong {
        token: u64,
    },
    /// Server: open no more streams here; those that are open live on for a while.
    Bye {
        reason: String,
    },
}

/// A message that is no frame. The connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    #[error("a message is too short")]
    Short,
    #[error("a message is too long")]
    Long,
    #[error("a message is of an unknown kind")]
    Kind,
    #[error("a message names the wrong stream")]
    Stream,
    #[error("a message holds text that is not UTF-8")]
    Text,
    #[error("a message holds a number out of range")]
    Number,
}

impl Frame {
    /// As one message.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(HEAD + self.length());
        let head = |out: &mut BytesMut, kind: u8, stream: u32| {
            out.put_u8(kind);
            out.put_u32(stream);
        };
        match self {
            Self::Open { stream, host, port } => {
                head(&mut out, 1, *stream);
                out.put_u16(*port);
                out.put_slice(host.as_bytes());
            }
            Self::Opened { stream } => head(&mut out, 2, *stream),
            Self::Refused { stream, code, reason } => {
                head(&mut out, 3, *stream);
                out.put_slice(code.as_bytes());
                out.put_u8(0);
                out.put_slice(cut(reason).as_bytes());
            }
            Self::Data { stream, bytes } => {
                head(&mut out, 4, *stream);
                out.put_slice(bytes);
            }
            Self::Window { stream, bytes } => {
                head(&mut out, 5, *stream);
                out.put_u32(*bytes);
            }
            Self::End { stream } => head(&mut out, 6, *stream),
            Self::Reset { stream, reason } => {
                head(&mut out, 7, *stream);
                out.put_slice(cut(reason).as_bytes());
            }
            Self::Ping { token } => {
                head(&mut out, 8, 0);
                out.put_u64(*token);
            }
            Self::Pong { token } => {
                head(&mut out, 9, 0);
                out.put_u64(*token);
            }
            Self::Bye { reason } => {
                head(&mut out, 10, 0);
                out.put_slice(cut(reason).as_bytes());
            }
        }
        out.freeze()
    }

    fn length(&self) -> usize {
        match self {
            Self::Open { host, .. } => 2 + host.len(),
            Self::Refused { code, reason, .. } => 1 + code.len() + reason.len(),
            Self::Data { bytes, .. } => bytes.len(),
            Self::Reset { reason, .. } | Self::Bye { reason } => reason.len(),
            Self::Opened { .. }
            | Self::Window { .. }
            | Self::End { .. }
            | Self::Ping { .. }
            | Self::Pong { .. } => 8,
        }
    }

    /// Decodes one message of either side.
    ///
    /// # Errors
    /// It is no frame.
    pub fn decode(mut message: Bytes) -> Result<Self, BadFrame> {
        if message.len() < HEAD {
            return Err(BadFrame::Short);
        }
        let (kind, stream) = (message.get_u8(), message.get_u32());
        let of_stream = matches!(kind, 1..=7);
        if of_stream == (stream == 0) {
            return Err(if matches!(kind, 1..=10) { BadFrame::Stream } else { BadFrame::Kind });
        }
        match kind {
            1 => {
                bounded(&message, 3, 2 + MOST_HOST)?;
                let port = message.get_u16();
                if port == 0 {
                    return Err(BadFrame::Number);
                }
                Ok(Self::Open { stream, host: text(&message)?, port })
            }
            2 => bounded(&message, 0, 0).map(|()| Self::Opened { stream }),
            3 => {
                bounded(&message, 1, 64 + MOST_REASON)?;
                let whole = text(&message)?;
                let (code, reason) = whole.split_once('\0').ok_or(BadFrame::Short)?;
                Ok(Self::Refused { stream, code: code.to_owned(), reason: reason.to_owned() })
            }
            4 => bounded(&message, 1, MOST_DATA).map(|()| Self::Data { stream, bytes: message }),
            5 => {
                bounded(&message, 4, 4)?;
                match message.get_u32() {
                    bytes @ 1..=WINDOW => Ok(Self::Window { stream, bytes }),
                    _ => Err(BadFrame::Number),
                }
            }
            6 => bounded(&message, 0, 0).map(|()| Self::End { stream }),
            7 => {
                bounded(&message, 0, MOST_REASON)?;
                Ok(Self::Reset { stream, reason: text(&message)? })
            }
            8 => bounded(&message, 8, 8).map(|()| Self::Ping { token: message.get_u64() }),
            9 => bounded(&message, 8, 8).map(|()| Self::Pong { token: message.get_u64() }),
            10 => {
                bounded(&message, 0, MOST_REASON)?;
                Ok(Self::Bye { reason: text(&message)? })
            }
            _ => Err(BadFrame::Kind),
        }
    }
}

const fn bounded(message: &Bytes, least: usize, most: usize) -> Result<(), BadFrame> {
    if message.len() < least {
        Err(BadFrame::Short)
    } else if message.len() > most {
        Err(BadFrame::Long)
    } else {
        Ok(())
    }
}

fn text(message: &Bytes) -> Result<String, BadFrame> {
    std::str::from_utf8(message).map(str::to_owned).map_err(|_| BadFrame::Text)
}

/// The beginning that fits.
fn cut(reason: &str) -> &str {
    reason.get(..reason.floor_char_boundary(MOST_REASON)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn frames() -> impl Strategy<Value = Frame> {
        let stream = 1..=u32::MAX;
        let data = vec(any::<u8>(), 1..MOST_DATA);
        prop_oneof![
            (stream.clone(), "[a-z.]{1,255}", 1..=u16::MAX).prop_map(|(stream, host, port)| Frame::Open {
                stream,
                host,
                port
            }),
            stream.clone().prop_map(|stream| Frame::Opened { stream }),
            (stream.clone(), "[a-z_]{0,20}", "\\PC{0,100}")
                .prop_map(|(stream, code, reason)| Frame::Refused { stream, code, reason }),
            (stream.clone(), data).prop_map(|(stream, data)| Frame::Data { stream, bytes: data.into() }),
            (stream.clone(), 1..=WINDOW).prop_map(|(stream, bytes)| Frame::Window { stream, bytes }),
            stream.clone().prop_map(|stream| Frame::End { stream }),
            (stream, "\\PC{0,100}").prop_map(|(stream, reason)| Frame::Reset { stream, reason }),
            any::<u64>().prop_map(|token| Frame::Ping { token }),
            any::<u64>().prop_map(|token| Frame::Pong { token }),
            "\\PC{0,100}".prop_map(|reason| Frame::Bye { reason }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(frame in frames()) {
            prop_assert_eq!(Frame::decode(frame.encode()), Ok(frame));
        }

        #[test]
        fn never_panics(bytes in vec(any::<u8>(), 0..600), kind in 0u8..12) {
            let _ = Frame::decode(Bytes::from(bytes.clone()));
            let mut known = vec![kind, 0, 0, 0, u8::from(kind < 8)];
            known.extend(bytes);
            if let Ok(frame) = Frame::decode(Bytes::from(known.clone())) {
                prop_assert_eq!(&frame.encode()[..], &known[..], "one way to write each");
            }
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let raw = |kind: u8, stream: u32, rest: &[u8]| {
            let mut out = vec![kind];
            out.extend_from_slice(&stream.to_be_bytes());
            out.extend_from_slice(rest);
            Frame::decode(out.into())
        };
        assert_eq!(raw(4, 0, b"x"), Err(BadFrame::Stream));
        assert_eq!(raw(8, 1, &[0; 8]), Err(BadFrame::Stream));
        assert_eq!(raw(0, 0, b""), Err(BadFrame::Kind));
        assert_eq!(raw(11, 7, b""), Err(BadFrame::Kind));
        assert_eq!(raw(4, 1, b""), Err(BadFrame::Short), "an empty piece would keep a reader busy");
        assert_eq!(raw(4, 1, &vec![0; MOST_DATA + 1]), Err(BadFrame::Long));
        assert_eq!(raw(5, 1, &0_u32.to_be_bytes()), Err(BadFrame::Number));
        assert_eq!(raw(5, 1, &(WINDOW + 1).to_be_bytes()), Err(BadFrame::Number));
        assert_eq!(raw(1, 1, &[0, 0, b'x']), Err(BadFrame::Number), "no port");
        assert_eq!(raw(1, 1, &[0, 80, 0xff]), Err(BadFrame::Text));
        assert_eq!(raw(3, 1, b"code"), Err(BadFrame::Short));
        let long = Frame::Reset { stream: 1, reason: "ü".repeat(400) };
        assert!(
            matches!(Frame::decode(long.encode()), Ok(Frame::Reset { reason, .. }) if reason.len() == 500)
        );
    }
}
