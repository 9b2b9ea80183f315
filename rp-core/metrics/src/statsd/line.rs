//! One line: a JSON object, `:`, the value, `|`, the type, a line feed.

use std::collections::BTreeMap;

use rp_base::Timestamp;

use super::StatsdOptions;

/// A point's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Type `g`.
    Whole(i64),
    /// Type `f`, six decimals, never an exponent.
    Float(f64),
}

/// A point before it is written.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    pub name: &'a str,
    pub value: Value,
    pub dimensions: &'a [(&'a str, &'a str)],
    pub at: Timestamp,
}

impl Point<'_> {
    /// The line; `None` when the value is no number. Keys in the contract's order, dimensions sorted.
    pub fn line(&self, options: &StatsdOptions) -> Option<Vec<u8>> {
        let value = match self.value {
            Value::Whole(value) => format!("{value}|g"),
            Value::Float(value) if value.is_finite() => format!("{value:.6}|f"),
            Value::Float(_) => return None,
        };
        let mut dimensions: BTreeMap<&str, &str> = self.dimensions.iter().copied().collect();
        dimensions.extend(options.dimensions.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        let mut out = String::with_capacity(256);
        out.push_str("{\"Metric\":");
        string(&mut out, self.name);
        for (key, text) in [("Account", &options.account), ("Namespace", &options.namespace)] {
            if !text.is_empty() {
                out.push(',');
                string(&mut out, key);
                out.push(':');
                string(&mut out, text);
            }
        }
        out.push_str(",\"Dims\":{");
        for (at, (key, value)) in dimensions.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            string(&mut out, key);
            out.push(':');
            string(&mut out, value);
        }
        out.push_str("},\"TS\":");
        string(&mut out, &instant(self.at));
        out.push_str("}:");
        out.push_str(&value);
        out.push('\n');
        Some(out.into_bytes())
    }
}

/// A JSON string; what a browser could take for markup, and the line ends of JavaScript, are escaped too.
fn string(out: &mut String, text: &str) {
    let quoted = serde_json::Value::from(text).to_string();
    for c in quoted.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
}

/// `YYYY-MM-DDThh:mm:ss.mmm`, UTC, without a zone.
fn instant(at: Timestamp) -> String {
    let t = at.to_datetime();
    let (year, month, day) = (t.year(), u8::from(t.month()), t.day());
    let (hour, minute, second, millis) = (t.hour(), t.minute(), t.second(), t.millisecond());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}")
}
