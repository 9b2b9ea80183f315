//! The bounds of a life, as texts of errors name them.

use std::time::Duration;

/// A length in the largest unit that measures it without a rest: `1 minute`, `90 minutes`, `12 hours`.
pub(crate) fn length(life: Duration) -> String {
    const UNITS: [(&str, u128); 4] =
        [("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000)];
    let millis = life.as_millis();
    let fitting = UNITS.into_iter().find(|(_, factor)| millis > 0 && millis.is_multiple_of(*factor));
    let (unit, factor) = fitting.unwrap_or(("millisecond", 1));
    let count = millis / factor;
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElevationError, IssueError, RobotError};

    #[test]
    fn a_length_has_the_largest_unit_without_a_rest() {
        for (seconds, text) in [
            (1, "1 second"),
            (90, "90 seconds"),
            (60, "1 minute"),
            (5400, "90 minutes"),
            (12 * 3600, "12 hours"),
            (24 * 3600, "1 day"),
            (2160 * 3600, "90 days"),
        ] {
            assert_eq!(length(Duration::from_secs(seconds)), text);
        }
        assert_eq!(length(Duration::from_millis(1500)), "1500 milliseconds");
        assert_eq!(length(Duration::ZERO), "0 milliseconds");
    }

    #[test]
    fn errors_name_both_bounds_of_a_life() {
        let (shortest, longest) = (Duration::from_secs(300), Duration::from_secs(6 * 3600));
        let expected = "the life must be between 5 minutes and 6 hours";
        assert_eq!(IssueError::Life { shortest, longest }.to_string(), expected);
        assert_eq!(ElevationError::Life { shortest, longest }.to_string(), expected);
        assert_eq!(RobotError::Life { shortest, longest }.to_string(), expected);
    }
}
