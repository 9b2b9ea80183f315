//! Starts one test program and reads what became of each of its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::build::TestProgram;
use crate::events::{self, Kind};
use crate::report;

/// A start of a program for some of its tests.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) program: TestProgram,
    pub(crate) tests: BTreeSet<String>,
    /// How many tests run at once; none: as many as libtest takes.
    pub(crate) threads: Option<usize>,
    /// More of its environment.
    pub(crate) env: BTreeMap<String, String>,
    /// After this long the program and its children are killed.
    pub(crate) limit: Duration,
}

/// A test that passed.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    pub(crate) name: String,
    pub(crate) seconds: f64,
}

/// A test that did not pass, and why.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// What became of a job.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) job: Job,
    pub(crate) passed: Vec<Passed>,
    pub(crate) failed: Vec<Failed>,
    pub(crate) wall: Duration,
}

/// The end of what a program printed that is kept for the report, in bytes.
const KEPT: usize = 16 * 1024;

/// Asks a program for its tests.
///
/// # Errors
/// It cannot be started or fails; or it has skipped tests, which are not allowed.
pub(crate) fn list(program: &TestProgram) -> Result<BTreeSet<String>> {
    let names = |extra: &[&str]| -> Result<BTreeSet<String>> {
        let output = Command::new(&program.path)
            .args(["--list", "--format", "terse"])
            .args(extra)
            .current_dir(&program.folder)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("{} cannot be started", program.name))?;
        anyhow::ensure!(output.status.success(), "{} --list: {}", program.name, output.status);
        let text = String::from_utf8(output.stdout)?;
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    };
    let ignored = names(&["--ignored"])?;
    anyhow::ensure!(ignored.is_empty(), "{} skips tests: {ignored:?}", program.name);
    names(&[])
}

/// Runs a job to its end or to its limit. Never fails: what went wrong is in the outcome.
pub(crate) fn run(job: &Job) -> Outcome {
    let begin = Instant::now();
    let mut outcome =
        Outcome { job: job.clone(), passed: Vec::new(), failed: Vec::new(), wall: Duration::ZERO };
    let (end, tail) = match start(job) {
        Ok(child) => follow(job, child, begin, &mut outcome),
        Err(error) => (format!("it cannot be started: {error}"), String::new()),
    };
    // Whatever gave no result has failed, whatever the reason.
    let told: BTreeSet<&str> = outcome.passed.iter().map(|test| test.name.as_str()).collect();
    let told: BTreeSet<&str> =
        told.into_iter().chain(outcome.failed.iter().map(|test| test.name.as_str())).collect();
    let silent: Vec<String> =
        job.tests.iter().filter(|name| !told.contains(name.as_str())).cloned().collect();
    let why = format!("no result; the program's end: {end}\n{tail}");
    outcome.failed.extend(silent.into_iter().map(|name| Failed { name, why: why.clone() }));
    let clean = end == "exit status: 0";
    if !clean && outcome.failed.is_empty() {
        let why = format!("all tests passed, but the program's end: {end}\n{tail}");
        outcome.failed.push(Failed { name: "(program)".to_owned(), why });
    }
    outcome.wall = begin.elapsed();
    outcome
}

fn start(job: &Job) -> std::io::Result<Child> {
    let mut command = Command::new(&job.program.path);
    command
        .args(["-Zunstable-options", "--format=json", "--report-time", "--exact"])
        .args(job.threads.map(|threads| format!("--test-threads={threads}")))
        .args(&job.tests)
        // libtest looks at this when it runs: its JSON form and the times of tests are behind it.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_MANIFEST_DIR", &job.program.folder)
        .envs(&job.env)
        .current_dir(&job.program.folder)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn()
}

/// For what a program printed at its end, on processors that others use too.
const LAST_LINES: Duration = Duration::from_secs(5);

/// A line of the program's standard output, or the end of one of its two outputs.
enum Printed {
    Line(String),
    Errors(Vec<u8>),
}

/// Reads events until the program has ended. Gives how it ended and the end of what it printed.
fn follow(job: &Job, mut child: Child, begin: Instant, outcome: &mut Outcome) -> (String, String) {
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                line.clear();
                if sender.send(Printed::Line(text)).is_err() {
                    return;
                }
            }
        });
    }
    if let Some(errors) = child.stderr.take() {
        std::thread::spawn(move || {
            let _ = sender.send(Printed::Errors(last_bytes(errors)));
        });
    }
    let (mut tail, mut errors) = (String::new(), Vec::new());
    let mut killed = false;
    let mut ended = None;
    loop {
        // A child of a test may hold the outputs open: the program's own end counts, some time after it.
        match receiver.recv_timeout(Duration::from_millis(200)) {
            Ok(Printed::Line(line)) => {
                let before = outcome.failed.len();
                take(&line, outcome, &mut tail);
                for test in outcome.failed.get(before..).unwrap_or_default() {
                    report::line(&format!("failed: {}", job.test_name(&test.name)));
                }
            }
            Ok(Printed::Errors(bytes)) => errors = bytes,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if child.try_wait().is_ok_and(|status| status.is_some())
                    && ended.get_or_insert_with(Instant::now).elapsed() > LAST_LINES
                {
                    break;
                }
            }
        }
        if !killed && begin.elapsed() > job.limit {
            killed = true;
            kill_group(child.id());
        }
    }
    let end = match child.wait() {
        Ok(_) if killed => format!("killed after {} s", job.limit.as_secs()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    // Whatever a test left behind would disturb the next program.
    kill_group(child.id());
    tail.push_str(&String::from_utf8_lossy(&errors));
    (end, tail)
}

fn take(line: &str, outcome: &mut Outcome, tail: &mut String) {
    let Some(event) = events::parse(line) else {
        tail.push_str(line);
        tail.push('\n');
        if tail.len() > KEPT {
            let from = tail.ceil_char_boundary(tail.len() - KEPT / 2);
            tail.drain(..from);
        }
        return;
    };
    if event.kind != Kind::Test {
        return;
    }
    match event.event.as_str() {
        "ok" => outcome.passed.push(Passed { name: event.name, seconds: event.exec_time }),
        // Said beside the start, and after a minute for one that is slow.
        "started" | "timeout" => {}
        // "failed", and whatever a later libtest may say that is not a success.
        other => {
            let why = format!("{other} {}\n{}", event.message, event.stdout);
            outcome.failed.push(Failed { name: event.name, why });
        }
    }
}

/// Reads to the end and keeps the last bytes.
fn last_bytes(mut from: impl Read) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), [0; 8192]);
    while let Ok(read) = from.read(&mut buffer) {
        if read == 0 {
            break;
        }
        kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
    kept
}

/// Kills the program and those of its children that stayed in its group.
fn kill_group(leader: u32) {
    let kill = Command::new("bash")
        .args(["-c", "kill -s KILL -- \"-$1\"", "kill", &leader.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // No process is left to kill when the program ended normally.
    drop(kill);
}

impl Job {
    /// `PROGRAM TEST`, the name by which the table of flakes and the report know a test.
    pub(crate) fn test_name(&self, test: &str) -> String {
        format!("{} {test}", self.program.name)
    }

    /// The same start for one test alone.
    pub(crate) fn alone(&self, test: &str) -> Self {
        Self { tests: BTreeSet::from([test.to_owned()]), threads: Some(1), ..self.clone() }
    }
}

impl TestProgram {
    /// The name of its file, for messages.
    pub(crate) fn shown(&self) -> PathBuf {
        self.path.file_name().map_or_else(|| self.path.clone(), PathBuf::from)
    }
}
