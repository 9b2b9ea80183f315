//! An asciicast v3 as it comes, and what of it a terminal gets to see.

mod screen;

use crate::CliError;

pub(crate) use screen::Screen;

/// Bytes of what was shown that are held to be played.
const MOST: usize = 256 * 1024 * 1024;
const MOST_EVENTS: usize = 4_000_000;
/// Of one line: a chunk of ours has a hundredth of it.
const MOST_LINE: usize = 16 * 1024 * 1024;
const MOST_MARKS: usize = 100;

/// Something that was shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Milliseconds since the begin.
    pub(crate) at: u64,
    pub(crate) text: String,
}

/// A session that was read.
#[derive(Debug, Default)]
pub(crate) struct Cast {
    /// Columns and rows of its terminal when it began.
    pub(crate) size: Option<(u64, u64)>,
    pub(crate) events: Vec<Event>,
    /// What is worth a look or wrong, and when.
    pub(crate) marks: Vec<(u64, String)>,
    line: Vec<u8>,
    held: usize,
    at: f64,
}

impl Cast {
    /// The next bytes, cut anywhere. What is no event is passed over.
    ///
    /// # Errors
    /// It is longer than what can be played from memory.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), CliError> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = bytes.split_at(end);
            self.line.extend_from_slice(head);
            let line = std::mem::take(&mut self.line);
            self.line_ends(&line);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.line.extend_from_slice(bytes);
        if self.held > MOST || self.events.len() > MOST_EVENTS || self.line.len() > MOST_LINE {
            return Err(CliError::Usage(
                "the recording is too long to be played here; aro recordings download keeps it in a file"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// How long it is, in milliseconds.
    pub(crate) const fn length(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "never negative, and bounded"
        )]
        let millis = self.at as u64;
        millis
    }

    fn line_ends(&mut self, line: &[u8]) {
        if let Ok((after, code, data)) = serde_json::from_slice::<(f64, String, String)>(line) {
            if (0.0..1e7).contains(&after) {
                self.at = (self.at + after * 1000.0).min(1e12);
                self.event(&code, data);
            }
        } else if self.size.is_none()
            && let Ok(head) = serde_json::from_slice::<serde_json::Value>(line)
        {
            let number = |pointer| head.pointer(pointer).and_then(serde_json::Value::as_u64);
            self.size = number("/term/cols").zip(number("/term/rows"));
        }
    }

    fn event(&mut self, code: &str, data: String) {
        let at = self.length();
        match code {
            "o" | "e" => {
                self.held += data.len();
                self.events.push(Event { at, text: data });
            }
            "m" if self.marks.len() < MOST_MARKS => self.marks.push((at, data)),
            _ => {}
        }
    }
}

/// `1:02:03` of milliseconds.
pub(crate) fn clock(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAST: &str = "{\"version\":3,\"term\":{\"cols\":120,\"rows\":40}}\n# a comment\n[0.5,\"o\",\"a\\r\\n\"]\n\
        [1.25,\"i\",\"secret\"]\n[0.25,\"e\",\"b\"]\nnonsense\n[-1,\"o\",\"c\"]\n[60,\"m\",\"exit 0\"]\n[0,\"x\",\"0\"]\n";

    #[test]
    fn what_was_shown_is_read_with_its_times_however_it_comes() {
        for piece in [1, 7, CAST.len()] {
            let mut cast = Cast::default();
            for piece in CAST.as_bytes().chunks(piece) {
                cast.push(piece).unwrap();
            }
            let events: Vec<_> = cast.events.iter().map(|event| (event.at, event.text.as_str())).collect();
            assert_eq!(events, [(500, "a\r\n"), (2000, "b")]);
            assert_eq!((cast.size, cast.length()), (Some((120, 40)), 62_000));
            assert_eq!(cast.marks, [(62_000, "exit 0".to_owned())]);
        }
        assert_eq!((clock(62_000), clock(3_723_000)), ("1:02".to_owned(), "1:02:03".to_owned()));
    }

    #[test]
    fn a_line_without_an_end_is_given_up() {
        let mut cast = Cast::default();
        let endless = (0..=MOST_LINE / 65_536).try_for_each(|_| cast.push(&[b'x'; 65_536]));
        assert!(matches!(endless, Err(CliError::Usage(_))), "{endless:?}");
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read(bytes in proptest::collection::vec(any::<u8>(), 0..500), text in "(\\[?[0-9.e+-]{0,9},?\"?[oem]?\"?,?\"?[ -~]{0,9}\"?\\]?\n){0,9}") {
            let mut cast = Cast::default();
            prop_assert!(cast.push(&bytes).is_ok() && cast.push(text.as_bytes()).is_ok());
            prop_assert!(cast.events.is_sorted_by_key(|event| event.at));
        }
    }
}
