//! Durations in the notation of Go's `time.ParseDuration`, which schedules are written in (`contract/mimo.md` §7).

use std::time::Duration;

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoDurationError {
    #[error("invalid duration {0:?}")]
    Invalid(String),
    #[error("missing unit in duration {0:?}")]
    NoUnit(String),
    #[error("unknown unit {unit:?} in duration {text:?}")]
    UnknownUnit { unit: String, text: String },
    /// The text names a time before zero.
    #[error("duration {0:?} is negative")]
    Negative(String),
}

/// Reads a duration such as `24h`, `1h30m`, `1.5h` or `90s`, to the nanosecond.
///
/// # Errors
/// The text is no duration of that notation, is negative, or exceeds the notation's range (about 292 years).
pub fn parse_go_duration(text: &str) -> Result<Duration, GoDurationError> {
    let invalid = || GoDurationError::Invalid(bounded(text));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut nanos = 0u128;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        if number.is_empty() || number == "." {
            return Err(invalid());
        }
        let scale = scale(unit).ok_or_else(|| match unit {
            "" => GoDurationError::NoUnit(bounded(text)),
            unit => GoDurationError::UnknownUnit { unit: bounded(unit), text: bounded(text) },
        })?;
        nanos = nanos.saturating_add(scaled(number, scale).ok_or_else(invalid)?);
        rest = tail;
    }
    if negative && nanos > 0 {
        return Err(GoDurationError::Negative(bounded(text)));
    }
    i64::try_from(nanos)
        .ok()
        .and_then(|nanos| u64::try_from(nanos).ok())
        .map(Duration::from_nanos)
        .ok_or_else(invalid)
}

/// A number with an optional fraction, times the unit, rounded down.
fn scaled(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    // More digits than a nanosecond can show change nothing.
    let fraction = &fraction[..fraction.len().min(18)];
    let part = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? };
    let power = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    u128::from(whole).checked_mul(scale)?.checked_add(part.checked_mul(scale)? / power)
}

fn scale(unit: &str) -> Option<u128> {
    match unit {
        "ns" => Some(1),
        "us" | "µs" | "μs" => Some(1_000),
        "ms" => Some(1_000_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        _ => None,
    }
}

/// Texts of callers are repeated in errors up to this length.
fn bounded(text: &str) -> String {
    rp_base::text::clean(text, 64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<f64> {
        parse_go_duration(text).ok().map(|duration| duration.as_secs_f64())
    }

    #[test]
    fn the_notation_is_gos() {
        assert_eq!(seconds("24h"), Some(86_400.0));
        assert_eq!(seconds("1h30m"), Some(5400.0));
        assert_eq!(seconds("90s"), Some(90.0));
        assert_eq!(seconds("1.5h"), Some(5400.0));
        assert_eq!(seconds(".5s"), Some(0.5));
        assert_eq!(seconds("0"), Some(0.0));
        assert_eq!(seconds("+1m"), Some(60.0));
        assert_eq!(parse_go_duration("1us2ns"), Ok(Duration::from_nanos(1002)));
        for wrong in ["", "1", "h", ".", "1.2.3s", "1d", "-1h", "1h ", " 1h", "999999999999h", "1h-1m"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
        assert_eq!(parse_go_duration("12"), Err(GoDurationError::NoUnit("12".to_owned())));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = parse_go_duration(&text);
        }

        #[test]
        fn whole_units_add_up(hours in 0u64..10_000, minutes in 0u64..10_000, seconds in 0u64..10_000) {
            let text = format!("{hours}h{minutes}m{seconds}s");
            prop_assert_eq!(
                parse_go_duration(&text),
                Ok(Duration::from_secs(hours * 3600 + minutes * 60 + seconds))
            );
        }
    }
}
