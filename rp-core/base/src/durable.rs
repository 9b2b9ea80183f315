//! Small files that outlive a loss of power: the content is on the disk before the name, and the name before the call
//! returns. `tests/powercut` holds everything that is written with them to that.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::Random;

/// Puts a file with that content and mode in the place of what is there, whole or not at all.
///
/// # Errors
/// The system's. What was there before is there still, unless the sync of the folder failed.
pub fn replace(path: &Path, content: &[u8], mode: u32, random: &dyn Random) -> io::Result<()> {
    let beside = write_beside(path, content, mode, random)?;
    if let Err(error) = fs::rename(&beside, path) {
        // The first error is the one to report.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    sync_name(path)
}

/// Makes a file with that content and mode, whole or not at all. `Ok(false)`: one is there already, and stays.
///
/// # Errors
/// The system's.
pub fn create(path: &Path, content: &[u8], mode: u32, random: &dyn Random) -> io::Result<bool> {
    let beside = write_beside(path, content, mode, random)?;
    // Unlike a rename, a hard link never replaces what another process made meanwhile.
    let linked = match fs::hard_link(&beside, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    };
    let _ = fs::remove_file(&beside);
    let made = linked?;
    // Also after another process made the file: it may not have synced the folder yet.
    sync_name(path)?;
    Ok(made)
}

/// Makes a folder and those above it, mode 0700, where there are none; each that was made is durable in the one above.
///
/// # Errors
/// The system's.
pub fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    make_folder(folder(path))?;
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    builder.mode(0o700);
    match builder.create(path) {
        // Another process made it a moment ago.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    sync_name(path)
}

/// Makes the names in the folder of a file durable: after it was made, renamed or removed. Windows has no such call for
/// folders; there its journal keeps names.
///
/// # Errors
/// The system's.
pub fn sync_name(path: &Path) -> io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    match File::open(folder(path))?.sync_all() {
        // A file system that does not sync folders (fsync(2), EINVAL) leaves nothing to do.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// The folder that holds a name.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// `NAME.UUID.tmp`: two processes never write the same one.
fn write_beside(path: &Path, content: &[u8], mode: u32, random: &dyn Random) -> io::Result<PathBuf> {
    let beside = path.with_added_extension(format!("{}.tmp", random.uuid().simple()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // Where files have no modes, the folder's list of access says who may read.
    #[cfg(unix)]
    options.mode(mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(&beside)?;
    if let Err(error) = file.write_all(content).and_then(|()| file.sync_all()) {
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    Ok(beside)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::SystemRandom;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn files_are_replaced_whole_and_leave_nothing_beside_them() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b/file.json");
        assert!(replace(&path, b"one", 0o600, &SystemRandom).is_err(), "no such folder");
        make_folder(folder(&path)).unwrap();
        make_folder(folder(&path)).unwrap();
        assert_eq!(fs::metadata(home.path().join("a")).unwrap().permissions().mode() & 0o777, 0o700);
        for content in ["one", "two"] {
            replace(&path, content.as_bytes(), 0o600, &SystemRandom).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(replace(folder(&path), b"three", 0o600, &SystemRandom).is_err(), "a folder is no file");
        assert_eq!(names(folder(&path)), ["file.json"]);
        assert_eq!(names(&home.path().join("a")), ["b"]);
    }

    #[test]
    fn a_file_that_is_there_stays() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        assert!(create(&path, b"first", 0o600, &SystemRandom).unwrap());
        assert!(!create(&path, b"second", 0o600, &SystemRandom).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(names(home.path()), ["key"]);
    }
}
