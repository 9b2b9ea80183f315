//! What `record.c` wrote down, step by step.

use anyhow::{Context as _, Result, bail, ensure};

/// Bytes before the texts of a step: four numbers of 32 bits and two of 64, in the order of this machine.
const HEADER: usize = 32;

/// One thing that a process did; paths are below the recorded folder, which itself is "".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Create { file: u64, path: String },
    Write { file: u64, at: usize, data: Vec<u8> },
    Length { file: u64, length: usize },
    Sync { file: u64 },
    SyncFolder { path: String },
    Rename { from: String, to: String },
    Unlink { path: String },
    MakeFolder { path: String },
    RemoveFolder { path: String },
    Link { from: String, to: String },
    Mark(String),
}

impl Step {
    /// Something is on the disk for certain after it that was not before.
    pub(crate) const fn is_sync(&self) -> bool {
        matches!(self, Self::Sync { .. } | Self::SyncFolder { .. })
    }
}

/// All of a record.
pub(crate) fn read(mut record: &[u8]) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    while !record.is_empty() {
        let (step, rest) = next(record).with_context(|| format!("step {} of the record", steps.len()))?;
        steps.push(step);
        record = rest;
    }
    Ok(steps)
}

fn next(record: &[u8]) -> Result<(Step, &[u8])> {
    let (header, rest) = record.split_at_checked(HEADER).context("a header is cut off")?;
    let short = |at: usize| header[at..at + 4].try_into().map(u32::from_ne_bytes);
    let long = |at: usize| header[at..at + 8].try_into().map(u64::from_ne_bytes);
    let (kind, file, place) = (short(0)?, long(16)?, usize::try_from(long(24)?)?);
    let (first, rest) = rest.split_at_checked(short(4)? as usize).context("a text is cut off")?;
    let (second, rest) = rest.split_at_checked(short(8)? as usize).context("a text is cut off")?;
    let path = || String::from_utf8(first.to_vec());
    let to = || String::from_utf8(second.to_vec());
    let step = match kind {
        1 => Step::Create { file, path: path()? },
        2 => Step::Write { file, at: place, data: first.to_vec() },
        3 => Step::Length { file, length: place },
        4 => Step::Sync { file },
        5 => Step::SyncFolder { path: path()? },
        6 => Step::Rename { from: path()?, to: to()? },
        7 => Step::Unlink { path: path()? },
        8 => Step::MakeFolder { path: path()? },
        9 => Step::RemoveFolder { path: path()? },
        10 => Step::Link { from: path()?, to: to()? },
        11 => Step::Mark(path()?),
        12 => bail!("the volume does not know this call: {}", path()?),
        other => bail!("no step is of kind {other}"),
    };
    ensure!(short(12)? == 0, "it is no step");
    Ok((step, rest))
}
