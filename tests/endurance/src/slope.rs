//! Whether a series of measurements is flat: the line of least squares through it.

/// A measurement of one process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// Seconds since the load began.
    pub(crate) at: f64,
    pub(crate) value: f64,
    /// The process that was measured; after a restart it is another one.
    pub(crate) pid: u32,
}

/// Fewer points say nothing about a slope.
pub(crate) const LEAST_POINTS: usize = 12;
/// A series over less time, seconds, says nothing about an hour.
pub(crate) const LEAST_TIME: f64 = 300.0;

/// The line through a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// Units an hour.
    pub(crate) an_hour: f64,
    pub(crate) mean: f64,
}

/// The points from this second on that the last process gave.
pub(crate) fn last_process(points: &[Point], from: f64) -> Vec<Point> {
    let Some(pid) = points.last().map(|point| point.pid) else { return Vec::new() };
    let first = points.iter().rposition(|point| point.pid != pid).map_or(0, |at| at + 1);
    points[first..].iter().copied().filter(|point| point.at >= from).collect()
}

/// The line of least squares; `None` when there are too few points, or over too short a time.
pub(crate) fn fitted(points: &[Point]) -> Option<Line> {
    let (first, last) = (points.first()?, points.last()?);
    if points.len() < LEAST_POINTS || last.at - first.at < LEAST_TIME {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "some hundreds of points")]
    let count = points.len() as f64;
    let at = points.iter().map(|point| point.at).sum::<f64>() / count;
    let mean = points.iter().map(|point| point.value).sum::<f64>() / count;
    let both: f64 = points.iter().map(|point| (point.at - at) * (point.value - mean)).sum();
    let spread: f64 = points.iter().map(|point| (point.at - at).powi(2)).sum();
    Some(Line { an_hour: both / spread * 3600.0, mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pid: u32, from: u32, count: u32, value: impl Fn(f64) -> f64) -> Vec<Point> {
        let at = |n: u32| f64::from(from + 30 * n);
        (0..count).map(|n| Point { at: at(n), value: value(at(n)), pid }).collect()
    }

    #[test]
    fn the_slope_of_a_line_is_found_through_noise() {
        let found = fitted(&line(1, 0, 100, |at| 5.0 + at / 3600.0 * 7.0)).unwrap();
        assert!((found.an_hour - 7.0).abs() < 1e-6, "{found:?}");
        let noise =
            fitted(&line(1, 0, 120, |at| if (at / 30.0) % 2.0 < 1.0 { 99.0 } else { 101.0 })).unwrap();
        assert!(noise.an_hour.abs() < 3.0 && (noise.mean - 100.0).abs() < 0.1, "{noise:?}");
    }

    #[test]
    fn a_restart_begins_a_new_series() {
        let mut points = line(1, 0, 50, |at| at);
        points.extend(line(2, 1500, 50, |_| 40.0));
        let last = last_process(&points, 0.0);
        assert_eq!((last.len(), last[0].pid), (50, 2));
        let found = fitted(&last).unwrap();
        assert!(found.an_hour.abs() < 1e-6, "{found:?}");
        assert_eq!(last_process(&points, 2400.0).len(), 20);
    }

    #[test]
    fn a_short_series_has_no_slope() {
        assert_eq!(fitted(&line(1, 0, 10, |at| at)), None);
        assert_eq!(fitted(&[]), None);
    }
}
