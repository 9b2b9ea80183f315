//! Text from outside: escaped, shown whole or cut, with the characters that steer a screen made visible.

use std::borrow::Borrow;
use std::fmt::{self, Display, Formatter, Write};

use askama::filters::{Escaper, Safe};

/// Longest text of one value in a list, in characters; a longer text is cut and its size is shown.
pub const LIST_LIMIT: usize = 300;

/// The escaper of every template. HTML's five characters become references; control, direction and
/// invisible characters become `[U+202E]`, so that no value can reorder or hide the text beside it.
/// Line feed and tab pass. Safe in text and in quoted attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct VisibleEscaper;

impl Escaper for VisibleEscaper {
    fn write_escaped_str<W: Write>(&self, mut dest: W, string: &str) -> fmt::Result {
        let mut from = 0;
        for (at, c) in string.char_indices() {
            let entity = match c {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&#34;",
                '\'' => "&#39;",
                _ if steers(c) => "",
                _ => continue,
            };
            dest.write_str(&string[from..at])?;
            if entity.is_empty() {
                write!(dest, "[U+{:04X}]", u32::from(c))?;
            } else {
                dest.write_str(entity)?;
            }
            from = at + c.len_utf8();
        }
        dest.write_str(&string[from..])
    }
}

/// Whether a character changes how others are shown instead of showing itself: C0 and C1 controls but
/// line feed and tab, bidirectional controls (UAX #9), zero-width and filler characters, line and
/// paragraph separators, interlinear annotation, tags, private use of the byte-order mark.
#[must_use]
pub fn steers(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        _ if c.is_control() => true,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// A value from outside in a sentence or a cell: isolated by `<bdi>`, cut at [`LIST_LIMIT`]
/// characters with its size beside it, steering characters as `<span class="ctl">`.
#[must_use]
pub fn cut(text: &str) -> Safe<Value<'_>> {
    Safe(Value { text, limit: LIST_LIMIT })
}

/// The same without a cut, for the page of the thing itself.
#[must_use]
pub fn whole(text: &str) -> Safe<Value<'_>> {
    Safe(Value { text, limit: usize::MAX })
}

/// A value, or a dash when it is empty.
#[must_use]
pub fn or_dash(text: &str) -> Safe<OrDash<'_>> {
    Safe(OrDash(text))
}

/// See [`cut`].
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    text: &'a str,
    limit: usize,
}

impl Display for Value<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("<bdi>")?;
        let mut rest = self.text.chars();
        for c in rest.by_ref().take(self.limit) {
            if steers(c) {
                write!(f, "<span class=\"ctl\">U+{:04X}</span>", u32::from(c))?;
            } else {
                VisibleEscaper.write_escaped_char(&mut *f, c)?;
            }
        }
        f.write_str("</bdi>")?;
        let left = rest.as_str();
        if left.is_empty() {
            return Ok(());
        }
        write!(f, "<span class=\"mute\">… ({} in all)</span>", size(self.text.len()))
    }
}

/// See [`or_dash`].
#[derive(Clone, Copy, Debug)]
pub struct OrDash<'a>(&'a str);

impl Display for OrDash<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("<span class=\"mute\">–</span>") } else { whole(self.0).fmt(f) }
    }
}

/// `10,214`.
#[must_use]
pub fn number(n: impl Borrow<u64>) -> String {
    let digits = n.borrow().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, d) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(d);
    }
    out
}

/// `1 cluster`, `10,214 clusters`.
#[must_use]
pub fn plural(n: impl Borrow<u64>, one: &str, many: &str) -> String {
    let n = n.borrow();
    format!("{} {}", number(*n), if *n == 1 { one } else { many })
}

/// A size in bytes with binary units: `312 B`, `4.1 KiB`, `1.0 MiB`.
#[must_use]
pub fn size(bytes: usize) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes.saturating_mul(10) / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit < UNITS.len() - 1 {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Percent-encodes one value of a query or one segment of a path (RFC 3986 unreserved stay).
#[must_use]
pub fn encode(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for b in value.bytes() {
        if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(b));
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(s: &str) -> String {
        let mut out = String::new();
        VisibleEscaper.write_escaped_str(&mut out, s).unwrap();
        out
    }

    #[test]
    fn escapes_markup_and_shows_what_steers() {
        assert_eq!(escaped("<a b=\"c\" d='e'>&"), "&lt;a b=&#34;c&#34; d=&#39;e&#39;&gt;&amp;");
        assert_eq!(escaped("a\u{202e}b\u{0}c\nd"), "a[U+202E]b[U+0000]c\nd");
        assert_eq!(escaped("größe λ 東京"), "größe λ 東京");
    }

    #[test]
    fn cuts_long_text_and_tells_its_size() {
        let long = "x".repeat(5000);
        let out = cut(&long).0.to_string();
        assert_eq!(out.matches('x').count(), 300);
        assert!(out.ends_with("… (4.8 KiB in all)</span>"), "{out}");
        assert!(cut("a\u{202e}<").0.to_string().contains("a<span class=\"ctl\">U+202E</span>&lt;"));
    }

    #[test]
    fn writes_numbers_and_sizes() {
        assert_eq!(number(10_214_u64), "10,214");
        assert_eq!(number(7_u64), "7");
        assert_eq!(plural(1_u64, "cluster", "clusters"), "1 cluster");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024 * 1024), "1.0 MiB");
        assert_eq!(encode("a b/ü"), "a%20b%2F%C3%BC");
    }
}
