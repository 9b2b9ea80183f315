//! Tests that are known to fail now and then: the table of `tests/README.md`.
//!
//! At most one failed test of a run may run once more, alone, and only if the table names its program and its
//! path with the cause. Everything else that fails is red at once.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::program::{self, Outcome};
use crate::report;

/// The heading above the table.
const HEADING: &str = "## Known flakes";

/// How many flakes a run may have.
const MOST: usize = 1;

/// The names `PROGRAM TEST` of the table's first column.
///
/// # Errors
/// The document cannot be read or has no such heading.
pub(crate) fn read(file: &Path) -> Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    parse(&text).with_context(|| format!("{} has no heading {HEADING:?}", file.display()))
}

/// Rows look like `` | `PROGRAM TEST` | cause | ``.
fn parse(text: &str) -> Option<BTreeSet<String>> {
    let (_, below) = text.split_once(HEADING)?;
    let section = below.split("\n## ").next()?;
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    Some(rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect())
}

/// Runs known flakes among the failed tests once more; the names of those that pass now. They are taken out of
/// the failed ones.
pub(crate) fn again(outcomes: &mut [Outcome], allowed: &BTreeSet<String>) -> Vec<String> {
    let failed: usize = outcomes.iter().map(|outcome| outcome.failed.len()).sum();
    if failed == 0 || failed > MOST {
        return Vec::new();
    }
    let mut flaky = Vec::new();
    for outcome in outcomes.iter_mut() {
        let Some(test) = outcome.failed.first().map(|test| test.name.clone()) else { continue };
        let name = outcome.job.test_name(&test);
        if !allowed.contains(&name) {
            continue;
        }
        report::line(&format!("once more: {name}"));
        let mut second = program::run(&outcome.job.alone(&test));
        if second.failed.is_empty() {
            outcome.failed.clear();
            outcome.passed.append(&mut second.passed);
            flaky.push(name);
        }
    }
    flaky
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_below_the_heading_counts() {
        let text = "| `x y` | z |\n## Known flakes\n\n| Test | Cause |\n|---|---|\n| `a/b c::d` | why |\n\n## Next\n| `e f` | g |\n";
        assert_eq!(parse(text).unwrap(), BTreeSet::from(["a/b c::d".to_owned()]));
        assert!(parse("nothing").is_none());
    }
}
