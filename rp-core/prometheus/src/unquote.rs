//! The strings of a list that is too long to be read at once: `{"status":"success","data":["a","b",…]}`.

/// Finds them piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Strings {
    /// Brackets that are open.
    lists: usize,
    inside: bool,
    escaped: bool,
    odd: bool,
    text: Vec<u8>,
}

/// Longer names are left out.
const MOST: usize = 4096;

impl Strings {
    /// Calls `take` for each string inside a list.
    pub(crate) fn feed(&mut self, piece: &[u8], mut take: impl FnMut(&str)) {
        for byte in piece {
            if !self.inside {
                match byte {
                    b'[' => self.lists += 1,
                    b']' => self.lists = self.lists.saturating_sub(1),
                    b'"' => self.inside = true,
                    _ => {}
                }
                continue;
            }
            if self.escaped {
                self.escaped = false;
                self.keep(*byte);
            } else if *byte == b'"' {
                self.end(&mut take);
            } else {
                self.escaped = *byte == b'\\';
                self.odd |= self.escaped;
                self.keep(*byte);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.lists > 0 && self.text.len() <= MOST {
            self.text.push(byte);
        }
    }

    fn end(&mut self, take: &mut impl FnMut(&str)) {
        if self.lists > 0 && self.text.len() <= MOST {
            if self.odd {
                let quoted = [b"\"", self.text.as_slice(), b"\""].concat();
                if let Ok(text) = serde_json::from_slice::<String>(&quoted) {
                    take(&text);
                }
            } else if let Ok(text) = std::str::from_utf8(&self.text) {
                take(text);
            }
        }
        self.text.clear();
        self.inside = false;
        self.odd = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_names_over_any_pieces() {
        let text = r#"{"status":"success","data":["a","b\"]\\","\u00e9","]"],"warnings":[]}"#;
        for size in 1..20 {
            let (mut strings, mut found) = (Strings::default(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                strings.feed(piece, |name| found.push(name.to_owned()));
            }
            assert_eq!(found, ["a", "b\"]\\", "é", "]"]);
        }
    }
}
