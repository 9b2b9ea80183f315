//! Ranges and instants as written in URLs.

/// Longest range, in seconds: two years.
const LONGEST: u64 = 2 * 366 * 86_400;

/// A range as it is written in addresses, `1h` when it is none.
pub(crate) fn range(text: &str) -> String {
    if seconds(text).is_some_and(|secs| (1..=LONGEST).contains(&secs)) {
        text.trim().to_ascii_lowercase()
    } else {
        "1h".to_owned()
    }
}

/// `1h30m` in seconds.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let mut total = 0_u64;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest.get(..digits)?.parse().ok()?;
        let unit = match rest.as_bytes().get(digits)?.to_ascii_lowercase() {
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            b'd' => 86_400,
            b'w' => 7 * 86_400,
            _ => return None,
        };
        total = total.checked_add(number.checked_mul(unit)?)?;
        rest = rest.get(digits + 1..)?;
    }
    (total > 0).then_some(total)
}

/// An instant: Unix seconds, `2026-11-21 03:12[:00]` in UTC, RFC 3339; `None`: now.
pub(crate) fn instant(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(at) = text.parse::<f64>() {
        return Some(at).filter(|at| at.is_finite() && *at >= 0.0);
    }
    let whole = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        16 => format!("{}:00Z", text.replace(' ', "T")),
        19 => format!("{}Z", text.replace(' ', "T")),
        _ => text.to_owned(),
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
    rp_base::Timestamp::parse(&whole).ok().map(|at| at.seconds() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ranges_and_instants() {
        assert_eq!(
            (seconds("1h30m"), seconds("8w"), seconds("5"), seconds("x")),
            (Some(5400), Some(4_838_400), None, None)
        );
        assert_eq!(
            (range("1H"), range("<b>"), range("0s"), range("9000w")),
            ("1h".into(), "1h".into(), "1h".into(), "1h".into())
        );
        let at = instant("2026-11-21 03:12").unwrap();
        assert_eq!(Some(at), instant("2026-11-21T03:12:00Z"));
        assert_eq!(Some(at), instant(&format!("{at}")));
        assert_eq!((instant("now"), instant("")), (None, None));
    }
}
