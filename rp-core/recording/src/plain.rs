//! What a terminal showed as lines of plain text, to be searched: no escape sequences, what was erased by backspace
//! left out, what a carriage return wrote over left in.

use rp_base::Timestamp;
use rp_base::terminal::{SequenceParser, Token};

/// Characters of a line; longer ones are cut in pieces.
const MOST: usize = 2000;

/// One line and when it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Milliseconds since the recording's begin.
    pub(crate) at: u64,
    pub(crate) text: String,
}

/// Takes text as it was written and gives lines.
#[derive(Debug, Default)]
pub(crate) struct PlainTextParser {
    sequence: SequenceParser,
    line: String,
    at: u64,
    length: usize,
}

impl PlainTextParser {
    /// Text of an instant; lines that end are given to `ended`.
    pub(crate) fn take(&mut self, at: u64, text: &str, mut ended: impl FnMut(Line)) {
        for c in text.chars() {
            match self.sequence.push(c) {
                // The same as `ESC [`.
                Some(Token::Text('\u{9b}')) => self.sequence.begin_control(),
                Some(Token::Text(c)) => {
                    if let Some(line) = self.shown(at, c) {
                        ended(line);
                    }
                }
                _ => {}
            }
        }
    }

    /// What stands in the last line.
    pub(crate) fn rest(&mut self) -> Option<Line> {
        (self.length > 0).then(|| self.end())
    }

    fn shown(&mut self, at: u64, c: char) -> Option<Line> {
        match c {
            '\n' => return self.rest(),
            // Where a shell redraws its line; words of both stay findable.
            '\r' => {}
            '\u{8}' => {
                if self.line.pop().is_some() {
                    self.length -= 1;
                }
            }
            '\t' => self.push(at, ' '),
            c if c.is_control() => {}
            c => self.push(at, c),
        }
        (self.length >= MOST).then(|| self.end())
    }

    fn push(&mut self, at: u64, c: char) {
        if self.length == 0 {
            self.at = at;
        }
        self.line.push(c);
        self.length += 1;
    }

    fn end(&mut self) -> Line {
        self.length = 0;
        Line { at: self.at, text: std::mem::take(&mut self.line) }
    }
}

/// Events of a chunk's lines: `(milliseconds since the one before, code, data)`. What is none is passed over.
pub(crate) fn events(text: &str) -> impl Iterator<Item = (u64, char, String)> + '_ {
    text.lines().filter_map(|line| {
        let (seconds, code, data): (f64, String, String) = serde_json::from_str(line).ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded just before")]
        let millis = (seconds.clamp(0.0, 1e9) * 1000.0).round() as u64;
        Some((millis, code.chars().next()?, data))
    })
}

/// When something was shown.
pub(crate) fn instant(started: Timestamp, at: u64) -> Timestamp {
    Timestamp::from_millis(started.millis().saturating_add(i64::try_from(at).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&str]) -> Vec<String> {
        let (mut plain, mut lines) = (PlainTextParser::default(), Vec::new());
        for (at, piece) in (0..).zip(pieces) {
            plain.take(at, piece, |line| lines.push(line.text));
        }
        lines.extend(plain.rest().map(|line| line.text));
        lines
    }

    #[test]
    fn escape_sequences_and_what_was_erased_are_no_text() {
        assert_eq!(
            lines(&["\x1b]0;a title\x07\x1b[1;32m$\x1b[0m l", "sx\x08 -l\r\n", "a\tb\x1b[", "Kc\n"]),
            ["$ ls -l", "a bc"]
        );
        assert_eq!(lines(&["\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\\x1bPq\x1b\\\x1b(Bok"]), ["linkok"]);
        assert_eq!(lines(&["\x1b]52;c;", "ZXZpbA==", "\x07after"]), ["after"]);
        assert_eq!(lines(&["é€\u{1F600}\n\n\r\n"]), ["é€\u{1F600}"]);
    }

    #[test]
    fn lines_have_an_end() {
        let long = "x".repeat(5000);
        assert_eq!(lines(&[&long]).iter().map(String::len).collect::<Vec<_>>(), [2000, 2000, 1000]);
    }
}
