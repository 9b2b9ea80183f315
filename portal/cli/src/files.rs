//! Files that hold credentials.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rp_base::{Random as _, Secret, SystemRandom};

use crate::CliError;

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

/// Writes a file that only its owner may read, whole or not at all.
pub(crate) fn write_private(path: &Path, content: &str) -> Result<(), CliError> {
    let failed = |cause| CliError::File { path: path.to_owned(), cause };
    let name = path
        .file_name()
        .ok_or_else(|| CliError::BadFile { path: path.to_owned(), what: "is not a file's name" })?;
    let mut beside = name.to_owned();
    beside.push(format!(".{}.tmp", SystemRandom.uuid().simple()));
    let beside = path.with_file_name(beside);
    let written = write_new(&beside, content).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&beside);
    }
    written.map_err(failed)?;
    sync_folder(path);
    Ok(())
}

fn write_new(path: &PathBuf, content: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

/// Makes the new name durable where the file system can.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
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
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(CliError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(Secret::new(text)))
}
