//! Rules over more than one key, which several sections have.

use std::time::Duration;

use crate::reader::Reader;
use crate::values::show_duration;

/// The first duration is at most the second.
pub fn not_longer(r: &mut Reader, (short, a): (&str, Duration), (long, b): (&str, Duration)) {
    if !b.is_zero() && a > b {
        let blame = if r.is_set(short) { short } else { long };
        r.mistake(
            blame,
            format!("{short} ({}) must not be longer than {long} ({})", show_duration(a), show_duration(b)),
        );
    }
}

/// At most 60 s, as checkpoints (`contract/rules.md` §3.9) and leases are.
pub fn at_most_a_minute(r: &mut Reader, key: &str, period: Duration) {
    if period > Duration::from_secs(60) {
        r.mistake(key, format!("must be at most 60s, got {}", show_duration(period)));
    }
}

/// Both or none.
pub fn pair(r: &mut Reader, (a, has_a): (&str, bool), (b, has_b): (&str, bool)) {
    if has_a != has_b {
        let (there, gone) = if has_a { (a, b) } else { (b, a) };
        // An invalid one has already been reported.
        if !r.is_set(gone) {
            missing_once(r, gone, &format!("is needed with {there}"));
        }
    }
}

/// Reports a missing key unless it has already been reported.
pub fn missing_once(r: &mut Reader, key: &str, message: &str) {
    if r.mistakes.iter().all(|mistake| mistake.key != key) {
        r.mistake(key, message);
    }
}
