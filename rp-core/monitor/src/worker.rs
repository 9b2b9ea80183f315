//! The workers of the clusters whose buckets are ours (`contract/monitor.md` §5).

mod look;
mod pace;
pub(crate) mod plan;
pub(crate) mod run;

pub use look::{Look, LookOutcome, Round};
pub use run::WorkerMetrics;
