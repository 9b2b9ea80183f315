//! `[prometheus]`.

use std::time::Duration;

use rp_settings::{count, duration, section, texts};

section! {
    /// Questions to the Prometheus of clusters.
    "prometheus" pub struct Prometheus {
        /// Where imported clusters have their Prometheus, when it is not found by itself:
        /// `NAME=pod:NAMESPACE/POD:PORT`, `NAME=service:NAMESPACE/SERVICE:PORT` or `NAME=URL` inside `imports.allow`.
        ways: Vec<String> = texts(""),
        /// Longest query of a page, at most 25s.
        page_time: Duration = duration("25s"),
        /// Longest query of a tool.
        tool_time: Duration = duration("2m"),
        /// Longest query of one cluster in a fleet query.
        fleet_time: Duration = duration("15s"),
        /// Most series of one answer.
        series: usize = count("50000", 1..=10_000_000),
        /// Most series of an answer that is drawn.
        drawn: usize = count("1000", 1..=100_000),
        /// Largest answer; it streams, so it is not held in memory.
        answer_bytes: u64 = count("268435456", 65_536..=1_099_511_627_776),
        /// Questions to one cluster at once.
        per_cluster: usize = count("8", 1..=1000),
        /// Clusters of a fleet query at once.
        parallel: usize = count("64", 1..=10_000),
        /// Memory for names that completion looks through.
        names_bytes: usize = count("268435456", 1_048_576..=17_179_869_184),
    }
}
