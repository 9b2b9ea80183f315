//! asciicast v3 (docs.asciinema.org/manual/asciicast/v3): a header line, then one event a line, each with the seconds
//! since the one before. Beside the format's own codes `o`, `i`, `r`, `m` and `x` ours is `e`, standard error; readers
//! pass over codes that they do not know.

use std::borrow::Cow;
use std::io::Write as _;

use rp_base::Timestamp;
use serde_json::json;

/// The stream of a session that bytes belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// To the person.
    Output,
    /// To the person, as standard error.
    Error,
    /// From the person; recorded only if the policy says so.
    Input,
}

impl StreamKind {
    const fn code(self) -> &'static str {
        match self {
            Self::Output => "o",
            Self::Error => "e",
            Self::Input => "i",
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Output => 0,
            Self::Error => 1,
            Self::Input => 2,
        }
    }
}

/// What the header says.
#[derive(Debug)]
pub(crate) struct Header<'a> {
    pub(crate) started: Timestamp,
    pub(crate) size: (u16, u16),
    pub(crate) term: Option<&'a str>,
    pub(crate) title: &'a str,
    pub(crate) command: &'a [String],
}

/// Encodes events as lines; holds back incomplete UTF-8 characters.
#[derive(Debug)]
pub(crate) struct Encoder {
    last: Timestamp,
    halves: [PartialChar; 3],
}

impl Encoder {
    pub(crate) fn new(header: &Header<'_>, out: &mut Vec<u8>) -> Self {
        let mut line = json!({
            "version": 3,
            "term": { "cols": header.size.0, "rows": header.size.1 },
            "timestamp": header.started.seconds(),
            "title": header.title,
        });
        if let Some(term) = header.term {
            line["term"]["type"] = json!(term);
        }
        if !header.command.is_empty() {
            line["command"] = json!(header.command.join(" "));
        }
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(b'\n');
        Self { last: header.started, halves: Default::default() }
    }

    pub(crate) fn wrote(&mut self, at: Timestamp, what: StreamKind, bytes: &[u8], out: &mut Vec<u8>) {
        let text = self.halves[what.index()].complete_text(bytes);
        if !text.is_empty() {
            self.event(at, what.code(), &text, out);
        }
    }

    /// An event of another code: `r` with `COLSxROWS`, `m` with words, `x` with the exit status.
    pub(crate) fn event(&mut self, at: Timestamp, code: &str, data: &str, out: &mut Vec<u8>) {
        let millis = at.since(self.last).as_millis();
        self.last = self.last.max(at);
        // The text goes straight into the chunk; writing to memory cannot fail.
        let _ = write!(out, "[{}.{:03},\"{code}\",", millis / 1000, millis % 1000);
        json_escape_simd::escape_into(data, out);
        out.extend_from_slice(b"]\n");
    }

    /// Writes what is held back as U+FFFD: no more bytes follow.
    pub(crate) fn finish(&mut self, at: Timestamp, out: &mut Vec<u8>) {
        for what in [StreamKind::Output, StreamKind::Error, StreamKind::Input] {
            if std::mem::take(&mut self.halves[what.index()]).length > 0 {
                self.event(at, what.code(), "\u{fffd}", out);
            }
        }
    }
}

/// The first bytes of a character whose others have not come yet.
#[derive(Debug, Default)]
struct PartialChar {
    bytes: [u8; 4],
    length: usize,
}

impl PartialChar {
    /// The complete characters so far. Bytes that are no UTF-8 become U+FFFD, as a terminal shows them.
    fn complete_text<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        if self.length == 0
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return Cow::Borrowed(text);
        }
        let mut joined = Vec::new();
        let mut rest = match self.length {
            0 => bytes,
            length => {
                joined.extend_from_slice(&self.bytes[..length]);
                joined.extend_from_slice(bytes);
                &joined
            }
        };
        self.length = 0;
        let mut text = String::with_capacity(rest.len());
        loop {
            match std::str::from_utf8(rest) {
                Ok(good) => {
                    text.push_str(good);
                    return text.into();
                }
                Err(error) => {
                    let (good, bad) = rest.split_at(error.valid_up_to());
                    text.push_str(std::str::from_utf8(good).unwrap_or_default());
                    let Some(length) = error.error_len() else {
                        self.length = bad.len().min(3);
                        self.bytes[..self.length].copy_from_slice(&bad[..self.length]);
                        return text.into();
                    };
                    text.push('\u{fffd}');
                    rest = &bad[length..];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever a terminal shows, whatever stands in the line before it, and wherever a vector of the escaper ends.
        #[test]
        fn any_text_never_comes_back_as_another(before in "[ -~]{0,70}", text in "(\\PC|[\\x00-\\x1f\"\\\\\x7f]|\u{1F600}){0,200}") {
            let (mut out, mut cast) = (before.clone().into_bytes(), header(&mut Vec::new()));
            let at = cast.last;
            cast.event(at, "o", &text, &mut out);
            let line = std::str::from_utf8(&out).unwrap().strip_prefix(&before).unwrap();
            prop_assert_eq!(line, format!("[0.000,\"o\",{}]\n", serde_json::to_string(&text).unwrap()));
        }
    }

    fn header(out: &mut Vec<u8>) -> Encoder {
        let started = Timestamp::from_millis(1_700_000_000_250);
        let command = ["ls".to_owned(), "-l".to_owned()];
        let header = Header {
            started,
            size: (80, 24),
            term: Some("xterm-256color"),
            title: "a \"b\"",
            command: &command,
        };
        Encoder::new(&header, out)
    }

    #[test]
    fn lines_are_those_of_the_format() {
        let mut out = Vec::new();
        let mut cast = header(&mut out);
        let at = |millis: i64| Timestamp::from_millis(1_700_000_000_250 + millis);
        cast.wrote(at(1), StreamKind::Output, b"a\x1b[1m\r\n", &mut out);
        cast.wrote(at(1501), StreamKind::Error, b"no\n", &mut out);
        cast.event(at(1400), "r", "100x50", &mut out);
        cast.event(at(2000), "x", "0", &mut out);
        let lines: Vec<serde_json::Value> = out
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert_eq!(lines[0]["version"], 3);
        assert_eq!(lines[0]["term"], json!({"cols": 80, "rows": 24, "type": "xterm-256color"}));
        assert_eq!(lines[0]["command"], "ls -l");
        assert_eq!(lines[1], json!([0.001, "o", "a\x1b[1m\r\n"]));
        assert_eq!(lines[2], json!([1.5, "e", "no\n"]));
        assert_eq!(lines[3], json!([0.0, "r", "100x50"]), "a clock that goes back makes no negative time");
        assert_eq!(lines[4], json!([0.499, "x", "0"]));
    }

    #[test]
    fn a_character_in_two_pieces_is_one_and_bad_bytes_are_replaced() {
        let mut half = PartialChar::default();
        let euro = "€".as_bytes();
        assert_eq!(half.complete_text(&[b'a', euro[0]]), "a");
        assert_eq!(half.complete_text(&euro[1..2]), "");
        assert_eq!(half.complete_text(&[euro[2], b'b', 0xff, b'c']), "€b\u{fffd}c");
        let (mut out, mut cast) = (Vec::new(), header(&mut Vec::new()));
        cast.wrote(Timestamp::from_millis(0), StreamKind::Output, &euro[..2], &mut out);
        assert!(out.is_empty());
        cast.finish(Timestamp::from_millis(0), &mut out);
        assert_eq!(out, "[0.000,\"o\",\"\u{fffd}\"]\n".as_bytes());
    }
}
