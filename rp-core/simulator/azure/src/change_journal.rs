//! Stores resources in a file, so that they outlive the process: one line per change, written before the response.
//! Survives a killed process; a host that loses its power may lose the latest lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Obsolete lines that are allowed before the file is rewritten.
const SPARE: usize = 20_000;

/// One change.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Line {
    /// A body with its id.
    Put(Value),
    /// A key with all below it; `away`: generated resources stay deleted, too.
    Gone { key: String, away: bool },
}

/// The file.
#[derive(Debug)]
pub(super) struct ChangeJournal {
    path: PathBuf,
    file: File,
    lines: usize,
    /// Lines that the file had when it was last rewritten.
    least: usize,
}

impl ChangeJournal {
    /// Reads the file; empty when there is none. An incomplete last line was never acknowledged and is ignored.
    pub(super) fn read(path: &Path) -> io::Result<Vec<Line>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let parse = |(at, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| {
                let message = format!("{}, line {}: {error}", path.display(), at + 1);
                io::Error::new(io::ErrorKind::InvalidData, message)
            })
        };
        whole.lines().enumerate().map(parse).collect()
    }

    /// Atomically rewrites the file with these lines only.
    pub(super) fn write(path: &Path, lines: &[Line]) -> io::Result<Self> {
        let beside = path.with_extension("new");
        let mut file =
            OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&beside)?;
        let mut text = Vec::new();
        for line in lines {
            push(&mut text, line)?;
        }
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        Ok(Self { path: path.to_owned(), file, lines: lines.len(), least: lines.len() })
    }

    /// Appends a change; false: it was not stored.
    pub(super) fn add(&mut self, line: &Line) -> bool {
        let mut text = Vec::new();
        let added = push(&mut text, line).and_then(|()| self.file.write_all(&text));
        if let Err(error) = &added {
            tracing::error!(file = %self.path.display(), %error, "a change of the stand-in for Azure is not kept");
        }
        self.lines += 1;
        added.is_ok()
    }

    /// Whether most lines are obsolete.
    pub(super) const fn is_long(&self) -> bool {
        self.lines > 4 * self.least + SPARE
    }

    /// Rewrites the file as [`Self::write`] does.
    pub(super) fn renew(&mut self, lines: &[Line]) {
        match Self::write(&self.path, lines) {
            Ok(new) => *self = new,
            Err(error) => {
                tracing::error!(file = %self.path.display(), %error, "the file of the stand-in for Azure stays long");
                self.least = self.lines;
            }
        }
    }
}

fn push(text: &mut Vec<u8>, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *text, line)?;
    text.push(b'\n');
    Ok(())
}
