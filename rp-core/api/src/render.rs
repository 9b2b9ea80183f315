//! How answers are written: four spaces, a newline at the end, `<`, `>` and `&` escaped
//! (`contract/api.md` §8.3).

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// Writes a value as the API does.
///
/// # Errors
/// The value cannot be JSON (a map whose keys are no text).
pub fn render(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(1024);
    let mut serializer =
        Serializer::with_formatter(&mut out, ArmFormatter(PrettyFormatter::with_indent(b"    ")));
    value.serialize(&mut serializer)?;
    out.push(b'\n');
    Ok(out)
}

/// A text in double quotes with its special characters escaped, as error messages quote the decoder's message.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

struct ArmFormatter(PrettyFormatter<'static>);

impl Formatter for ArmFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, to: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, special) = rest.split_at(at);
            to.write_all(plain.as_bytes())?;
            let Some(c) = special.chars().next() else { break };
            write!(to, "\\u{:04x}", u32::from(c))?;
            rest = special.get(c.len_utf8()..).unwrap_or_default();
        }
        to.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_array(to)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array(to)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(to, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array_value(to)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object(to)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object(to)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(to, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object_value(to)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_indented_escaped_and_end_with_a_newline() {
        let out = render(&json!({"a": "<b>&\"", "c": {}, "d": []})).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "{\n    \"a\": \"\\u003cb\\u003e\\u0026\\\"\",\n    \"c\": {},\n    \"d\": []\n}\n");
    }

    #[test]
    fn quoting_escapes() {
        assert_eq!(quoted("a \"b\"\n\u{1}"), "\"a \\\"b\\\"\\n\\u{1}\"");
    }
}
