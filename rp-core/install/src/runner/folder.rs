//! The folder of an installation. A stage is a folder that is whole: it is made under a name that nobody else uses, synced,
//! and then gets its name. So a process may end at any instant, and an installer that outlives it writes where nobody
//! reads.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rp_base::{Random, durable};

use super::RunError;

/// The part of a name that says that a stage is not whole.
const ATTEMPT: &str = "attempt";

/// A stage. Each begins with a copy of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// What the installer is given.
    Inputs,
    /// After `create manifests`, with ours.
    Manifests,
    /// After `create ignition-configs`.
    Ignition,
    /// Changed.
    Assets,
}

impl Stage {
    const fn name(self) -> &'static str {
        match self {
            Self::Inputs => "1-inputs",
            Self::Manifests => "2-manifests",
            Self::Ignition => "3-ignition",
            Self::Assets => "4-assets",
        }
    }
}

/// The folder, held by this process until it is dropped.
#[derive(Debug)]
pub(super) struct RunFolder {
    path: PathBuf,
    /// Locked; the system lets go of it when the process ends.
    lock: File,
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // A process that another thread is starting has a copy of the file for a moment, and a closed file stays locked as
        // long as a copy is open.
        let _ = self.lock.unlock();
    }
}

/// A stage that is being made; removed when it is dropped.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) path: PathBuf,
    to: PathBuf,
}

impl Drop for Attempt {
    fn drop(&mut self) {
        // What stays is removed by the next run.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// An error of that act.
pub(super) fn failed(act: &'static str) -> impl Fn(io::Error) -> RunError {
    move |source| RunError::Folder { act, source }
}

impl RunFolder {
    /// Takes the folder of an installation, and removes what earlier runs left half made.
    ///
    /// # Errors
    /// The id is no UUID; another process has it; the system's.
    pub(super) fn take(root: &Path, id: &str) -> Result<Self, RunError> {
        let path = root.join(checked(id)?);
        durable::make_folder(&path).map_err(failed("make the folder"))?;
        let lock = File::create(path.join("lock")).map_err(failed("make the lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RunError::Busy),
            Err(TryLockError::Error(error)) => return Err(failed("take the lock")(error)),
        }
        for entry in fs::read_dir(&path).map_err(failed("read"))? {
            let entry = entry.map_err(failed("read"))?;
            if entry.file_name().to_string_lossy().starts_with(ATTEMPT) {
                fs::remove_dir_all(entry.path()).map_err(failed("remove an attempt"))?;
            }
        }
        Ok(Self { path, lock })
    }

    /// Removes everything.
    ///
    /// # Errors
    /// As [`RunFolder::take`].
    pub(super) fn remove(root: &Path, id: &str) -> Result<(), RunError> {
        let path = root.join(checked(id)?);
        if !path.exists() {
            return Ok(());
        }
        let held = Self::take(root, id)?;
        fs::remove_dir_all(&held.path).map_err(failed("remove"))?;
        durable::sync_name(&held.path).map_err(failed("sync"))
    }

    /// Ids of all folders; other names are none of ours.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn ids(root: &Path) -> Result<Vec<String>, RunError> {
        let entries = match fs::read_dir(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed("read"))?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed("read"))?.file_name();
            ids.extend(name.to_str().filter(|name| checked(name).is_ok()).map(str::to_owned));
        }
        Ok(ids)
    }

    /// The folder of a stage that is whole.
    pub(super) fn done(&self, stage: Stage) -> Option<PathBuf> {
        let path = self.path.join(stage.name());
        path.is_dir().then_some(path)
    }

    /// Begins a stage with a copy of another.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn begin(
        &self,
        stage: Stage,
        copy: Option<&Path>,
        random: &dyn Random,
    ) -> Result<Attempt, RunError> {
        let path = self.path.join(format!("{ATTEMPT}-{}", random.uuid().simple()));
        durable::make_folder(&path).map_err(failed("make a stage"))?;
        let attempt = Attempt { path, to: self.path.join(stage.name()) };
        if let Some(from) = copy {
            copy_tree(from, &attempt.path).map_err(failed("copy a stage"))?;
        }
        Ok(attempt)
    }
}

impl Attempt {
    /// The stage is whole.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn commit(self) -> Result<PathBuf, RunError> {
        sync_tree(&self.path).map_err(failed("sync a stage"))?;
        fs::rename(&self.path, &self.to).map_err(failed("name a stage"))?;
        durable::sync_name(&self.to).map_err(failed("sync"))?;
        Ok(self.to.clone())
    }

    /// Writes a file with mode 0600, and the folders above it.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn write(&self, path: &str, contents: &[u8], random: &dyn Random) -> Result<(), RunError> {
        let path = self.path.join(path);
        durable::make_folder(durable::folder(&path)).map_err(failed("make a folder"))?;
        durable::replace(&path, contents, 0o600, random).map_err(failed("write"))
    }
}

/// A file of at most `most` bytes; `None`: there is none.
///
/// # Errors
/// It is larger; the system's.
pub(super) fn read(folder: &Path, path: &'static str, most: u64) -> Result<Option<Vec<u8>>, RunError> {
    let file = match File::open(folder.join(path)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read")(error)),
    };
    let mut contents = Vec::new();
    file.take(most + 1).read_to_end(&mut contents).map_err(failed("read"))?;
    match contents.len() as u64 > most {
        true => Err(RunError::Large { path, most }),
        false => Ok(Some(contents)),
    }
}

/// An id that is the name of a folder and nothing else.
fn checked(id: &str) -> Result<&str, RunError> {
    let plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    match id.len() == 36 && id.bytes().all(plain) {
        true => Ok(id),
        false => Err(RunError::Id),
    }
}

/// Plain files and folders; a link of the installer's is refused.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            durable::make_folder(&to)?;
            copy_tree(&entry.path(), &to)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &to)?;
        } else {
            return Err(io::Error::other("a file that is neither a file nor a folder"));
        }
    }
    Ok(())
}

fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(folder)?.sync_all()
}
