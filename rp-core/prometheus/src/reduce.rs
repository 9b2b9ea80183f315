//! Fewer samples, the same peaks: minimum and maximum of each stretch that one pixel shows.

/// How a range is cut into stretches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Buckets {
    start: f64,
    length: f64,
}

impl Buckets {
    /// `width` stretches of a range of Unix seconds.
    pub(crate) fn new(start: f64, end: f64, width: u32) -> Self {
        Self { start, length: ((end - start) / f64::from(width.max(1))).max(0.001) }
    }

    #[expect(clippy::cast_possible_truncation, reason = "saturates, which is the last stretch")]
    fn index_of(self, at: f64) -> i64 {
        ((at - self.start) / self.length) as i64
    }
}

/// A sample as it was received.
#[derive(Debug, Clone, Default)]
struct Sample {
    at: f64,
    value: f64,
    /// `1700000000,"0.5"`.
    raw: Vec<u8>,
}

/// Reduces one series after the other, sample by sample. The first and the last sample of a series stay.
#[derive(Debug)]
pub(crate) struct Reducer {
    buckets: Buckets,
    bucket: Option<i64>,
    least: Sample,
    most: Sample,
    last: Sample,
    /// When the last sample that was written is, so that none is written twice.
    written: Option<f64>,
}

/// A sample that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("a sample cannot be read")]
pub(crate) struct BadSample;

impl Reducer {
    pub(crate) fn new(buckets: Buckets) -> Self {
        let none = Sample::default;
        Self { buckets, bucket: None, least: none(), most: none(), last: none(), written: None }
    }

    /// Takes the inside of `[t,"v"]`.
    pub(crate) fn take(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), BadSample> {
        let (at, value) = read(raw).ok_or(BadSample)?;
        let bucket = self.buckets.index_of(at);
        let sample = |into: &mut Sample| {
            into.at = at;
            into.value = value;
            into.raw.clear();
            into.raw.extend_from_slice(raw);
        };
        if self.bucket != Some(bucket) {
            let first = self.bucket.is_none();
            self.flush(out);
            self.bucket = Some(bucket);
            sample(&mut self.least);
            sample(&mut self.most);
            if first {
                write(&self.least, &mut self.written, out);
            }
        } else {
            // Any number replaces NaN as minimum or maximum.
            if value < self.least.value || self.least.value.is_nan() {
                sample(&mut self.least);
            }
            if value > self.most.value || self.most.value.is_nan() {
                sample(&mut self.most);
            }
        }
        sample(&mut self.last);
        Ok(())
    }

    /// Writes what is left of the current series.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        self.flush(out);
        if self.bucket.take().is_some() {
            write(&self.last, &mut self.written, out);
        }
        self.written = None;
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if self.bucket.is_none() {
            return;
        }
        let (first, second) =
            if self.least.at <= self.most.at { (&self.least, &self.most) } else { (&self.most, &self.least) };
        write(first, &mut self.written, out);
        write(second, &mut self.written, out);
    }
}

fn write(sample: &Sample, written: &mut Option<f64>, out: &mut Vec<u8>) {
    if written.is_some_and(|at| sample.at <= at) {
        return;
    }
    if written.is_some() {
        out.push(b',');
    }
    *written = Some(sample.at);
    out.push(b'[');
    out.extend_from_slice(&sample.raw);
    out.push(b']');
}

fn read(raw: &[u8]) -> Option<(f64, f64)> {
    let text = std::str::from_utf8(raw).ok()?;
    let (at, value) = text.split_once(',')?;
    let value = value.trim().strip_prefix('"')?.strip_suffix('"')?;
    Some((at.trim().parse().ok()?, value.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reduce(samples: &[(f64, f64)], width: u32) -> Vec<(f64, f64)> {
        let end = samples.last().map_or(1.0, |last| last.0);
        let mut reducer = Reducer::new(Buckets::new(0.0, end, width));
        let mut out = Vec::new();
        for (at, value) in samples {
            reducer.take(format!("{at},\"{value}\"").as_bytes(), &mut out).unwrap();
        }
        reducer.end(&mut out);
        let text = format!("[{}]", String::from_utf8(out).unwrap());
        let rows: Vec<(f64, String)> = serde_json::from_str(&text).unwrap();
        rows.into_iter().map(|(at, value)| (at, value.parse().unwrap())).collect()
    }

    #[test]
    fn a_single_peak_among_ten_thousand_is_kept() {
        let mut samples: Vec<(f64, f64)> = (0..10_000).map(|at| (f64::from(at), 1.0)).collect();
        samples[4321].1 = 99.0;
        samples[7777].1 = -5.0;
        samples[50].1 = f64::NAN;
        let few = reduce(&samples, 100);
        assert!(few.len() <= 202, "{}", few.len());
        assert!(few.contains(&(4321.0, 99.0)) && few.contains(&(7777.0, -5.0)));
        assert_eq!((few[0].0, few[few.len() - 1].0), (0.0, 9999.0));
    }

    proptest! {
        #[test]
        fn least_and_most_and_order_are_kept(values in proptest::collection::vec(-1e6..1e6_f64, 1..400), width in 1..50_u32) {
            let samples: Vec<(f64, f64)> =
                values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
            let few = reduce(&samples, width);
            let range = |rows: &[(f64, f64)]| rows.iter().fold((f64::MAX, f64::MIN), |(a, b), (_, v)| (a.min(*v), b.max(*v)));
            prop_assert_eq!(range(&few), range(&samples));
            prop_assert!(few.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(few.iter().all(|row| samples.contains(row)));
        }
    }
}
