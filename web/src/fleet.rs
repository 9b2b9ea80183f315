//! `/fleet`: one PromQL on many clusters. Works without scripts when `run=1` is there: the page then
//! waits for the end.

use crate::cluster::AccessDecision;
use crate::explore::{RANGES, ResultRow, ranges};
use crate::filters;
use crate::frame::Frame;
use crate::parts::Failure;

/// The fleet query.
#[derive(Clone, Debug, Default, askama::Template)]
#[template(path = "fleet.html")]
pub struct FleetPage {
    /// What is around it.
    pub frame: Frame,
    /// Which clusters: a search as on the list; empty: all.
    pub clusters: String,
    /// PromQL.
    pub query: String,
    /// At one instant, or over a range.
    pub instant: bool,
    /// Length of the range.
    pub range: String,
    /// `sum`, `min`, `max`, `avg`, `count`, `topk`, or empty.
    pub aggregate: String,
    /// Labels that the aggregation keeps, as typed.
    pub by: String,
    /// How many `topk` keeps.
    pub k: u64,
    /// Clusters there are.
    pub total: u64,
    /// Whether the person may ask.
    pub may_ask: AccessDecision,
    /// What came, when the server ran it.
    pub outcome: FleetOutcome,
    /// In place of everything.
    pub failure: Option<Failure>,
}

/// What came.
#[derive(Clone, Debug, Default)]
pub enum FleetOutcome {
    /// It was not run.
    #[default]
    None,
    /// Answers.
    Done(FleetTable),
    /// It cannot be read: line and column from 1, and the words.
    Wrong {
        /// From 1.
        line: u64,
        /// From 1.
        column: u64,
        /// What is wrong.
        words: String,
    },
    /// It could not be asked.
    Failed(Failure),
}

/// Answers of a fleet.
#[derive(Clone, Debug, Default)]
pub struct FleetTable {
    /// Largest first; the label `cluster` is `name`.
    pub rows: Vec<FleetRow>,
    /// Series there are.
    pub series: u64,
    /// Clusters asked.
    pub clusters: u64,
    /// Clusters that answered.
    pub answered: u64,
    /// Those that failed.
    pub faults: Vec<FleetFault>,
}

/// One series of one cluster, or of the aggregation.
#[derive(Clone, Debug, Default)]
pub struct FleetRow {
    /// The cluster, or empty.
    pub cluster: String,
    /// Path of its pages, or empty.
    pub path: String,
    /// Its labels and values.
    pub row: ResultRow,
}

/// A cluster that failed.
#[derive(Clone, Debug, Default)]
pub struct FleetFault {
    /// Name.
    pub cluster: String,
    /// Path of its pages.
    pub path: String,
    /// What happened.
    pub what: String,
}

/// Ways to bring a fleet together: value and words.
pub const AGGREGATES: [(&str, &str); 7] = [
    ("", "each cluster by itself"),
    ("sum", "sum"),
    ("min", "min"),
    ("max", "max"),
    ("avg", "avg"),
    ("count", "count"),
    ("topk", "topk"),
];

impl FleetPage {
    pub(crate) fn ranges(&self) -> Vec<(&str, &str)> {
        ranges(&RANGES, &self.range)
    }
}
