//! Two replicas under mixed load for hours, while their parts are killed, frozen, cut off and slowed down: at the end nothing
//! that was promised is lost, nothing grows, and the audit chain verifies (`docs/performance.md`).
//!
//! The exit code is 1 when a promise was broken, when something failed although nothing was broken on purpose, or when a
//! figure is beyond its bound. The seed of the faults is printed; `ARO_SOAK_SEED` repeats them.

mod environment;
mod excuses;
mod faults;
mod load;
mod part;
mod promises;
mod relay;
mod report;
mod samples;
mod settings;
mod site;
mod slope;
mod tunnel_target;
mod upgrades;
mod windows;
mod workloads;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use tests_kit::until;
use tokio::sync::watch;

use crate::environment::{Environment, GRANT_LIFE};
use crate::faults::{FaultSummary, PlannedFault};
use crate::load::{Load, Tally};
use crate::part::gauge;
use crate::report::{Report, progress};
use crate::samples::{Baseline, Samples};

const TITLE: &str = "Two replicas under mixed load and faults";
/// The longest that everything may take to recover from one fault.
const RECOVERY: f64 = 60.0;
/// For everybody to have left after the load.
const ALL_LEFT: Duration = Duration::from_secs(300);
/// A longer load would outlive its grants and its elevation.
const LONGEST: u64 = GRANT_LIFE - 1800;

#[derive(Debug, Parser)]
#[command(name = "endurance", version)]
struct Options {
    /// Length of the load, seconds
    #[arg(long, env = "ARO_SOAK_SECONDS", default_value_t = 3600)]
    seconds: u64,
    /// Aborted upgrades after the load; 0: none
    #[arg(long, env = "ARO_SOAK_UPGRADES", default_value_t = 1_000_000)]
    upgrades: u64,
    /// Seed of the faults
    #[arg(long, env = "ARO_SOAK_SEED", default_value_t = 20_261_123)]
    seed: u64,
    /// A document that has a place for the table; the new one takes it
    #[arg(long)]
    into: Option<PathBuf>,
}

impl Options {
    /// What measures the same again.
    fn repeat_command(&self) -> String {
        let Self { seconds, upgrades, seed, .. } = self;
        format!("tests/soak/hours --seconds {seconds} --upgrades {upgrades} --seed {seed}")
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    ensure!((20..=LONGEST).contains(&options.seconds), "--seconds: 20 to {LONGEST}");
    tests_kit::raise_open_files()?;
    if let Some(document) = &options.into {
        report::PLACE.check(document)?;
    }
    // One provider of TLS for every library here; a second call finds the first one's.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(Box::pin(run(&options)))
}

async fn run(options: &Options) -> Result<()> {
    let environment = Arc::new(Box::pin(Environment::start()).await?);
    let mut report = Report::new(report::PLACE, TITLE)?;
    Box::pin(loaded(&environment, options, &mut report)).await.with_context(|| environment.site.tails())?;
    if options.upgrades > 0 {
        let upgrades = Box::pin(upgrades::run(&environment, options.upgrades, &mut report));
        upgrades.await.with_context(|| environment.site.tails())?;
    }
    verified(&environment, &mut report).await?;
    report.finish(&options.repeat_command(), options.into.as_deref())?;
    for missed in report.missed() {
        progress(format_args!("missed: {missed}"));
    }
    if !report.missed().is_empty() {
        bail!("{} figures missed their aims", report.missed().len());
    }
    Ok(())
}

/// The load with its faults, and what is there after it.
async fn loaded(environment: &Arc<Environment>, options: &Options, report: &mut Report) -> Result<()> {
    let whole = Duration::from_secs(options.seconds);
    let workloads = Box::pin(workloads::all(environment)).await?;
    let planned =
        faults::schedule(options.seed, whole, environment.site.parts.len(), environment.site.to_store.len());
    announce(environment, options.seed, &planned);
    let before = Baseline::taken(environment).await?;
    let began = Instant::now();
    let load = Load::start(environment, &workloads);
    let (stop, stopped) = watch::channel(false);
    let sampling = {
        let environment = Arc::clone(environment);
        tokio::spawn(async move { Samples::gathered(&environment, began, stopped).await })
    };
    let broken = faults::run(&environment.site, &planned, &environment.windows, began).await?;
    tokio::time::sleep_until((began + whole).into()).await;
    stop.send_replace(true);
    let samples = sampling.await.context("the measurements panicked")??;
    let tallies = load.finish().await?;
    tell_load(report, &tallies, &broken);
    samples.judge(whole, report);
    until("everybody has left", ALL_LEFT, || async {
        let open = samples::open(environment).await?;
        ensure!(open.is_empty(), "{}", open.join(", "));
        Ok(())
    })
    .await?;
    before.judge(&Baseline::taken(environment).await?, report);
    let kept = environment.promises.check(environment).await?;
    report.stated("promises that were looked up", kept.checked);
    report.none("promises that were broken", kept.lost.len() as u64, kept.shown());
    Ok(())
}

/// Prints what will be broken when.
fn announce(environment: &Environment, seed: u64, planned: &[PlannedFault]) {
    progress(format_args!("seed {seed}: {} faults", planned.len()));
    for (number, part) in environment.site.parts.iter().enumerate() {
        progress(format_args!("process {number} is {}", part.name));
    }
    for each in planned {
        progress(format_args!("{:>6} s: {} for {:?}", each.at.as_secs(), each.fault, each.lasts));
    }
}

fn tell_load(report: &mut Report, tallies: &[(&'static str, Tally)], broken: &FaultSummary) {
    report.stated("faults", broken.faults);
    let recovery = broken.slowest_recovery.as_secs_f64();
    report.most("from the end of a fault until all is ready, the slowest", recovery, RECOVERY, "s");
    for (name, tally) in tallies {
        let Tally { attempts, successes, during_faults, .. } = tally;
        let figure = format!("{attempts}: {successes} succeeded, {during_faults} failed by faults");
        report.stated(format_args!("{name}: attempts"), figure);
        report.none(format_args!("{name}: failures that no fault causes"), tally.unexpected, &tally.texts);
        // A workload that never succeeded has shown nothing.
        report.none(format_args!("{name}: never succeeded"), u64::from(*successes == 0), &[]);
    }
}

/// Every process, and the audit chain from its first entry to the last.
async fn verified(environment: &Environment, report: &mut Report) -> Result<()> {
    for part in &environment.site.parts {
        part.lives()?;
        let metrics = part.admin("/metrics").await?;
        let panics = gauge(&metrics, "process_panics_total").context("no count of panics")?;
        report.most(format_args!("{}: panics since its last start", part.name), panics, 0.0, "");
    }
    let verdict = promises::audit_verdict(environment).await?;
    report.stated("audit entries", format!("{} of {} writers", verdict["entries"], verdict["writers"]));
    let findings: Vec<String> = match verdict["findings"].as_array() {
        Some(findings) => {
            findings.iter().map(|finding| finding.to_string().chars().take(300).collect()).collect()
        }
        None => Vec::new(),
    };
    let wrong = if verdict["intact"] == true { 0 } else { findings.len().max(1) as u64 };
    report.none("findings of aro audit verify", wrong, &findings[..findings.len().min(5)]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_command_are_sound() {
        <Options as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn the_report_names_the_command_that_repeats_the_run() {
        let options = Options::parse_from(["endurance", "--seed", "7", "--seconds", "60", "--upgrades", "0"]);
        let command = options.repeat_command();
        assert_eq!(command, "tests/soak/hours --seconds 60 --upgrades 0 --seed 7");
        let again = Options::parse_from(command.split(' '));
        assert_eq!((again.seconds, again.upgrades, again.seed), (60, 0, 7));
    }
}
