//! Instants as people read them. All are seconds since 1970 UTC; `now` is the server's clock.
//! The script of the page keeps the words current; without it they are right as of the answer.

use std::fmt::{self, Display, Formatter};

use askama::filters::Safe;

/// How an instant is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeFormat {
    /// "3 h 20 min ago"; "9 min ahead of our clock" when it lies in the future.
    Past,
    /// "47 min": how long it has lasted.
    Lasting,
    /// "in 24 min"; "ended 3 min ago" once over.
    Coming,
    /// "2026-11-21 03:12:00 UTC".
    Exact,
    /// "2026-11-21 03:12:09", of a log line.
    Moment,
    /// "03:12 UTC", for a second line.
    Clock,
}

/// A `<time>` element; markup, so never to be escaped again.
#[derive(Clone, Copy, Debug)]
pub struct When {
    at: i64,
    now: i64,
    told: TimeFormat,
}

impl When {
    /// The element for an instant.
    #[must_use]
    pub fn new(at: i64, now: i64, told: TimeFormat) -> Safe<Self> {
        Safe(Self { at, now, told })
    }
}

impl Display for When {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let iso = iso(self.at);
        let exact = exact(self.at);
        let (kind, words) = match self.told {
            TimeFormat::Past => ("past", past(self.at, self.now)),
            TimeFormat::Lasting => ("lasting", span(self.now.saturating_sub(self.at))),
            TimeFormat::Coming => ("coming", coming(self.at, self.now)),
            TimeFormat::Exact => return write!(f, "<time datetime=\"{iso}\">{exact}</time>"),
            TimeFormat::Moment => {
                let short = exact.strip_suffix(" UTC").unwrap_or(&exact);
                return write!(f, "<time datetime=\"{iso}\" title=\"{exact}\">{short}</time>");
            }
            TimeFormat::Clock => {
                let clock = exact.get(11..16).unwrap_or_default();
                return write!(f, "<time datetime=\"{iso}\" title=\"{exact}\">{clock} UTC</time>");
            }
        };
        write!(f, "<time datetime=\"{iso}\" title=\"{exact}\" data-told=\"{kind}\">{words}</time>")
    }
}

/// "12 s ago".
#[must_use]
pub fn past(at: i64, now: i64) -> String {
    if at.abs_diff(now) < 2 {
        "just now".to_owned()
    } else if at > now.saturating_add(5) {
        format!("{} ahead of our clock", span(at.saturating_sub(now)))
    } else {
        format!("{} ago", span(now.saturating_sub(at)))
    }
}

/// "in 24 min".
#[must_use]
pub fn coming(at: i64, now: i64) -> String {
    if at > now { format!("in {}", span(at.saturating_sub(now))) } else { format!("ended {}", past(at, now)) }
}

/// A length of time: one unit below an hour and from four days on, two between. Days are rounded to the nearest, so that
/// what was given for 30 days ends "in 30 d". The script of the
/// page (`scripts/time.ts`) has the same rule.
#[must_use]
pub fn span(seconds: i64) -> String {
    let s = seconds.max(0);
    let (m, h, d) = (s / 60, s / 3600, s / 86_400);
    if s < 60 {
        format!("{s} s")
    } else if m < 60 {
        format!("{m} min")
    } else if d < 1 {
        two(h, "h", m % 60, "min")
    } else if d < 4 {
        two(d, "d", h % 24, "h")
    } else {
        format!("{} d", s.saturating_add(43_200) / 86_400)
    }
}

fn two(big: i64, big_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 { format!("{big} {big_unit}") } else { format!("{big} {big_unit} {small} {small_unit}") }
}

/// `2026-11-21 03:12:00 UTC`.
#[must_use]
pub fn exact(at: i64) -> String {
    let (date, clock) = parts(at);
    format!("{date} {clock} UTC")
}

/// `2026-11-21T03:12:00Z` (RFC 3339).
#[must_use]
pub fn iso(at: i64) -> String {
    let (date, clock) = parts(at);
    format!("{date}T{clock}Z")
}

/// Date and time of day in the proleptic Gregorian calendar, counted in eras of 400 years that begin
/// on 1 March, so that the leap day is an era's last. Years before 0 and after 9999 are held at the edge.
fn parts(at: i64) -> (String, String) {
    const FIRST: i64 = -62_167_219_200;
    const LAST: i64 = 253_402_300_799;
    let at = at.clamp(FIRST, LAST);
    let (days, seconds) = (at.div_euclid(86_400), at.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let d = day_of_year - (153 * month + 2) / 5 + 1;
    let m = if month < 10 { month + 3 } else { month - 9 };
    let y = year + era * 400 + i64::from(m <= 2);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    (format!("{y:04}-{m:02}-{d:02}"), clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_instants() {
        assert_eq!(iso(0), "1970-01-01T00:00:00Z");
        assert_eq!(exact(1_795_230_720), "2026-11-21 03:12:00 UTC");
        assert_eq!(iso(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(iso(i64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(iso(i64::MIN), "0000-01-01T00:00:00Z");
        assert_eq!(iso(-1), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn tells_lengths() {
        for (s, words) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3600, "1 h"),
            (4320, "1 h 12 min"),
            (90_000, "1 d 1 h"),
            (4 * 86_400, "4 d"),
            (411 * 86_400, "411 d"),
            (30 * 86_400 - 1, "30 d"),
            (29 * 86_400 + 40_000, "29 d"),
            (4 * 86_400 - 1, "3 d 23 h"),
            (-5, "0 s"),
        ] {
            assert_eq!(span(s), words);
        }
        assert_eq!(past(100, 101), "just now");
        assert_eq!(past(100, 40), "1 min ahead of our clock");
        assert_eq!(coming(100, 40), "in 1 min");
        assert_eq!(coming(40, 100), "ended 1 min ago");
    }
}
