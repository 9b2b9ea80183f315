//! Text of what the program prints: nothing in it steers a terminal, and it has an end.

use rp_base::terminal::Cleaner;

/// Read of an answer, in bytes.
pub const MOST_ANSWER: usize = 1 << 20;

/// Makes text of an answer as its pieces come: escape sequences and control characters other than line end and tab are
/// removed, also those that two pieces share, and what is no UTF-8 becomes U+FFFD.
#[derive(Debug)]
pub struct AnswerText {
    cleaner: Cleaner,
    /// The beginning of a character whose other bytes come with the next piece.
    partial: Vec<u8>,
    /// Bytes that may still be read.
    left: usize,
    cut: bool,
}

impl Default for AnswerText {
    fn default() -> Self {
        Self::new(MOST_ANSWER)
    }
}

impl AnswerText {
    /// Of an answer of which `most` bytes are read.
    pub fn new(most: usize) -> Self {
        Self { cleaner: Cleaner::new(false), partial: Vec::new(), left: most, cut: false }
    }

    /// The text of the next piece.
    pub fn push(&mut self, piece: &[u8]) -> String {
        let taken = piece.get(..self.left).unwrap_or(piece);
        self.left -= taken.len();
        self.cut |= taken.len() < piece.len();
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend(self.cleaner.clean(taken));
        self.decode(&bytes)
    }

    /// The text of a character that was never completed.
    pub fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.partial).is_empty() { "" } else { "\u{fffd}" }
    }

    /// Whether the answer was longer than what was read of it.
    pub const fn is_cut(&self) -> bool {
        self.cut
    }

    fn decode(&mut self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Err(error) = std::str::from_utf8(rest) {
            let (valid, after) = rest.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            let Some(length) = error.error_len() else {
                self.partial = after.to_vec();
                rest = &[];
                break;
            };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = after.get(length..).unwrap_or_default();
        }
        text.push_str(&String::from_utf8_lossy(rest));
        // What was removed between them may have brought two bytes of a control character together.
        text.retain(|letter| matches!(letter, '\n' | '\t') || !letter.is_control());
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(pieces: &[&[u8]], most: usize) -> (String, bool) {
        let mut answer = AnswerText::new(most);
        let mut text: String = pieces.iter().map(|piece| answer.push(piece)).collect();
        text.push_str(answer.finish());
        (text, answer.is_cut())
    }

    #[test]
    fn what_steers_a_terminal_is_removed_across_pieces() {
        for (pieces, told) in [
            (&[&b"a\x1b"[..], b"[31", b"mred\x1b]0;title", b"\x07b\n\tc\r\n"][..], "aredb\n\tc\n"),
            (&[b"\xc2", b"\x9b31m\x00\x08x"], "31mx"),
            (&["gr\u{f6}".as_bytes(), b"\xc3", b"\x9fe"], "größe"),
            (&[b"\xe6\x9d", b"\xb1\xff", b"\xe6\x9d"], "東\u{fffd}\u{fffd}"),
            (&[b"\xe2\x80", b"x"], "\u{fffd}x"),
            (&[b"", b""], ""),
        ] {
            assert_eq!(whole(pieces, 100), (told.to_owned(), false), "{pieces:?}");
        }
    }

    #[test]
    fn an_answer_has_an_end() {
        assert_eq!(whole(&[b"abc", b"def"], 6), ("abcdef".to_owned(), false));
        assert_eq!(whole(&[b"abc", b"def", b"ghi"], 5), ("abcde".to_owned(), true));
        assert_eq!(whole(&["é".as_bytes()], 1), (String::from("\u{fffd}"), true));
        let flood = vec![b'x'; 3 << 20];
        let (text, cut) = whole(&[&flood], MOST_ANSWER);
        assert_eq!((text.len(), cut), (MOST_ANSWER, true));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            let (a, b) = bytes.split_at(at.min(bytes.len()));
            let (text, cut) = whole(&[a, b], 1000);
            prop_assert_eq!(&(text.clone(), cut), &whole(&[&bytes], 1000));
            prop_assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
        }
    }
}
