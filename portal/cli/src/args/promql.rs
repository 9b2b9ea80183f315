//! `aro promql`.

use clap::{Args, ValueEnum};

use super::{Connection, seconds};

/// One question to many clusters.
#[derive(Debug, Args)]
pub struct PromqlArgs {
    /// The query
    pub query: String,
    /// Which clusters: words as in the list's search, and state:, version:, view:, source:, subscription:, group:;
    /// all for every cluster
    #[arg(long, value_name = "EXPR")]
    pub clusters: String,
    /// Put the answers of all clusters together
    #[arg(long, value_enum)]
    pub aggregate: Option<Operator>,
    /// Labels that stay when answers are put together; several with commas
    #[arg(long, value_delimiter = ',', requires = "aggregate", value_name = "LABEL")]
    pub by: Vec<String>,
    /// How many series topk keeps
    #[arg(long, default_value_t = 10)]
    pub k: u32,
    /// The time of the query: Unix seconds; without it now
    #[arg(long, conflicts_with = "range", value_name = "SECONDS")]
    pub time: Option<f64>,
    /// Over the time until now, such as 1h
    #[arg(long, value_parser = seconds, value_name = "DURATION")]
    pub range: Option<u64>,
    /// Between two points of a range, such as 1m; without it, it is fitted
    #[arg(long, value_parser = seconds, requires = "range", value_name = "DURATION")]
    pub step: Option<u64>,
    /// How long each cluster may take, such as 10s
    #[arg(long, value_parser = seconds, value_name = "DURATION")]
    pub timeout: Option<u64>,
    #[command(flatten)]
    pub connection: Connection,
}

/// How answers are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Operator {
    Sum,
    Min,
    Max,
    Avg,
    Count,
    Topk,
}

impl Operator {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Avg => "avg",
            Self::Count => "count",
            Self::Topk => "topk",
        }
    }
}
