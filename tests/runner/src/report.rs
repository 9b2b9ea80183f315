//! What a run prints, and the table of where its time went.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use crate::cpu::Usage;
use crate::plan::module_of;
use crate::program::Outcome;

/// Programs with fewer seconds than this share one row of the table.
const ROW_SECONDS: f64 = 5.0;

/// Prints a line. Threads that print at once do not mix their lines.
pub(crate) fn line(text: &str) {
    let mut output = std::io::stdout().lock();
    // The output is closed: the exit status still reports the result.
    let _ = writeln!(output, "{text}");
    let _ = output.flush();
}

/// Prints what became of one job.
pub(crate) fn outcome(outcome: &Outcome) {
    let Outcome { job, passed, failed, wall } = outcome;
    let file = job.program.shown();
    line(&format!(
        "{:40} {:4} passed, {} failed, {:.1} s ({})",
        job.program.name,
        passed.len(),
        failed.len(),
        wall.as_secs_f64(),
        file.display()
    ));
    for test in failed {
        line(&format!("---- {}: {}", job.test_name(&test.name), test.why.trim_end()));
    }
}

/// Prints the end of the run; whether it is green.
pub(crate) fn summary(outcomes: &[Outcome], flaky: &[String]) -> bool {
    let passed: usize = outcomes.iter().map(|outcome| outcome.passed.len()).sum();
    let failed: usize = outcomes.iter().map(|outcome| outcome.failed.len()).sum();
    for outcome in outcomes {
        for test in &outcome.failed {
            line(&format!("red: {}", outcome.job.test_name(&test.name)));
        }
    }
    for name in flaky {
        line(&format!("flake: {name} failed, and passed when it ran again"));
    }
    line(&format!("{passed} passed, {failed} failed"));
    failed == 0 && passed > 0
}

/// Where the time of a run went.
#[derive(Debug, Default)]
pub(crate) struct Times {
    passes: Vec<(String, Usage, Vec<Row>)>,
}

/// A program, or a module of one that is alone in its pass.
#[derive(Debug)]
struct Row {
    name: String,
    tests: usize,
    seconds: f64,
    slowest: Option<(String, f64)>,
}

impl Times {
    /// Notes a pass and what ran in it.
    pub(crate) fn push(&mut self, name: &str, usage: &Usage, outcomes: &[Outcome]) {
        let alone = outcomes.len() == 1;
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        for outcome in outcomes {
            for test in &outcome.passed {
                let program = &outcome.job.program.name;
                let name = if alone { module_of(&test.name) } else { program };
                let row = rows.entry(name.to_owned()).or_insert_with(|| Row::new(name));
                row.tests += 1;
                row.seconds += test.seconds;
                if row.slowest.as_ref().is_none_or(|(_, slowest)| *slowest < test.seconds) {
                    row.slowest = Some((test.name.clone(), test.seconds));
                }
            }
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        self.passes.push((name.to_owned(), *usage, rows));
    }

    /// The table. Seconds of tests add up over those that run at once; the time of a pass does not.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from(
            "| Pass | Program or module | Tests | Seconds | Processors busy | Slowest test, seconds |\n|---|---|---|---|---|---|\n",
        );
        for (pass, usage, rows) in &self.passes {
            let tests: usize = rows.iter().map(|row| row.tests).sum();
            let (wall, busy) = (usage.wall.as_secs_f64(), usage.busy * 100.0);
            let _ = writeln!(text, "| **{pass}** | | {tests} | {wall:.0} | {busy:.0} % | |");
            let (long, short): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.seconds >= ROW_SECONDS);
            for row in long {
                let slowest = row.slowest.as_ref().map(|(name, seconds)| format!("`{name}` {seconds:.1}"));
                let slowest = slowest.unwrap_or_default();
                let _ =
                    writeln!(text, "| | {} | {} | {:.0} | | {slowest} |", row.name, row.tests, row.seconds);
            }
            if !short.is_empty() {
                let tests: usize = short.iter().map(|row| row.tests).sum();
                let seconds: f64 = short.iter().map(|row| row.seconds).sum();
                let _ = writeln!(text, "| | {} others | {tests} | {seconds:.0} | | |", short.len());
            }
        }
        text
    }
}

impl Row {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), tests: 0, seconds: 0.0, slowest: None }
    }
}
