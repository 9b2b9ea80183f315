//! The level of a log line, where it names one: klog (`E0312 …`), JSON (`"level":"error"`), logfmt (`level=error`).
//! `scripts/log/level.ts` has the same rules for lines that arrive while a log is followed.

/// How bad a line is; the order is that of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Debug or trace.
    Debug,
    /// Info.
    Info,
    /// Warning.
    Warn,
    /// Error or worse.
    Error,
}

/// Bytes of a line in which its level is looked for.
const HEAD: usize = 2048;
/// What stands before the word of a level.
const KEYS: [&str; 8] = [
    "\"level\":\"",
    "\"level\": \"",
    "\"severity\":\"",
    "\"severity\": \"",
    "level=\"",
    "level=",
    "lvl=",
    "severity=",
];

impl LogLevel {
    /// Its name in addresses and in the page.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// The level of that name; a container may write any word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "trace" | "debug" | "dbg" => Self::Debug,
            "info" | "notice" | "information" => Self::Info,
            "warn" | "warning" => Self::Warn,
            "error" | "err" | "fatal" | "panic" | "critical" | "alert" | "emergency" | "dpanic" => {
                Self::Error
            }
            _ => return None,
        })
    }

    /// The level that a line names; a time in front of it, as the API server writes it, is skipped.
    #[must_use]
    pub fn of(line: &str) -> Option<Self> {
        let line = &line[..line.floor_char_boundary(HEAD)];
        klog(without_time(line)).or_else(|| {
            KEYS.into_iter().find_map(|key| {
                let at = starts_word(line, key)? + key.len();
                let rest = &line[at..];
                let word = &rest[..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len())];
                Self::from_name(word)
            })
        })
    }
}

/// Where a key begins: not within another word.
fn starts_word(line: &str, key: &str) -> Option<usize> {
    line.match_indices(key).map(|(at, _)| at).find(|at| {
        let before = line[..*at].bytes().next_back();
        before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'_')
    })
}

/// The line after an instant of RFC 3339 in front of it.
fn without_time(line: &str) -> &str {
    match line.split_once(' ') {
        Some((time, rest))
            if time.len() >= 20 && time.ends_with('Z') && time.as_bytes().get(10) == Some(&b'T') =>
        {
            rest
        }
        _ => line,
    }
}

/// `I0312 03:12:09.000000 …`: letter, month and day, a blank.
fn klog(line: &str) -> Option<LogLevel> {
    let head = line.as_bytes().get(..6)?;
    if head[5] != b' ' || !head[1..5].iter().all(u8::is_ascii_digit) {
        return None;
    }
    match head[0] {
        b'I' => Some(LogLevel::Info),
        b'W' => Some(LogLevel::Warn),
        b'E' | b'F' => Some(LogLevel::Error),
        _ => None,
    }
}

/// The level of each line: its own, else that of the line before, for a trace of a stack belongs to its error.
pub fn levels<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Option<LogLevel>> {
    lines.scan(None, |last, line| {
        *last = LogLevel::of(line).or(*last);
        Some(*last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_read_in_each_form() {
        for (line, wanted) in [
            ("E0312 03:12:09.000000       1 leaderelection.go:330] error", Some(LogLevel::Error)),
            ("F0312 03:12:09.000000       1 main.go:1] bye", Some(LogLevel::Error)),
            ("2026-11-21T03:12:09.123456789Z W0312 03:12:09 1 x.go:1] slow", Some(LogLevel::Warn)),
            (r#"{"ts":"2026","level":"info","msg":"level=error is a text"}"#, Some(LogLevel::Info)),
            (r#"{"severity": "WARNING","message":"x"}"#, Some(LogLevel::Warn)),
            ("ts=2026-11-21T03:12:09Z level=debug caller=main.go", Some(LogLevel::Debug)),
            (r#"time="2026-11-21T03:12:09Z" level="fatal" msg="x""#, Some(LogLevel::Error)),
            ("loglevel=error is not a level", None),
            ("an error without a level", None),
            ("E03x2 no klog", None),
            ("", None),
        ] {
            assert_eq!(LogLevel::of(line), wanted, "{line}");
        }
        let far = format!("{}level=error", "ä".repeat(HEAD));
        assert_eq!(LogLevel::of(&far), None, "only the beginning is read");
    }

    #[test]
    fn a_line_without_a_level_belongs_to_the_one_before() {
        let lines = ["first", "E0312 1 a.go:1] panic", "goroutine 1 [running]:", "I0312 1 a.go:2] up"];
        let all: Vec<_> = levels(lines.into_iter()).collect();
        assert_eq!(all, [None, Some(LogLevel::Error), Some(LogLevel::Error), Some(LogLevel::Info)]);
        assert!(LogLevel::Error > LogLevel::Warn && LogLevel::Warn > LogLevel::Info);
    }
}
