//! The Prometheus text exposition, version 0.0.4, where `# UNIT` is a comment; it is a line of OpenMetrics.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The media type of [`Registry::render`](crate::Registry::render).
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `a="1",b="2"`, escaped.
pub fn pairs(names: &[&str], values: &[Cow<'static, str>]) -> String {
    let mut out = String::new();
    for (name, value) in names.iter().zip(values) {
        pair(&mut out, name, value);
    }
    out
}

/// Adds `name="value"`, escaped, after a comma if the text is not empty.
pub fn pair(out: &mut String, name: &str, value: &str) {
    if !out.is_empty() {
        out.push(',');
    }
    bare_pair(out, name, value);
}

/// Adds `name="value"`, escaped.
pub fn bare_pair(out: &mut String, name: &str, value: &str) {
    out.push_str(name);
    out.push_str("=\"");
    out.push_str(&escape_value(value));
    out.push('"');
}

/// One sample line.
pub(crate) fn sample(out: &mut String, name: &str, suffix: &str, labels: &str, value: f64) {
    let _ = match labels {
        "" => writeln!(out, "{name}{suffix} {}", number(value)),
        _ => writeln!(out, "{name}{suffix}{{{labels}}} {}", number(value)),
    };
}

/// A whole number, exact beyond 2^53.
pub(crate) fn whole(out: &mut String, name: &str, suffix: &str, labels: &str, value: u64) {
    let _ = match labels {
        "" => writeln!(out, "{name}{suffix} {value}"),
        _ => writeln!(out, "{name}{suffix}{{{labels}}} {value}"),
    };
}

/// A float as the format writes it.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value == f64::INFINITY {
        "+Inf".to_owned()
    } else if value == f64::NEG_INFINITY {
        "-Inf".to_owned()
    } else {
        value.to_string()
    }
}

/// The lines before a metric's samples.
pub fn header(out: &mut String, name: &str, help: &str, kind: &str) {
    let help = help.replace('\\', "\\\\").replace('\n', "\\n");
    let _ = writeln!(out, "# HELP {name} {help}");
    if let Some(unit) = unit(name) {
        let _ = writeln!(out, "# UNIT {name} {unit}");
    }
    let _ = writeln!(out, "# TYPE {name} {kind}");
}

/// The unit in a name, where there is one.
pub fn unit(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix("_total").unwrap_or(name);
    ["seconds", "bytes", "ratio"]
        .into_iter()
        .find(|unit| name.strip_suffix(unit).is_some_and(|n| n.ends_with('_')))
}

/// Whether the name is valid in the format.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.as_bytes()[0].is_ascii_digit()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn escape_value(value: &str) -> Cow<'_, str> {
    if value.contains(['\\', '"', '\n']) {
        Cow::Owned(value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    } else {
        Cow::Borrowed(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_labels_and_help() {
        assert_eq!(pairs(&["a", "b"], &["x\"\\\n".into(), "y".into()]), "a=\"x\\\"\\\\\\n\",b=\"y\"");
        let mut out = String::new();
        header(&mut out, "aro_x_seconds_total", "Two\nlines \\", "counter");
        let expected = "# HELP aro_x_seconds_total Two\\nlines \\\\\n# UNIT aro_x_seconds_total seconds\n# TYPE aro_x_seconds_total counter\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn writes_numbers_as_the_format_does() {
        let numbers = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.25, 3.0].map(number);
        assert_eq!(numbers, ["+Inf", "-Inf", "NaN", "0.25", "3"]);
    }
}
