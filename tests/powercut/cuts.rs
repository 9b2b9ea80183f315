//! Goes through a record, cuts the power at many places, and lets the workload look at what the disk then holds.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tests_kit::Folder;

use crate::dice::Dice;
use crate::recorder::FOLDERS;
use crate::steps::Step;
use crate::volume::{FolderState, Volume};
use crate::workloads::Workload;

/// Of the cuts and of what is torn.
const SEED: u64 = 20_261_123;
/// Longer than any state takes to be opened.
const LONG: Duration = Duration::from_secs(120);
/// So many broken promises say enough.
const ENOUGH: usize = 3;

/// Which places are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Places beside those before a sync; `None`: all.
    others: Option<usize>,
    /// Torn states of each place.
    torn: u64,
}

impl Effort {
    /// Every sync and a sample of the rest; with `ARO_SOAK` every step.
    pub(crate) fn of_this_run() -> Self {
        match std::env::var_os("ARO_SOAK") {
            Some(_) => Self { others: None, torn: 3 },
            None => Self { others: Some(40), torn: 3 },
        }
    }
}

/// How much of what was done before the cut is on the disk.
#[derive(Debug, Clone, Copy)]
enum Retention {
    /// What was synced, and nothing else.
    Synced,
    Everything,
    /// What was synced and some of the rest, by that seed.
    Some(u64),
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Synced => f.write_str("with what was synced only"),
            Self::Everything => f.write_str("with everything up to there"),
            Self::Some(seed) => write!(f, "with some of what was not synced (seed {seed})"),
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// States that were opened.
    pub(crate) opened: usize,
    /// Broken promises, with the place of the cut; a few.
    pub(crate) broken: Vec<String>,
}

/// Opens the states that a loss of power at the chosen places may leave.
pub(crate) async fn cut(workload: &dyn Workload, steps: &[Step], effort: Effort) -> Result<Outcome> {
    let (volume, states) = (Volume::with(&FOLDERS), Folder::new("powercut-states")?);
    let mut run = Run { workload, volume, states, marks: Vec::new(), seen: HashSet::new() };
    let mut outcome = Outcome::default();
    let chosen = chosen(steps.len(), effort);
    for at in 0..=steps.len() {
        // The strictest place: all is promised that may be before the disk is told once more.
        let is_edge = steps.get(at).is_none_or(Step::is_sync);
        let looks = is_edge || chosen.contains(&at);
        let torn = if looks { effort.torn } else { 0 };
        let kept = [Retention::Synced, Retention::Everything].into_iter().filter(|_| looks);
        for kept in kept.chain((0..torn).map(|n| Retention::Some(SEED + n))) {
            let Some(checked) = run.open(at, kept).await? else { continue };
            outcome.opened += 1;
            if let Err(error) = checked {
                let place = steps.get(at).map_or_else(|| "the end".to_owned(), shown);
                let words = format!(
                    "{}: power lost at step {at} of {}, before {place}",
                    workload.name(),
                    steps.len()
                );
                outcome.broken.push(format!("{words}, {kept}: {error:#}"));
            }
            if outcome.broken.len() >= ENOUGH {
                return Ok(outcome);
            }
        }
        let Some(step) = steps.get(at) else { break };
        run.volume.apply(step).with_context(|| format!("step {at}: {}", shown(step)))?;
        if let Step::Mark(mark) = step {
            run.marks.push(mark.clone());
        }
    }
    Ok(outcome)
}

fn chosen(steps: usize, effort: Effort) -> BTreeSet<usize> {
    let mut dice = Dice(SEED);
    match effort.others {
        Some(others) => (0..others).map(|_| dice.below(steps)).collect(),
        None => (0..steps).collect(),
    }
}

/// A step without what it wrote.
fn shown(step: &Step) -> String {
    match step {
        Step::Write { file, at, data } => format!("a write of {} bytes at {at} of file {file}", data.len()),
        other => format!("{other:?}"),
    }
}

struct Run<'a> {
    workload: &'a dyn Workload,
    volume: Volume,
    /// Where they are opened.
    states: Folder,
    marks: Vec<String>,
    /// States that were looked at under the same promises.
    seen: HashSet<u64>,
}

impl Run<'_> {
    /// Whether a state holds what was promised; `None`: it was looked at before.
    async fn open(&mut self, at: usize, kept: Retention) -> Result<Option<Result<()>>> {
        let picture = match kept {
            Retention::Synced => self.volume.strict(),
            Retention::Everything => self.volume.ordered(),
            Retention::Some(seed) => self.volume.torn(&mut Dice(seed ^ (at as u64) << 32)),
        };
        let mut hasher = DefaultHasher::new();
        (&picture, self.marks.len()).hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return Ok(None);
        }
        let folder = tempfile::tempdir_in(self.states.path())?;
        paint(&picture, folder.path())?;
        let checked = tokio::time::timeout(LONG, self.workload.check(folder.path(), &self.marks)).await;
        Ok(Some(checked.unwrap_or_else(|_| Err(anyhow::anyhow!("it does not open in {LONG:?}")))))
    }
}

/// Writes a state into an empty folder.
fn paint(picture: &FolderState, folder: &Path) -> Result<()> {
    for (path, content) in picture {
        let place = folder.join(path);
        if !place.starts_with(folder) {
            bail!("{path} is elsewhere");
        }
        match content {
            None => std::fs::DirBuilder::new().mode(0o700).create(&place)?,
            Some(content) => {
                let mut options = std::fs::OpenOptions::new();
                let mut file = options.write(true).create_new(true).mode(0o600).open(&place)?;
                std::io::Write::write_all(&mut file, content)?;
            }
        }
    }
    Ok(())
}
