//! Runs the examples of documentation comments. Rustdoc builds them and cargo runs them, so there is no program to start
//! and no list to compare with: a package that is named here must have some.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::build::TestProgram;
use crate::program::{Failed, Job, Outcome, Passed};

/// Runs the examples of all packages: a choice of them would have features of its own, and build again what they depend
/// on. `packages`: those that must have some.
pub(crate) fn run(workspace: &Path, packages: &[String]) -> Outcome {
    let begin = Instant::now();
    let (text, ended_well) = output(workspace).unwrap_or_else(|error| (error.to_string(), false));
    let program = TestProgram {
        name: format!("{} (examples)", packages.join(", ")),
        path: "cargo".into(),
        folder: workspace.to_owned(),
        size: 0,
    };
    let job =
        Job { program, tests: BTreeSet::new(), threads: None, env: BTreeMap::new(), limit: Duration::MAX };
    let mut outcome = Outcome { job, passed: passed(&text), failed: Vec::new(), wall: begin.elapsed() };
    let without: Vec<&String> = packages.iter().filter(|package| !has_examples(&text, package)).collect();
    if !ended_well || !without.is_empty() {
        let why = format!("without an example that passed: {without:?}\n{text}");
        outcome.failed.push(Failed { name: "(examples)".to_owned(), why });
    }
    outcome
}

/// What cargo prints, all of it in its order, and whether it succeeds.
fn output(workspace: &Path) -> std::io::Result<(String, bool)> {
    let (mut reader, writer) = std::io::pipe()?;
    let mut command = Command::new("cargo");
    command
        .args(["test", "--workspace", "--doc", "--no-fail-fast"])
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut cargo = command.spawn()?;
    // Its ends of the pipe are closed, so that the reader comes to an end.
    drop(command);
    let mut text = Vec::new();
    reader.read_to_end(&mut text)?;
    Ok((String::from_utf8_lossy(&text).into_owned(), cargo.wait()?.success()))
}

/// Whether an example of the package passed.
fn has_examples(text: &str, package: &str) -> bool {
    let head = format!("Doc-tests {}\n", package.replace('-', "_"));
    let own = text.split_once(&head).map_or("", |(_, own)| own.split("Doc-tests ").next().unwrap_or(own));
    !passed(own).is_empty()
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
    fn each_package_has_examples_of_its_own() {
        let text = "   Doc-tests rp_a\n\nrunning 1 test\ntest a.rs - (line 1) ... ok\n   Doc-tests rp_b\n\nrunning 0 tests\n";
        assert!(has_examples(text, "rp-a") && !has_examples(text, "rp-b") && !has_examples(text, "rp-c"));
    }
}
