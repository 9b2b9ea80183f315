//! The audit log without a process that serves: its check, its lines, its key.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use rp_audit::{CheckpointKey, Export, LineVerifier, SignedCheckpoint, Verdict, verify_store};
use rp_base::{SharedClock, SystemClock};
use rp_config::Settings;
use serde_json::Value;

use crate::config_args::ConfigArgs;
use crate::output::{print_json, print_line, print_part};

/// The longest line that is read; an entry is far shorter.
const LONGEST: u64 = 2 << 20;

/// `aro audit verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Check these lines instead of the store: an export, a dump, or copies that a sink made, oldest first; `-` reads from stdin
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub lines: Vec<PathBuf>,
    /// The lines are a part of the log: chains may begin anywhere
    #[arg(long, requires = "lines")]
    pub part: bool,
    /// Checkpoints that were kept out of the store: a copy of a sink, or log lines; everything they signed must be there
    #[arg(long, value_name = "FILE")]
    pub kept: Vec<PathBuf>,
    /// Public key to believe, as `aro audit key` prints it, instead of the keys of the settings
    #[arg(long, value_name = "BASE64")]
    pub key: Vec<String>,
    #[arg(long, short, value_enum, default_value = "text")]
    pub output: VerdictFormat,
}

/// How a verdict is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VerdictFormat {
    Text,
    Json,
}

/// Checks the log. `Ok(false)`: something is wrong with it, and was told.
///
/// # Errors
/// It cannot be read.
pub async fn verify(args: &VerifyArgs) -> anyhow::Result<bool> {
    let needed = args.lines.is_empty() || args.key.is_empty();
    let settings = needed.then(|| args.config.settings(&[])).transpose()?;
    let key = trusted_key(args, settings.as_ref())?;
    let kept =
        args.kept.iter().map(|path| read_checkpoints(path)).collect::<anyhow::Result<Vec<_>>>()?.concat();
    let verdict = match settings {
        Some(settings) if args.lines.is_empty() => {
            let clock: SharedClock = Arc::new(SystemClock);
            let store = rp_core::services::open_audit_store(&settings, &clock, None).await?;
            let verdict = verify_store(&store, &key, &kept).await;
            store.close().await;
            verdict?
        }
        _ => lines(args, key, &kept)?,
    };
    show(&verdict, args.output)?;
    Ok(verdict.is_intact())
}

/// The keys whose checkpoints and tombstones count.
fn trusted_key(args: &VerifyArgs, settings: Option<&Settings>) -> anyhow::Result<CheckpointKey> {
    if !args.key.is_empty() {
        let known = args.key.iter().map(|text| rp_audit::public_key(text).context("--key is no public key"));
        return Ok(CheckpointKey::generate()?.with_known(known.collect::<anyhow::Result<Vec<_>>>()?));
    }
    let Some(settings) = settings else { bail!("no key to believe") };
    let path = &settings.audit.checkpoint_key_file;
    let key = CheckpointKey::open(path).with_context(|| format!("cannot use {}", path.display()))?;
    Ok(key.with_known(settings.audit.known_keys.clone()))
}

fn open(path: &Path) -> anyhow::Result<Box<dyn std::io::BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}

/// Calls `each` with every line; one that is too long is cut, and so is no entry any more.
fn each_line(path: &Path, mut each: impl FnMut(&str)) -> anyhow::Result<()> {
    let mut reader = open(path)?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        if read.with_context(|| format!("cannot read {}", path.display()))? == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        each(text.trim_end_matches(['\n', '\r']));
    }
}

fn lines(args: &VerifyArgs, key: CheckpointKey, kept: &[SignedCheckpoint]) -> anyhow::Result<Verdict> {
    let mut verifier = LineVerifier::new(key, args.part);
    for path in &args.lines {
        each_line(path, |line| verifier.line(line))?;
    }
    for checkpoint in kept {
        verifier.checkpoint(checkpoint);
    }
    Ok(verifier.finish())
}

/// Checkpoints in a copy of a sink, or in log lines of the target `audit.checkpoint`; other lines do not matter.
fn read_checkpoints(path: &Path) -> anyhow::Result<Vec<SignedCheckpoint>> {
    let mut found = Vec::new();
    each_line(path, |line| {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        let places = [value.get("checkpoint"), value.get("fields"), Some(&value)];
        let checkpoint =
            places.into_iter().flatten().find_map(|place| serde_json::from_value(place.clone()).ok());
        found.extend(checkpoint);
    })?;
    if found.is_empty() {
        bail!("{} holds no checkpoint", path.display());
    }
    Ok(found)
}

fn show(verdict: &Verdict, format: VerdictFormat) -> anyhow::Result<()> {
    if format == VerdictFormat::Json {
        let mut value = serde_json::to_value(verdict)?;
        value["intact"] = verdict.is_intact().into();
        return Ok(print_json(serde_json::to_string_pretty(&value)?)?);
    }
    let Verdict { writers, entries, checkpoints, tombstones, retired, .. } = verdict;
    print_line(&format!(
        "{entries} entries of {writers} writers, {checkpoints} checkpoints; {retired} entries retired ({tombstones} tombstones)"
    ))?;
    for finding in &verdict.findings {
        let at = finding.at.map_or_else(String::new, |at| format!(" near {at}"));
        let writer = if finding.writer.is_empty() { "-" } else { &finding.writer };
        let place = format!("writer {writer}, {}{at}", finding.seq);
        print_line(&format!("{}: {place}: {}", finding.kind.word(), finding.what))?;
    }
    Ok(print_line(if verdict.is_intact() { "intact" } else { "NOT intact" })?)
}

/// Writes the whole log to stdout as lines that [`verify`] reads.
///
/// # Errors
/// The log cannot be read, or standard output cannot be written.
pub async fn dump(settings: &Settings) -> anyhow::Result<()> {
    let clock: SharedClock = Arc::new(SystemClock);
    let store = rp_core::services::open_audit_store(settings, &clock, None).await?;
    let mut export = Export::new(Arc::clone(&store));
    while let Some(lines) = export.next().await? {
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        if !print_part(&text)? {
            break;
        }
    }
    store.close().await;
    Ok(())
}

/// Prints the public key that checkpoints are signed with.
///
/// # Errors
/// There is none yet, it cannot be read, or standard output cannot be written.
pub fn key(settings: &Settings) -> anyhow::Result<()> {
    let path = &settings.audit.checkpoint_key_file;
    let key = CheckpointKey::open(path).with_context(|| format!("cannot use {}", path.display()))?;
    Ok(print_line(&key.public_text())?)
}
