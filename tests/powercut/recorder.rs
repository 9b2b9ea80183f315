//! Runs a workload in a process of its own and records everything that it does to its folder.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tests_kit::Folder;

use crate::steps::{self, Step};

const WORKLOAD: &str = "POWERCUT_WORKLOAD";
const FOLDER: &str = "POWERCUT_FOLDER";
const LOG: &str = "POWERCUT_LOG";
const IGNORE: &str = "POWERCUT_IGNORE";

/// The test of this program that is the workload's process.
const CHILD: &str = "works_until_the_power_goes";
/// Folders that were there long before.
pub(crate) const FOLDERS: [&str; 1] = ["store"];

/// What the disk does when it is told to sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    Honest,
    /// Nothing: as `synchronous=OFF`, or a store that forgets to sync.
    IgnoresSyncs,
    /// Nothing for files: as a writer that renames before the content is there.
    IgnoresFiles,
    /// Nothing for folders: as a writer that forgets the folder after a rename.
    IgnoresFolders,
}

/// Writes the marks of a workload into the record.
#[derive(Debug)]
pub(crate) struct Marks(File);

impl Marks {
    /// Writes a mark with one write, so that it is one step of the record.
    pub(crate) fn say(&self, mark: &impl Serialize) -> Result<()> {
        Ok((&self.0).write_all(&serde_json::to_vec(mark)?)?)
    }
}

/// Reads marks.
pub(crate) fn said<T: DeserializeOwned>(marks: &[String]) -> Result<Vec<T>> {
    marks.iter().map(|mark| serde_json::from_str(mark).with_context(|| mark.clone())).collect()
}

/// The workload that this process is to do, with its folder and marks; `None`: it is the test itself.
pub(crate) fn asked() -> Result<Option<(String, PathBuf, Marks)>> {
    let Ok(name) = std::env::var(WORKLOAD) else { return Ok(None) };
    let path = |variable| std::env::var_os(variable).map(PathBuf::from).context(variable);
    let marks = OpenOptions::new().append(true).open(path(LOG)?)?;
    Ok(Some((name, path(FOLDER)?, Marks(marks))))
}

/// The steps of a workload, from an empty folder to its end.
pub(crate) fn record(workload: &str, disk: Disk) -> Result<Vec<Step>> {
    let folder = Folder::new("powercut")?;
    let whole = folder.path().canonicalize()?;
    let (work, log) = (whole.join("work"), whole.join("log"));
    for known in FOLDERS {
        std::fs::create_dir_all(work.join(known))?;
    }
    let mut child = Command::new(std::env::current_exe()?);
    child.args(["--exact", CHILD, "--nocapture"]);
    child.env("LD_PRELOAD", library()?).env(WORKLOAD, workload).env(FOLDER, &work).env(LOG, &log);
    match disk {
        Disk::Honest => {}
        Disk::IgnoresSyncs => drop(child.env(IGNORE, "syncs")),
        Disk::IgnoresFiles => drop(child.env(IGNORE, "files")),
        Disk::IgnoresFolders => drop(child.env(IGNORE, "folders")),
    }
    let output = child.output()?;
    let said = || [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).join("\n");
    ensure!(output.status.success(), "the workload {workload} failed: {}", said());
    let steps = steps::read(&std::fs::read(&log)?)?;
    let marks = steps.iter().filter(|step| matches!(step, Step::Mark(_))).count();
    ensure!(marks > 0 && steps.len() > marks, "nothing was recorded: {} steps, {marks} marks", steps.len());
    Ok(steps)
}

/// `record.c` as a shared library, made once a run.
fn library() -> Result<&'static Path> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = MADE.get_or_init(|| compile().map_err(|error| format!("{error:#}")));
    made.as_deref().map_err(|error| anyhow!("the recorder cannot be compiled: {error}"))
}

fn compile() -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("powercut/record.c");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let made = folder.join("powercut-record.so");
    // Two runs at once must not load half a library.
    let beside = folder.join(format!("powercut-record-{}.so", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"]);
    let output = compiler.arg(&beside).arg(source).args(["-ldl", "-lpthread"]).output().context("cc")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&beside, &made)?;
    Ok(made)
}
