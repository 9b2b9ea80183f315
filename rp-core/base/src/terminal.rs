//! Text for a terminal, without what could steer one: escape sequences other than colours, and control characters, are
//! removed as the bytes pass. Only the beginning of an unfinished sequence is buffered.

mod sequence;

pub use sequence::{SequenceParser, Token};

/// Cleans a stream of bytes piece by piece.
#[derive(Debug, Default)]
pub struct Cleaner {
    sequence: SequenceParser,
    /// After the first byte of what may be a two-byte C1 control in UTF-8.
    c1: bool,
    /// Whether colours pass.
    pub colours: bool,
}

impl Cleaner {
    /// `colours`: whether they pass (SGR).
    pub fn new(colours: bool) -> Self {
        Self { colours, ..Self::default() }
    }

    /// The bytes without what could control a terminal.
    pub fn clean(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len());
        let mut rest = piece;
        while !rest.is_empty() {
            // Nearly all is plain text, and copied as it is.
            if self.sequence.is_text() && !self.c1 {
                let plain = rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len());
                out.extend_from_slice(&rest[..plain]);
                rest = &rest[plain..];
            }
            if let Some((byte, after)) = rest.split_first() {
                self.byte(*byte, &mut out);
                rest = after;
            }
        }
        out
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.c1) {
            match byte {
                0x80..=0x9f => return,
                0xa0..=0xbf => return out.extend_from_slice(&[0xc2, byte]),
                // The byte before it began nothing.
                _ => {}
            }
        }
        match self.sequence.push(char::from(byte)) {
            // UTF-8 of U+0080 to U+00BF begins so; the first half are controls.
            Some(Token::Text('\u{c2}')) => self.c1 = true,
            Some(Token::Text(_)) if is_plain(byte) => out.push(byte),
            Some(Token::Control('m')) if self.colours => {
                let numbers = |p: &&str| p.bytes().all(|b| b.is_ascii_digit() || matches!(b, b';' | b':'));
                if let Some(parameters) = self.sequence.parameters().filter(numbers) {
                    out.extend_from_slice(b"\x1b[");
                    out.extend_from_slice(parameters.as_bytes());
                    out.push(b'm');
                }
            }
            _ => {}
        }
    }
}

/// Whether a byte of text passes by itself.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\t' | 0x20..=0x7e | 0x80..=0xc1 | 0xc3..)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clean(text: &[u8], colours: bool) -> String {
        String::from_utf8_lossy(&Cleaner::new(colours).clean(text)).into_owned()
    }

    #[test]
    fn colours_pass_and_nothing_else_does() {
        assert_eq!(clean(b"a\x1b[1;31mred\x1b[0m\n", true), "a\x1b[1;31mred\x1b[0m\n");
        assert_eq!(clean(b"a\x1b[1;31mred\x1b[0m\n", false), "ared\n");
        for attack in [
            &b"\x1b]0;title\x07x"[..],
            b"\x1b]8;;http://evil\x1b\\x",
            b"\x1b[2J\x1b[Hx",
            b"\x1b[?1049hx",
            b"\x1bPq#0\x1b\\x",
            b"\x1bcx",
            b"\x1b(Bx",
            b"\x1b#8x",
            b"\x08\x7f\x00\x07\rx",
            "\u{9b}31m".as_bytes(),
            b"\x1b[>4;1mx",
        ] {
            let shown = clean(attack, true);
            assert!(shown == "x" || shown == "31m", "{attack:?}: {shown:?}");
        }
        assert_eq!(clean("größe λ 東京 \u{a0}".as_bytes(), false), "größe λ 東京 \u{a0}");
        assert_eq!(clean(b"\x1b]0;never ended\nnext", true), "\nnext");
        assert_eq!(clean(b"\xc2\x1b[31mx", false), "x");
        assert_eq!(clean(b"\xc2\xc2\x9b31mx", true), "31mx");
        assert_eq!(clean("\x1b[3\u{9b}éx".as_bytes(), true), "éx");
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter_and_no_control_is_left(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            let whole = Cleaner::new(true).clean(&bytes);
            let (a, b) = bytes.split_at(at.min(bytes.len()));
            let mut cleaner = Cleaner::new(true);
            let mut pieces = cleaner.clean(a);
            pieces.extend(cleaner.clean(b));
            prop_assert_eq!(&whole, &pieces);
            let plain = Cleaner::new(false).clean(&bytes);
            prop_assert!(plain.iter().all(|b| *b >= 0x20 && *b != 0x7f || matches!(b, b'\n' | b'\t')));
        }
    }
}
