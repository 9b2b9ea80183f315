//! Aggregation over the fleet, as replies come.

use std::collections::{BTreeMap, HashMap};

use crate::table::{Series, Table};

/// How series are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Sum,
    Min,
    Max,
    Avg,
    Count,
    /// The series with the largest values, as they are.
    TopK(usize),
}

/// The aggregation over the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregate {
    pub op: Op,
    /// Labels that stay; of `TopK` all stay.
    pub by: Vec<String>,
}

impl Aggregate {
    /// By the name of an operator; `k` is for `topk`.
    pub fn parse(op: &str, by: Vec<String>, k: Option<usize>) -> Option<Self> {
        let op = match op {
            "sum" => Op::Sum,
            "min" => Op::Min,
            "max" => Op::Max,
            "avg" => Op::Avg,
            "count" => Op::Count,
            "topk" => Op::TopK(k.unwrap_or(10).clamp(1, 1000)),
            _ => return None,
        };
        Some(Self { op, by })
    }
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    sum: f64,
    count: f64,
    least: f64,
    most: f64,
}

/// Most groups of a merge; more are left out and reported.
const MOST_GROUPS: usize = 10_000;
/// Samples of all groups.
const MOST_CELLS: usize = 2_000_000;

/// A running aggregation. Its memory is that of its groups, not of the fleet's series.
#[derive(Debug)]
pub struct Merge {
    aggregate: Aggregate,
    matrix: bool,
    /// Group, then millisecond.
    groups: HashMap<BTreeMap<String, String>, BTreeMap<i64, Cell>>,
    cells: usize,
    /// Of `TopK`: the best so far, largest first.
    top: Vec<(f64, Series)>,
    /// Something did not fit.
    pub left_out: bool,
}

impl Merge {
    /// Nothing merged yet.
    pub fn new(aggregate: Aggregate) -> Self {
        Self { aggregate, matrix: false, groups: HashMap::new(), cells: 0, top: Vec::new(), left_out: false }
    }

    /// Takes a reply in.
    pub fn add(&mut self, table: &Table) {
        self.matrix |= table.kind == "matrix";
        for series in &table.series {
            match self.aggregate.op {
                Op::TopK(k) => self.rank(series, k),
                _ => self.fold(series),
            }
        }
    }

    /// Series of a range are ranked by their largest value.
    fn rank(&mut self, series: &Series, k: usize) {
        let largest = series.samples.iter().map(|(_, value)| *value).filter(|value| !value.is_nan());
        let Some(largest) = largest.reduce(f64::max) else { return };
        let at = self.top.partition_point(|(value, _)| *value >= largest);
        if at < k {
            self.top.insert(at, (largest, series.clone()));
            self.top.truncate(k);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970 fit")]
    fn fold(&mut self, series: &Series) {
        let kept = series.metric.iter().filter(|(label, _)| self.aggregate.by.contains(label));
        let group: BTreeMap<String, String> = kept.map(|(k, v)| (k.clone(), v.clone())).collect();
        if self.groups.len() >= MOST_GROUPS && !self.groups.contains_key(&group) {
            self.left_out = true;
            return;
        }
        let cells = self.groups.entry(group).or_default();
        for (at, value) in &series.samples {
            let millis = (at * 1000.0).round() as i64;
            if let Some(cell) = cells.get_mut(&millis) {
                cell.sum += value;
                cell.count += 1.0;
                // As Prometheus does: a number wins over NaN.
                if value < &cell.least || cell.least.is_nan() {
                    cell.least = *value;
                }
                if value > &cell.most || cell.most.is_nan() {
                    cell.most = *value;
                }
            } else if self.cells < MOST_CELLS {
                self.cells += 1;
                cells.insert(millis, Cell { sum: *value, count: 1.0, least: *value, most: *value });
            } else {
                self.left_out = true;
            }
        }
    }

    /// `vector` or `matrix`.
    pub const fn kind(&self) -> &'static str {
        if self.matrix { "matrix" } else { "vector" }
    }

    /// What has come together so far, in order of the labels; of `TopK` largest first.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit")]
    pub fn result(&self) -> Vec<Series> {
        if matches!(self.aggregate.op, Op::TopK(_)) {
            return self.top.iter().map(|(_, series)| series.clone()).collect();
        }
        let value = |cell: &Cell| match self.aggregate.op {
            Op::Sum => cell.sum,
            Op::Min => cell.least,
            Op::Max => cell.most,
            Op::Avg => cell.sum / cell.count,
            Op::Count | Op::TopK(_) => cell.count,
        };
        let mut rows: Vec<Series> = self
            .groups
            .iter()
            .map(|(metric, cells)| Series {
                metric: metric.clone(),
                samples: cells.iter().map(|(at, cell)| (*at as f64 / 1000.0, value(cell))).collect(),
            })
            .collect();
        rows.sort_by(|a, b| a.metric.cmp(&b.metric));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(cluster: &str, rows: &[(&str, f64)]) -> Table {
        let series = rows.iter().map(|(code, value)| Series {
            metric: [("cluster", cluster), ("code", *code)].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            samples: vec![(100.0, *value)],
        });
        Table { kind: "vector".to_owned(), series: series.collect(), ..Table::default() }
    }

    fn merged(op: &str, by: &[&str]) -> Vec<(String, f64)> {
        let by = by.iter().map(|label| (*label).to_owned()).collect();
        let mut merge = Merge::new(Aggregate::parse(op, by, Some(2)).unwrap());
        merge.add(&table("a", &[("200", 1.0), ("500", 5.0)]));
        merge.add(&table("b", &[("200", 3.0), ("404", f64::NAN)]));
        merge.result().into_iter().map(|row| (row.notation(), row.samples[0].1)).collect()
    }

    #[test]
    fn aggregates_over_clusters() {
        assert_eq!(merged("sum", &["cluster"])[0], ("{cluster=\"a\"}".to_owned(), 6.0));
        assert_eq!(merged("max", &[]), [("{}".to_owned(), 5.0)]);
        assert_eq!(merged("min", &[]), [("{}".to_owned(), 1.0)]);
        assert_eq!(merged("count", &["code"]).len(), 3);
        assert_eq!(merged("avg", &["code"])[0].1, 2.0);
        let top = merged("topk", &[]);
        assert_eq!((top.len(), top[0].1, top[1].1), (2, 5.0, 3.0));
        assert!(Aggregate::parse("stddev", Vec::new(), None).is_none());
    }
}
