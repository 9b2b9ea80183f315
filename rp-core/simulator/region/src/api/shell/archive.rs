//! `tar` of the simulated shell, as `kubectl cp` runs it.

use std::io::Read as _;

use parking_lot::Mutex;
use rp_base::Timestamp;
use tar::{Archive, Builder, EntryType, Header};

use super::{CommandOutput, InputUse, MOST_OUTPUT, ShellContext, ShellState};
use crate::files::{FileError, FileTree, MOST_BYTES, resolve};

const BLOCK: usize = 512;

/// Why an archive was not unpacked.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArchiveError {
    #[error("This does not look like a tar archive")]
    Unreadable(#[source] std::io::Error),
    #[error("{path}: {error}")]
    File { path: String, error: FileError },
}

/// `tar cf - PATH…` and `tar xf - [-C FOLDER]`, in the usual spellings.
pub(super) fn run(
    state: &ShellState,
    arguments: &[&str],
    piped: Option<Vec<u8>>,
    context: &ShellContext<'_>,
) -> CommandOutput {
    let mut folder = state.folder.clone();
    let (mut letters, mut paths) = (String::new(), Vec::new());
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        match argument {
            "-C" => folder = state.path(rest.next().copied().unwrap_or_default()),
            "-" => {}
            long if long.starts_with("--") => {}
            short if short.starts_with('-') || letters.is_empty() => letters.push_str(short),
            path => paths.push(path),
        }
    }
    if letters.contains('x') {
        return match piped {
            Some(archive) => finish(extract(&archive, &folder, context.files, context.now)),
            None => CommandOutput::input(InputUse::Extract { folder }),
        };
    }
    if !letters.contains('c') || paths.is_empty() {
        return CommandOutput::failed(2, "tar: only cf and xf of this simulation");
    }
    create(&folder, &paths, &context.files.lock())
}

/// The output of `tar x` after it unpacked.
pub(super) fn finish(unpacked: Result<(), ArchiveError>) -> CommandOutput {
    match unpacked {
        Ok(()) => CommandOutput::default(),
        Err(error) => CommandOutput::failed(2, &format!("tar: {error}")),
    }
}

fn create(folder: &str, paths: &[&str], files: &FileTree) -> CommandOutput {
    let mut builder = Builder::new(Vec::new());
    let mut done = CommandOutput::default();
    for path in paths.iter().take(64) {
        let full = resolve(folder, path);
        if let Err(error) = files.get(&full) {
            let path = rp_base::text::clean(path, 200);
            done = CommandOutput::failed(2, &format!("tar: {path}: Cannot stat: {error}"));
            continue;
        }
        // Names in the archive are those of the command, without a leading slash.
        let shown = path.trim_matches('/');
        for (found, entry) in files.below(&full) {
            let below = found.strip_prefix(full.as_str()).unwrap_or_default().trim_start_matches('/');
            let name =
                [shown, below].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
            if name.is_empty() {
                continue;
            }
            if builder.get_ref().len() + entry.size() > MOST_OUTPUT {
                return CommandOutput::failed(2, "tar: too much output for this simulation");
            }
            let mut header = Header::new_gnu();
            header.set_mode(entry.mode);
            header.set_mtime(u64::try_from(entry.changed.seconds()).unwrap_or(0));
            header.set_entry_type(if entry.is_folder() { EntryType::Directory } else { EntryType::Regular });
            header.set_size(entry.size() as u64);
            let content = entry.content.as_deref().unwrap_or_default();
            if let Err(error) = builder.append_data(&mut header, &name, content) {
                return CommandOutput::failed(2, &format!("tar: {error}"));
            }
        }
    }
    match builder.into_inner() {
        Ok(out) => CommandOutput { out, ..done },
        Err(error) => CommandOutput::failed(2, &format!("tar: {error}")),
    }
}

/// Unpacks an archive into a folder; links and devices are left out.
pub(super) fn extract(
    archive: &[u8],
    folder: &str,
    files: &Mutex<FileTree>,
    now: Timestamp,
) -> Result<(), ArchiveError> {
    let mut files = files.lock();
    let mut archive = Archive::new(archive);
    for entry in archive.entries().map_err(ArchiveError::Unreadable)? {
        let mut entry = entry.map_err(ArchiveError::Unreadable)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // Below the folder, whatever the name is: `..` stops at the root of the archive.
        let inside = resolve("/", name.trim_start_matches('/'));
        let path = resolve(folder, inside.trim_start_matches('/'));
        let kind = entry.header().entry_type();
        let mode = entry.header().mode().unwrap_or(0o644);
        let failed = |error| ArchiveError::File { path: rp_base::text::clean(&path, 200), error };
        if kind.is_dir() {
            files.make_folders(&path, now).map_err(failed)?;
        } else if kind.is_file() {
            let above = path.rsplit_once('/').map_or("", |(above, _)| above);
            if !above.is_empty() {
                files.make_folders(above, now).map_err(failed)?;
            }
            let mut content = Vec::new();
            let most = MOST_BYTES as u64 + 1;
            entry.by_ref().take(most).read_to_end(&mut content).map_err(ArchiveError::Unreadable)?;
            files.write(&path, content, mode, now).map_err(failed)?;
        }
    }
    Ok(())
}

/// Whether these bytes are a whole archive: its two empty blocks have come.
pub(crate) fn ends(archive: &[u8]) -> bool {
    let mut at = 0;
    while let Some(block) = archive.get(at..at + BLOCK) {
        if block.iter().all(|byte| *byte == 0) {
            let next = archive.get(at + BLOCK..at + 2 * BLOCK);
            return next.is_some_and(|block| block.iter().all(|byte| *byte == 0));
        }
        let size =
            Header::from_byte_slice(block).entry_size().ok().and_then(|size| usize::try_from(size).ok());
        let Some(size) = size.filter(|size| *size <= archive.len()) else { return false };
        at += BLOCK + size.div_ceil(BLOCK) * BLOCK;
    }
    false
}
