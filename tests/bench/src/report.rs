//! The parts of the benchmark and their tables, as they stand in `docs/performance.md`; what was measured in detail goes to
//! standard output.

use std::fmt::Display;
use std::path::Path;

use anyhow::{Result, ensure};
use tests_kit::report::{ReportPlace, ReportTable};

pub(crate) use tests_kit::report::{line, progress, verdict};

/// The parts, as their commands and their places in the document are named.
const PARTS: [&str; 19] = [
    "start",
    "requests",
    "stream",
    "watches",
    "revoke",
    "floods",
    "grants",
    "audit",
    "list",
    "viewers",
    "page",
    "prom",
    "ssh",
    "provider",
    "dispatch",
    "creates",
    "monitor",
    "exposition",
    "rebalance",
];

/// The table of a part.
#[derive(Debug)]
pub(crate) struct Part(ReportTable);

impl Part {
    /// Begins a part; `name` is its command.
    pub(crate) fn new(name: &'static str, title: impl Into<String>) -> Result<Self> {
        ensure!(PARTS.contains(&name), "{name} is no part");
        Ok(Self(ReportTable::new(place(name), title)?))
    }

    /// A figure that is to be small.
    pub(crate) fn most(&mut self, what: impl Display, figure: f64, aim: f64, unit: &str) {
        self.0.most(what, figure, aim, unit);
    }

    /// A figure that is to be large.
    pub(crate) fn least(&mut self, what: impl Display, figure: f64, aim: f64, unit: &str) {
        self.0.least(what, figure, aim, unit);
    }

    /// A figure without an aim.
    pub(crate) fn stated(&mut self, what: impl Display, figure: impl Display) {
        self.0.stated(what, figure);
    }

    /// Prints the table, and puts it in its place in a document.
    pub(crate) fn finish(&self, into: Option<&Path>) -> Result<()> {
        self.0.finish(&command(std::env::args().skip(1)), into)
    }
}

const fn place(name: &'static str) -> ReportPlace {
    ReportPlace { program: "bench", name }
}

/// Refuses a document that lacks a place before hours are spent on what belongs there.
pub(crate) fn check(document: &Path) -> Result<()> {
    PARTS.into_iter().try_for_each(|name| place(name).check(document))
}

/// As it was given, but for where the table goes.
fn command(mut given: impl Iterator<Item = String>) -> String {
    let mut words = vec!["bench".to_owned()];
    while let Some(word) = given.next() {
        if word == "--into" {
            given.next();
        } else if !word.starts_with("--into=") {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Head of a table of details.
pub(crate) fn table(title: &str, columns: &[&str]) {
    line(format_args!("\n### {title}\n\n| {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len())));
}

/// A row of it.
pub(crate) fn row(cells: &[String]) {
    line(format_args!("| {} |", cells.join(" | ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_a_name_of_the_list() {
        assert!(Part::new("start", "Start").is_ok());
        assert!(Part::new("stop", "Stop").is_err());
    }

    #[test]
    fn the_document_has_a_place_for_every_part_and_no_other() {
        let document = include_str!("../../../docs/performance.md");
        for name in PARTS {
            place(name).replaced(document, "").unwrap();
        }
        assert_eq!(document.matches("<!-- bench: ").count(), PARTS.len());
    }

    #[test]
    fn the_command_is_told_without_the_document() {
        let given = ["--into", "docs/performance.md", "ssh", "--keys", "9", "--into=x"].map(str::to_owned);
        assert_eq!(command(given.into_iter()), "bench ssh --keys 9");
    }
}
