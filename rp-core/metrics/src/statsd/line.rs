//! One line: a JSON object, `:`, the value, `|`, the type, a line feed.

use std::fmt::Write as _;

use rp_base::Timestamp;

use super::StatsdOptions;

/// Longest line: the size of one datagram. A longer line cannot be sent over UDP.
const LONGEST: usize = 65_000;

/// A point's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Type `g`.
    Whole(i64),
    /// Type `f`, six decimals, never an exponent.
    Float(f64),
}

/// Why a point cannot be written as a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineError {
    NotANumber,
    TooLong,
}

/// The parts that are equal on every line of an emitter, rendered once.
#[derive(Debug, Clone)]
pub(super) struct LineTemplate {
    /// `,"Account":"…","Namespace":"…"`, without those that are empty.
    account: String,
    /// Added dimensions, sorted; they win over a point's own.
    added: Vec<(String, String)>,
}

impl LineTemplate {
    pub(super) fn from_options(options: &StatsdOptions) -> Self {
        let mut account = String::new();
        for (key, text) in [("Account", &options.account), ("Namespace", &options.namespace)] {
            if !text.is_empty() {
                account.push(',');
                string(&mut account, key);
                account.push(':');
                string(&mut account, text);
            }
        }
        let added = options.dimensions.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { account, added }
    }

    /// Writes a point's line: keys in the contract's order, dimensions sorted by name. Of two dimensions of one
    /// name the later wins, and an added one over both.
    ///
    /// # Errors
    /// The value is no number, or the line is longer than a datagram; nothing is written then.
    pub(super) fn write(
        &self,
        out: &mut String,
        name: &str,
        value: Value,
        dimensions: &[(&str, &str)],
        at: &str,
    ) -> Result<(), LineError> {
        if matches!(value, Value::Float(value) if !value.is_finite()) {
            return Err(LineError::NotANumber);
        }
        let start = out.len();
        out.push_str("{\"Metric\":");
        string(out, name);
        out.push_str(&self.account);
        out.push_str(",\"Dims\":{");
        self.dimensions(out, dimensions);
        out.push_str("},\"TS\":\"");
        out.push_str(at);
        out.push_str("\"}:");
        // Writing to a text cannot fail.
        let _ = match value {
            Value::Whole(value) => writeln!(out, "{value}|g"),
            Value::Float(value) => writeln!(out, "{value:.6}|f"),
        };
        if out.len() - start > LONGEST {
            out.truncate(start);
            return Err(LineError::TooLong);
        }
        Ok(())
    }

    fn dimensions(&self, out: &mut String, own: &[(&str, &str)]) {
        let mut all: Vec<(&str, &str)> = Vec::with_capacity(own.len() + self.added.len());
        all.extend_from_slice(own);
        all.extend(self.added.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        // A stable sort: dimensions of one name keep the order in which they were given.
        all.sort_by_key(|(key, _)| *key);
        let mut first = true;
        for (at, (key, value)) in all.iter().enumerate() {
            if all.get(at + 1).is_some_and(|(next, _)| next == key) {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            string(out, key);
            out.push(':');
            string(out, value);
        }
    }
}

/// A JSON string; HTML markup characters and the line terminators of JavaScript are escaped too.
fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let escape = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '<' => "\\u003c",
            '>' => "\\u003e",
            '&' => "\\u0026",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\u{2028}' => "\\u2028",
            '\u{2029}' => "\\u2029",
            '\0'..='\u{1f}' => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + c.len_utf8();
        if escape.is_empty() {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

/// `YYYY-MM-DDThh:mm:ss.mmm`, UTC, without a zone.
pub(super) fn instant(at: Timestamp) -> String {
    let t = at.to_datetime();
    let (year, month, day) = (t.year(), u8::from(t.month()), t.day());
    let (hour, minute, second, millis) = (t.hour(), t.minute(), t.second(), t.millisecond());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}")
}
