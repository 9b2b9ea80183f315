//! Text for a terminal, without what could steer one: escape sequences other than colours, and control characters, are
//! removed as the bytes pass. Only the beginning of an unfinished sequence is buffered.

/// Parameters of a sequence that are looked at.
const LONGEST: usize = 64;

/// The position within an escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte.
    Intermediate,
    /// In a control sequence.
    Control,
    /// In a string for the terminal.
    String,
    /// In such a string, after ESC.
    StringEscape,
    /// After the first byte of a two-byte C1 control in UTF-8.
    C1,
}

/// Cleans a stream of bytes piece by piece (ECMA-48 §5.4, §5.6, §8.3.117).
#[derive(Debug, Default)]
pub struct Cleaner {
    at: EscapeState,
    held: Vec<u8>,
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
        for &byte in piece {
            self.byte(byte, &mut out);
        }
        out
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        match self.at {
            EscapeState::Text => match byte {
                0x1b => self.at = EscapeState::Escape,
                // UTF-8 of U+0080 to U+00BF begins so; the first half are controls.
                0xc2 => self.at = EscapeState::C1,
                b'\n' | b'\t' | 0x20..=0x7e | 0x80.. => out.push(byte),
                _ => {}
            },
            EscapeState::C1 => {
                self.at = EscapeState::Text;
                if byte >= 0xa0 {
                    out.extend_from_slice(&[0xc2, byte]);
                } else if byte < 0x80 {
                    self.byte(byte, out);
                }
            }
            EscapeState::Escape => {
                self.held.clear();
                self.at = match byte {
                    b'[' => EscapeState::Control,
                    b']' | b'P' | b'X' | b'^' | b'_' => EscapeState::String,
                    0x20..=0x2f => EscapeState::Intermediate,
                    0x1b => EscapeState::Escape,
                    _ => EscapeState::Text,
                };
                if byte == b'\n' {
                    out.push(b'\n');
                }
            }
            EscapeState::Intermediate => {
                if !(0x20..=0x2f).contains(&byte) {
                    self.at = EscapeState::Text;
                }
            }
            EscapeState::Control => match byte {
                0x20..=0x3f => {
                    if self.held.len() < LONGEST {
                        self.held.push(byte);
                    }
                }
                b'm' => {
                    self.at = EscapeState::Text;
                    let numbers = self.held.iter().all(|b| b.is_ascii_digit() || matches!(b, b';' | b':'));
                    if self.colours && numbers && self.held.len() < LONGEST {
                        out.extend_from_slice(b"\x1b[");
                        out.extend_from_slice(&self.held);
                        out.push(b'm');
                    }
                }
                0x1b => self.at = EscapeState::Escape,
                b'\n' => {
                    self.at = EscapeState::Text;
                    out.push(byte);
                }
                _ => self.at = EscapeState::Text,
            },
            EscapeState::String => match byte {
                0x07 => self.at = EscapeState::Text,
                0x1b => self.at = EscapeState::StringEscape,
                // A line end terminates an unfinished sequence, so that it does not swallow the next line.
                b'\n' => {
                    self.at = EscapeState::Text;
                    out.push(byte);
                }
                _ => {}
            },
            EscapeState::StringEscape => {
                if byte == b'\\' {
                    self.at = EscapeState::Text;
                } else {
                    self.at = EscapeState::Escape;
                    self.byte(byte, out);
                }
            }
        }
    }
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
