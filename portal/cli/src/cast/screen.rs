//! What a recorded program may do to the terminal of anyone who watches: show, colour, move and erase on the screen.
//!
//! By list: everything else is taken out. Titles, clipboard, hyperlinks, pictures and notifications (OSC, DCS, APC, PM,
//! SOS), what a terminal answers to (its answers would be typed at the shell of anyone who watches), modes of keyboard and
//! mouse, resets, printing, the bell, and characters that turn the direction of text.

use rp_base::terminal::{SequenceParser, Token};

/// A number in one, such as how often a letter is repeated.
const LARGEST: u32 = 9_999;

/// Takes text as it was shown and gives what may be shown again.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    sequence: SequenceParser,
    /// It is on the other screen of the two.
    other: bool,
    /// Lines that scroll were narrowed.
    margins: bool,
}

impl Screen {
    /// What may pass of a text.
    pub(crate) fn show(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            self.character(c, &mut out);
        }
        out
    }

    /// Leaves the terminal as one would like to find it.
    pub(crate) fn restore(&mut self) -> String {
        let mut out = String::new();
        if std::mem::take(&mut self.margins) {
            // Setting them moves the cursor.
            out.push_str("\x1b7\x1b[r\x1b8");
        }
        out.push_str("\x1b[0m\x1b(B\x1b[4l\x1b[?7h\x1b[?25h");
        if std::mem::take(&mut self.other) {
            out.push_str("\x1b[?1049l");
        }
        self.sequence = SequenceParser::default();
        out
    }

    fn character(&mut self, c: char, out: &mut String) {
        match self.sequence.push(c) {
            Some(Token::Text(c)) if is_shown(c) => out.push(c),
            // Cursor kept and taken back, lines up and down.
            Some(Token::Escape(last @ ('7' | '8' | 'D' | 'E' | 'M'))) => {
                out.push('\u{1b}');
                out.push(last);
            }
            // A set of letters that may be chosen.
            Some(Token::Intermediate('(', set @ ('0' | 'A' | 'B'))) => {
                out.push_str("\x1b(");
                out.push(set);
            }
            Some(Token::Control(last)) if self.may(last) => {
                out.push_str("\x1b[");
                out.push_str(self.sequence.parameters().unwrap_or_default());
                out.push(last);
            }
            _ => {}
        }
    }

    /// Whether a control sequence passes.
    fn may(&mut self, last: char) -> bool {
        let Some(held) = self.sequence.parameters() else { return false };
        let (own, numbers) = match held.strip_prefix('?') {
            Some(rest) => (true, rest),
            None => (false, held),
        };
        let small = |number: &str| number.is_empty() || number.parse::<u32>().is_ok_and(|n| n <= LARGEST);
        if !numbers.split([';', ':']).all(small) {
            return false;
        }
        let is_three = numbers.split([';', ':']).any(|number| number.parse() == Ok(3_u32));
        match (own, last) {
            (false, 'J') => !is_three,
            (false, 'T') => !numbers.contains(';'),
            (false, 'h' | 'l') => numbers == "4",
            (false, 'r') => {
                self.margins = !numbers.is_empty();
                true
            }
            (
                false,
                '@'
                | 'A'..='I'
                | 'K'..='M'
                | 'P'
                | 'S'
                | 'X'
                | 'Z'
                | '`'
                | 'a'
                | 'b'
                | 'd'..='f'
                | 'm'
                | 's'
                | 'u',
            ) => true,
            (true, 'J' | 'K') => !is_three,
            (true, 'h' | 'l') => {
                let screen = matches!(numbers, "47" | "1047" | "1049");
                if screen {
                    self.other = last == 'h';
                }
                screen || matches!(numbers, "7" | "25")
            }
            _ => false,
        }
    }
}

fn is_shown(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' | '\u{8}' => true,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        c => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        Screen::default().show(text)
    }

    #[test]
    fn colours_and_the_cursor_pass() {
        for good in [
            "plain é€😀\r\n\ttab\u{8}",
            "\x1b[1;38:2:1:2:3mred\x1b[0m\x1b[m",
            "\x1b[2J\x1b[H\x1b[12;40f\x1b[3A\x1b[K\x1b[2;20r\x1b[4h\x1b[4l",
            "\x1b[?25l\x1b[?1049h\x1b[?1049l\x1b[?7l",
            "\x1b7\x1b8\x1bM\x1b(0lqk\x1b(B",
        ] {
            assert_eq!(shown(good), good, "{good:?}");
        }
    }

    #[test]
    fn nothing_else_does() {
        for attack in [
            "\x1b]0;title\x07",
            "\x1b]2;title\x1b\\",
            "\x1b]52;c;ZXZpbA==\x07",
            "\x1b]8;;https://evil.example\x1b\\",
            "\x1bPq#0\x1b\\",
            "\x1b_G\x1b\\",
            "\x1b[c",
            "\x1b[>c",
            "\x1b[6n",
            "\x1b[?6n",
            "\x1b[21t",
            "\x1b[5i",
            "\x1b[?1000h",
            "\x1b[?25;1000h",
            "\x1b[?2004h",
            "\x1b[>4;2m",
            "\x1b[3J",
            "\x1b[!p",
            "\x1b[1$x",
            "\x1b[99999b",
            "\x1bc",
            "\x1b#8",
            "\x1b)0",
            "\x1b(1",
            "\u{9b}5i\u{9d}0;x\u{9c}",
            "\x07\x0e\x0f\x05\x7f",
            "\u{202e}",
        ] {
            let seen = shown(&format!("{attack}after"));
            assert!(!seen.contains('\u{1b}') && seen.ends_with("after"), "{attack:?}: {seen:?}");
        }
        assert_eq!(shown("\x1b]0;never ended\nnext"), "\nnext");
        assert_eq!(shown("\x1b[31\u{18}m"), "m");
        assert_eq!(shown("\x1b]0;a\x1b[31mred"), "\x1b[31mred");
    }

    #[test]
    fn a_sequence_may_come_in_pieces() {
        let mut screen = Screen::default();
        let out: String =
            ["\x1b", "[3", "1mred\x1b]0;ti", "tle", "\x07."].iter().map(|piece| screen.show(piece)).collect();
        assert_eq!(out, "\x1b[31mred.");
    }

    #[test]
    fn the_terminal_is_left_as_it_was() {
        let mut screen = Screen::default();
        assert_eq!(screen.restore(), "\x1b[0m\x1b(B\x1b[4l\x1b[?7h\x1b[?25h");
        screen.show("\x1b[?1049h\x1b[2;5r\x1b]0;open");
        let left = screen.restore();
        assert!(left.starts_with("\x1b7\x1b[r\x1b8") && left.ends_with("\x1b[?1049l"), "{left:?}");
        assert_eq!(screen.show("plain"), "plain");
    }

    proptest! {
        #[test]
        fn what_passed_passes_again_unchanged(text in "(\x1b|\\[|\\]|\\?|;|[0-9]|[@-~]|\u{9b}|\x07|\n|\\PC){0,80}") {
            let once = shown(&text);
            prop_assert_eq!(shown(&once), once);
        }
    }
}
