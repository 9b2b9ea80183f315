//! Files that hold credentials.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rp_base::{Secret, SystemRandom, durable};

use crate::{CliError, platform};

/// The largest file that is read: a kubeconfig may have 1 MiB.
const MOST: u64 = 1024 * 1024;

/// Reads a text file of at most 1 MiB; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Secret<String>, CliError> {
    let failed = |cause| CliError::File { path: path.to_owned(), cause };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        File::open(path).map_err(failed)?.take(MOST + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    if bytes.len() as u64 > MOST {
        return Err(CliError::BadFile { path: path.to_owned(), what: "is larger than 1 MiB" });
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| CliError::BadFile { path: path.to_owned(), what: "is not UTF-8 text" })?;
    Ok(Secret::new(text))
}

/// Reads a file with one line that can stand in a header.
pub(crate) fn read_line(path: &Path) -> Result<Secret<String>, CliError> {
    let text = read(path)?;
    let line = text.expose().trim();
    if line.is_empty() {
        return Err(CliError::BadFile { path: path.to_owned(), what: "is empty" });
    }
    if !line.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Err(CliError::BadFile {
            path: path.to_owned(),
            what: "holds more than one line of plain text",
        });
    }
    Ok(Secret::new(line.to_owned()))
}

/// Writes a file that only its owner may read, whole or not at all; it outlives a loss of power.
pub(crate) fn write_private(path: &Path, content: &str) -> Result<(), CliError> {
    let failed = |cause| CliError::File { path: path.to_owned(), cause };
    durable::replace(path, content.as_bytes(), 0o600, &SystemRandom).map_err(failed)
}

/// Reads a small file of ours that holds a credential; `None` when there is none.
///
/// # Errors
/// Others than its owner can read or write it: what it says may be known to them, or be theirs.
pub(crate) fn read_private(path: &Path) -> Result<Option<Secret<String>>, CliError> {
    let failed = |cause| CliError::File { path: path.to_owned(), cause };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(failed(cause)),
    };
    if let Some(mode) = platform::exposed(&file).map_err(failed)? {
        return Err(CliError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(Secret::new(text)))
}
