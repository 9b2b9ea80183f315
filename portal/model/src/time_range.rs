//! Instants as people and scripts write them in a query.

use rp_base::Timestamp;

/// A range; either end may be open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Range {
    pub from: Option<Timestamp>,
    /// Exclusive.
    pub to: Option<Timestamp>,
}

impl Range {
    /// RFC 3339, `2026-11-21T03:12` or `2026-11-21`; UTC without a zone. A day as the end is taken whole.
    ///
    /// # Errors
    /// What would be right, as a sentence.
    pub fn read(from: &str, to: &str) -> Result<Self, &'static str> {
        let from = instant(from, false)?;
        let to = instant(to, true)?;
        match (from, to) {
            (Some(from), Some(to)) if to <= from => Err("The end lies before the start."),
            _ => Ok(Self { from, to }),
        }
    }
}

fn instant(text: &str, end: bool) -> Result<Option<Timestamp>, &'static str> {
    let text = text.trim();
    let full = match text.len() {
        0 => return Ok(None),
        10 => format!("{text}T00:00:00Z"),
        16 => format!("{text}:00Z"),
        19 => format!("{text}Z"),
        _ => text.to_owned(),
    };
    let at = Timestamp::parse(&full)
        .map_err(|_| "An instant is written as 2026-11-21, 2026-11-21T03:12 or in RFC 3339.")?;
    let whole_day = end && text.len() == 10;
    Ok(Some(if whole_day { at + std::time::Duration::from_secs(86_400) } else { at }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let at = |text: &str| Some(Timestamp::parse(text).unwrap());
        let read = |from, to| Range::read(from, to).unwrap();
        assert_eq!(read("", ""), Range::default());
        assert_eq!(read("2026-11-21", "").from, at("2026-11-21T00:00:00Z"));
        assert_eq!(read("", "2026-11-21").to, at("2026-11-22T00:00:00Z"));
        assert_eq!(read("2026-11-21T03:12", "").from, at("2026-11-21T03:12:00Z"));
        assert_eq!(read("2026-11-21T04:12:00+01:00", "").from, at("2026-11-21T03:12:00Z"));
        for bad in ["yesterday", "2026-13-01", "2026-11-21T25:00", "21.11.2026", "2026-11-21x"] {
            assert!(Range::read(bad, "").is_err(), "{bad}");
        }
        assert!(Range::read("2026-11-22", "2026-11-21T00:00").is_err());
    }
}
