//! One metric with labels: a series per label set, with a hard bound on how many.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::{Labels, Metric, text};

/// The most series a family holds; what comes after goes into the series whose labels are `_overflow`.
pub const MOST_SERIES: usize = 1000;

/// Instruments of one name with different labels. Cheap to clone. Keep the result of [`Family::with`] in hot paths.
#[derive(Debug, Clone)]
pub struct Family<L: Labels, M: Metric>(Arc<Inner<L, M>>);

#[derive(Debug)]
struct Inner<L, M> {
    series: RwLock<HashMap<L, M>>,
    overflow: RwLock<Option<M>>,
    buckets: &'static [f64],
    most: usize,
}

impl<L: Labels, M: Metric> Family<L, M> {
    pub(crate) fn new(buckets: &'static [f64], most: usize) -> Self {
        let series = RwLock::new(HashMap::new());
        Self(Arc::new(Inner { series, overflow: RwLock::new(None), buckets, most }))
    }

    /// The instrument of these labels; the overflow instrument when the family is full.
    pub fn with(&self, labels: &L) -> M {
        if let Some(metric) = self.0.series.read().get(labels) {
            return metric.clone();
        }
        let mut series = self.0.series.write();
        if let Some(metric) = series.get(labels) {
            return metric.clone();
        }
        let fresh = M::with_buckets(self.0.buckets);
        if series.len() >= self.0.most {
            drop(series);
            return self.0.overflow.write().get_or_insert(fresh).clone();
        }
        series.insert(labels.clone(), fresh.clone());
        fresh
    }

    /// Removes the series for which `keep` returns false.
    pub fn retain(&self, keep: impl Fn(&L) -> bool) {
        self.0.series.write().retain(|labels, _| keep(labels));
    }

    /// How many series there are, without the overflow.
    pub fn len(&self) -> usize {
        self.0.series.read().len()
    }

    /// Whether there is no series.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes every series, ordered by labels.
    pub(crate) fn write(&self, name: &str, out: &mut String) {
        let series = self.0.series.read();
        let pairs = |labels: &L| text::pairs(L::NAMES, &labels.values());
        let mut rows: Vec<(String, M)> =
            series.iter().map(|(l, metric)| (pairs(l), metric.clone())).collect();
        drop(series);
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(metric) = self.0.overflow.read().clone() {
            rows.push((text::pairs(L::NAMES, &vec!["_overflow".into(); L::NAMES.len()]), metric));
        }
        for (labels, metric) in rows {
            metric.write(name, &labels, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Counter, Family, labels};

    labels! {
        struct Code { code: u16 }
    }

    #[test]
    fn what_does_not_fit_is_counted_in_the_overflow() {
        let family: Family<Code, Counter> = Family::new(&[], 2);
        for code in 0..5 {
            family.with(&Code { code }).inc();
        }
        let mut out = String::new();
        family.write("x_total", &mut out);
        assert_eq!(out, "x_total{code=\"0\"} 1\nx_total{code=\"1\"} 1\nx_total{code=\"_overflow\"} 3\n");
        assert_eq!(family.len(), 2);
        family.retain(|labels| labels.code > 0);
        assert_eq!(family.len(), 1);
    }
}
