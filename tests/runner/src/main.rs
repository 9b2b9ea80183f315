//! Runs every test of the workspace: `tests/run`.
//!
//! Cargo builds the test programs once; the runner starts them itself, several at a time, in the passes of
//! `tests/passes.toml`. It reads the events that each program reports for each test (libtest's JSON form) and
//! compares them with the list of tests that the program has. A test that gave no result, because its program
//! crashed or hung, is a failed test. A failed test runs once more only if the table of flakes names it.

mod build;
mod cpu;
mod doctests;
mod events;
mod flakes;
mod plan;
mod pool;
mod program;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::program::Outcome;

/// Runs every test of a workspace and ends with the line `N passed, N failed`.
#[derive(Debug, Parser)]
struct Arguments {
    /// The root of the workspace.
    #[arg(long, default_value = ".")]
    workspace: PathBuf,
    /// The passes, relative to the workspace.
    #[arg(long, default_value = "tests/passes.toml")]
    passes: PathBuf,
    /// The document with the table of known flakes, relative to the workspace.
    #[arg(long, default_value = "tests/README.md")]
    flakes: PathBuf,
    /// Write a Markdown table of where the time went into this file.
    #[arg(long)]
    times: Option<PathBuf>,
    /// Run only targets whose name contains this text; for trying the runner, not for a whole run.
    #[arg(long)]
    only: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            report::line(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Gives whether all tests passed.
fn run(arguments: &Arguments) -> Result<bool> {
    let plan = plan::Plan::read(&arguments.workspace.join(&arguments.passes))?;
    let allowed = flakes::read(&arguments.workspace.join(&arguments.flakes))?;
    let mut times = report::Times::default();
    let (programs, built) =
        cpu::measured(|| build::test_programs(&arguments.workspace, &plan.build, &plan.beside_build));
    times.push("build", &built, &[]);
    let mut programs = programs?;
    if let Some(only) = &arguments.only {
        programs.retain(|program| program.name.contains(only.as_str()));
    }
    anyhow::ensure!(!programs.is_empty(), "there is no test program");

    let mut outcomes: Vec<Outcome> = Vec::new();
    for pass in plan.split(&programs)? {
        if pass.jobs.is_empty() {
            continue;
        }
        report::line(&format!("== {}: {} programs", pass.name, pass.jobs.len()));
        let (done, usage) = cpu::measured(|| pool::run(&pass.jobs, pass.programs));
        times.push(&pass.name, &usage, &done);
        outcomes.extend(done);
    }
    if arguments.only.is_none() && !plan.examples.is_empty() {
        let (done, usage) = cpu::measured(|| doctests::run(&arguments.workspace, &plan.examples));
        report::outcome(&done);
        times.push("examples", &usage, std::slice::from_ref(&done));
        outcomes.push(done);
    }
    let flaky = flakes::again(&mut outcomes, &allowed);
    if let Some(file) = &arguments.times {
        std::fs::write(file, times.markdown())?;
    }
    Ok(report::summary(&outcomes, &flaky))
}
