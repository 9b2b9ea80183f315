//! The lines that a test program prints in libtest's JSON form.

use serde::Deserialize;

/// One event. Fields that are not read here are ignored.
#[derive(Debug, Deserialize, PartialEq)]
pub(crate) struct Event {
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    #[serde(default)]
    pub(crate) event: String,
    #[serde(default)]
    pub(crate) name: String,
    /// Seconds.
    #[serde(default)]
    pub(crate) exec_time: f64,
    /// What a failed test printed.
    #[serde(default)]
    pub(crate) stdout: String,
    #[serde(default)]
    pub(crate) message: String,
}

#[derive(Debug, Deserialize, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Suite,
    Test,
    #[serde(other)]
    Other,
}

/// How every event begins. A child of a test may have printed before it on the same line.
const BEGIN: &str = r#"{ "type": "#;

/// The event of a line, or nothing: tests and the programs that they start print other lines too.
pub(crate) fn parse(line: &str) -> Option<Event> {
    let from = line.rfind(BEGIN)?;
    serde_json::from_str(line.get(from..)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_found_behind_what_somebody_printed() {
        let line = r#"listening on 1{ "type": "test", "name": "a::b", "event": "ok", "exec_time": 0.25 }"#;
        let event = parse(line).unwrap();
        assert_eq!((event.kind, event.name.as_str(), event.event.as_str()), (Kind::Test, "a::b", "ok"));
        assert!((event.exec_time - 0.25).abs() < f64::EPSILON);
    }

    #[test]
    fn other_lines_are_no_events() {
        for line in ["", "test a ... ok", "{}", r#"{ "type": "test""#, r#"{"type": 1}"#] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
