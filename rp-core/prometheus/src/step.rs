//! The step of a range query, fitted to the range and to the width of what is drawn.

/// Prometheus gives at most so many points per series.
pub const MOST_POINTS: u32 = 11_000;
/// Points evaluated per unit of width: peaks between two pixels are seen and kept.
const PER_UNIT: u32 = 4;
/// Steps that people can read off an axis, seconds.
const STEPS: [u32; 16] =
    [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/// The smallest good step, seconds, that keeps a range (seconds) within 4 points per unit of `width` and
/// within Prometheus' own bound.
pub fn fit(range: f64, width: u32) -> f64 {
    let most = width.max(1).saturating_mul(PER_UNIT).min(MOST_POINTS - 1);
    at_least(range / f64::from(most))
}

/// The smallest good step of at least so many seconds.
pub(crate) fn at_least(seconds: f64) -> f64 {
    let step = STEPS.into_iter().map(f64::from).find(|step| *step >= seconds);
    // Beyond a day in whole days.
    step.unwrap_or_else(|| (seconds / 86_400.0).ceil() * 86_400.0)
}

/// How many points a range query gives per series.
pub(crate) fn points(start: f64, end: f64, step: f64) -> f64 {
    ((end - start) / step).floor() + 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_any_range_below_the_bound() {
        for (range, width, step) in [
            (60.0, 1000, 5.0),
            (3600.0, 1000, 5.0),
            (86_400.0, 1000, 30.0),
            (7.0 * 86_400.0, 1000, 300.0),
            (56.0 * 86_400.0, 1000, 1800.0),
            (56.0 * 86_400.0, 100_000, 600.0),
            (20.0 * 365.0 * 86_400.0, 200, 10.0 * 86_400.0),
            (0.0, 0, 5.0),
        ] {
            assert!((fit(range, width) - step).abs() < 1e-9, "{range} {width} {}", fit(range, width));
            assert!(points(0.0, range, fit(range, width)) <= f64::from(MOST_POINTS));
        }
    }
}
