//! `{RES}/explore`: PromQL on one cluster. The page is a form that works without scripts; the script of
//! the page makes an editor, graphs and several queries of it.
//!
//! `GET` with `query`, `kind` (`range`, `instant`), `range` (`1h`), `end` and `source`; a second query is
//! `query2` with `kind2`, up to six. The server runs them only when `run=1` is there.

use crate::cluster::{AccessDecision, Cluster};
use crate::filters;
use crate::frame::Frame;
use crate::parts::Failure;
use crate::query::Query;
use crate::tabs::Tab;

/// Queries of one page, at most.
pub const MOST_QUERIES: usize = 6;

/// The explorer.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "explore.html")]
pub struct ExplorePage {
    /// What is around it.
    pub frame: Frame,
    /// The cluster.
    pub cluster: Cluster,
    /// Active grants for it, beside the tab.
    pub active: u64,
    /// Length of the range, e.g. `1h`.
    pub range: String,
    /// Its end as it was typed; empty: now.
    pub end: String,
    /// Which Prometheus; empty: chosen by itself.
    pub source: String,
    /// The ones there are: id and name.
    pub sources: Vec<(String, String)>,
    /// The queries, at least one.
    pub queries: Vec<ExploreQuery>,
    /// Whether the person may ask.
    pub may_ask: AccessDecision,
    /// In place of everything: unknown cluster, no rights.
    pub failure: Option<Failure>,
}

/// One query and what came of it.
#[derive(Clone, Debug, Default)]
pub struct ExploreQuery {
    /// PromQL.
    pub text: String,
    /// Over a range, or at one instant.
    pub instant: bool,
    /// What came.
    pub result: QueryResult,
}

/// What came of a query that the server ran.
#[derive(Clone, Debug, Default)]
pub enum QueryResult {
    /// It was not run.
    #[default]
    None,
    /// Series.
    Rows(ResultTable),
    /// It cannot be read: line and column from 1, and the words.
    Wrong {
        /// From 1.
        line: u64,
        /// From 1.
        column: u64,
        /// What Prometheus says.
        words: String,
    },
    /// No answer.
    Failed(Failure),
}

/// Series as a table.
#[derive(Clone, Debug, Default)]
pub struct ResultTable {
    /// The first of them, largest first.
    pub rows: Vec<ResultRow>,
    /// How many there are.
    pub series: u64,
    /// Seconds between two samples; 0 for an instant.
    pub step: u64,
    /// Which Prometheus answered.
    pub source: String,
    /// What came with the answer.
    pub warnings: Vec<String>,
}

/// One series.
#[derive(Clone, Debug, Default)]
pub struct ResultRow {
    /// Name of the metric, or empty.
    pub metric: String,
    /// Other labels, by name.
    pub labels: Vec<(String, String)>,
    /// The value of an instant, or the last one.
    pub last: String,
    /// Least, mean and greatest of a range.
    pub spread: Option<[String; 3]>,
    /// Path of its line in a box of 100 by 24, gaps left out.
    pub line: String,
}

/// Ranges to choose from: value and words.
pub const RANGES: [(&str, &str); 8] = [
    ("15m", "15 m"),
    ("1h", "1 h"),
    ("3h", "3 h"),
    ("6h", "6 h"),
    ("1d", "1 d"),
    ("2d", "2 d"),
    ("1w", "1 w"),
    ("4w", "4 w"),
];

impl ExplorePage {
    pub(crate) fn active(&self) -> u64 {
        self.active
    }

    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub(crate) fn tab(&self) -> Tab {
        Tab::Explore
    }

    /// Ranges with the one in force, which may be none of them.
    pub(crate) fn ranges(&self) -> Vec<(&str, &str)> {
        ranges(&RANGES, &self.range)
    }

    /// `A`, `B`, …
    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub(crate) fn letter(&self, at: &usize) -> char {
        ['A', 'B', 'C', 'D', 'E', 'F'].get(*at).copied().unwrap_or('F')
    }

    /// Name of a form field: the first query's has no number.
    #[expect(clippy::unused_self, reason = "templates call methods")]
    pub(crate) fn field(&self, name: &str, at: &usize) -> String {
        if *at == 0 { name.to_owned() } else { format!("{name}{}", at + 1) }
    }
}

pub(crate) fn ranges<'a>(all: &[(&'a str, &'a str)], chosen: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut out = all.to_vec();
    if !chosen.is_empty() && out.iter().all(|(value, _)| *value != chosen) {
        out.push((chosen, chosen));
    }
    out
}

/// The address of the explorer with one query.
#[must_use]
pub fn explore_href(path: &str, query: &str, instant: bool, range: &str) -> String {
    let mut url = Query::new(&format!("{path}/explore"));
    url.add("query", query);
    url.add("kind", if instant { "instant" } else { "" });
    url.add("range", range);
    url.done()
}

/// The path of a line through values in a box of 100 by 24; `None` is a gap.
#[must_use]
pub fn sparkline(values: &[Option<f64>]) -> String {
    use std::fmt::Write as _;
    let known = || values.iter().flatten().copied().filter(|v| v.is_finite());
    let low = known().fold(f64::INFINITY, f64::min);
    let high = known().fold(f64::NEG_INFINITY, f64::max);
    if !low.is_finite() || values.len() < 2 {
        return String::new();
    }
    let size = (high - low).max(f64::MIN_POSITIVE);
    let last = u32::try_from(values.len() - 1).map_or(1.0, f64::from);
    let mut out = String::new();
    let mut drawn = false;
    for (at, value) in (0_u32..).zip(values) {
        let Some(v) = value.filter(|v| v.is_finite()) else {
            drawn = false;
            continue;
        };
        let (x, y) = (f64::from(at) / last * 100.0, 22.0 - (v - low) / size * 20.0);
        let _ = write!(out, "{}{x:.1} {y:.1}", if drawn { 'L' } else { 'M' });
        drawn = true;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_lifts_the_pen() {
        assert_eq!(sparkline(&[Some(0.0), Some(1.0), None, Some(1.0)]), "M0.0 22.0L33.3 2.0M100.0 2.0");
        assert_eq!(sparkline(&[None, None]), "");
        assert_eq!(sparkline(&[Some(1.0)]), "");
    }

    #[test]
    fn a_range_that_is_no_preset_is_offered_too() {
        assert_eq!(ranges(&RANGES, "37m").last(), Some(&("37m", "37m")));
        assert_eq!(ranges(&RANGES, "1h").len(), RANGES.len());
        assert_eq!(
            explore_href("/r", "up == 0", true, "1h"),
            "/r/explore?query=up%20%3D%3D%200&kind=instant&range=1h"
        );
    }
}
