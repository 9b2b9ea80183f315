//! Runs the examples of documentation comments. Rustdoc builds them and cargo runs them, so there is no program to start
//! and no list to compare with: a package that is named here must have some.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::build::TestProgram;
use crate::program::{Failed, Job, Outcome, Passed};

/// Runs the examples of packages, built by one invocation of cargo: two would build what both depend on twice, because
/// each has features of its own.
pub(crate) fn run(workspace: &Path, packages: &[String]) -> Outcome {
    let begin = Instant::now();
    let named = packages.iter().flat_map(|package| ["--package", package]);
    let output = Command::new("cargo")
        .args(["test", "--doc", "--no-fail-fast"])
        .args(named)
        .current_dir(workspace)
        .stdin(Stdio::null())
        .output();
    let (text, ended_well) = match output {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            (String::from_utf8_lossy(&text).into_owned(), output.status.success())
        }
        Err(error) => (error.to_string(), false),
    };
    let program = TestProgram {
        name: format!("{} (examples)", packages.join(", ")),
        path: "cargo".into(),
        folder: workspace.to_owned(),
        size: 0,
    };
    let job =
        Job { program, tests: BTreeSet::new(), threads: None, env: BTreeMap::new(), limit: Duration::MAX };
    let mut outcome = Outcome { job, passed: passed(&text), failed: Vec::new(), wall: begin.elapsed() };
    if !ended_well || with_examples(&text) != packages.len() {
        outcome.failed.push(Failed { name: "(examples)".to_owned(), why: text });
    }
    outcome
}

/// How many packages had examples.
fn with_examples(text: &str) -> usize {
    let counts = text.lines().filter_map(|line| line.strip_prefix("running ")?.split(' ').next());
    counts.filter(|count| *count != "0").count()
}

/// The lines `test NAME ... ok`.
fn passed(text: &str) -> Vec<Passed> {
    let names = text.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... ok"));
    names.map(|name| Passed { name: name.to_owned(), seconds: 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_said_to_have_passed_counts() {
        let text = "test src/a.rs - a (line 6) - compile fail ... ok\ntest src/b.rs - b (line 1) ... FAILED\ntest result: ok. 1\n";
        let names: Vec<String> = passed(text).into_iter().map(|test| test.name).collect();
        assert_eq!(names, ["src/a.rs - a (line 6) - compile fail"]);
    }

    #[test]
    fn a_package_without_examples_is_not_counted() {
        assert_eq!(with_examples("running 2 tests\ntest a ... ok\n\nrunning 0 tests\n\nrunning 1 test\n"), 2);
    }
}
