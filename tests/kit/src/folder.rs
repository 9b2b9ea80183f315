//! A temporary folder with a keeper: a small process outside ours that ends everything started in the
//! folder and removes it, even when the test process is killed. Statics are never dropped, so shared
//! parts end by the same way.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use parking_lot::Mutex;

/// `+N` and `-N` lines note a process group; end of file means that the owner is gone.
const KEEPER: &str = r#"
groups=
while read -r line; do
  case $line in
    +*) groups="$groups ${line#+}" ;;
    -*) kept=; for g in $groups; do [ "$g" = "${line#-}" ] || kept="$kept $g"; done; groups=$kept ;;
  esac
done
for g in $groups; do kill -s KILL -- "-$g" 2>/dev/null; done
[ -n "$ARO_TEST_KEEP" ] || rm -rf -- "$1" 2>/dev/null || { sleep 1; rm -rf -- "$1"; }
"#;

/// KiB of memory that must be free for folders of tests, 4 GiB.
const LEAST_ROOM: u64 = 4 * 1024 * 1024;

/// Shared by everything that lives in it; gone after the last one. With `ARO_TEST_KEEP=1` in the
/// environment the files stay.
#[derive(Debug, Clone)]
pub struct Folder(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    line: Mutex<Option<ChildStdin>>,
    keeper: Mutex<Child>,
}

impl Folder {
    /// A new folder, readable by us only.
    ///
    /// # Errors
    /// No folder or no keeper.
    pub fn new(name: &str) -> Result<Self> {
        Self::below(&home(), name)
    }

    /// The same on a disk, for what is to be slow where a disk is: a sync. Others can reach it.
    ///
    /// # Errors
    /// As [`Folder::new`], or every place is in memory.
    pub fn on_disk(name: &str) -> Result<Self> {
        let target = crate::workspace().join("target");
        let places = [target.as_path(), Path::new("/var/tmp")];
        let found = places.into_iter().find(|place| is_open(place) && is_on_disk(place));
        Self::below(found.context("neither target nor /var/tmp is on a disk that others can reach")?, name)
    }

    fn below(home: &Path, name: &str) -> Result<Self> {
        let path = tempfile::Builder::new().prefix(&format!("aro-{name}-")).tempdir_in(home)?.keep();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl+C is for us; the keeper cleans up after that.
            .process_group(0)
            .spawn()
            .context("sh cannot be started")?;
        let line = keeper.stdin.take();
        Ok(Self(Arc::new(Inner { path, line: Mutex::new(line), keeper: Mutex::new(keeper) })))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Writes a file that others may be reading at this moment: they see the old one or the new one, never half of it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn replace(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let new = self.write(&format!("{name}.{}.new", NEXT.fetch_add(1, Ordering::Relaxed)), content)?;
        let path = self.path().join(name);
        std::fs::rename(&new, &path).with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(path)
    }

    /// Writes a file into it, readable by us only.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<PathBuf> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, content).with_context(|| format!("{} cannot be written", path.display()))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(path)
    }

    pub(crate) fn keep(&self, group: u32) {
        self.tell(&format!("+{group}\n"));
    }

    pub(crate) fn forget(&self, group: u32) {
        self.tell(&format!("-{group}\n"));
    }

    fn tell(&self, line: &str) {
        if let Some(pipe) = self.0.line.lock().as_mut() {
            // A keeper that is gone cannot be told; the drop below still removes the processes we know.
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

/// Where folders are made: in memory where that is to be had. A store whose disk is busy for 5 s with something else
/// counts as away, and then what fails is the machine.
fn home() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let chosen = std::env::var_os("TMPDIR").is_some();
    let writable = || tempfile::tempfile_in(memory).is_ok();
    if !chosen && writable() && room(memory) >= LEAST_ROOM { memory.to_owned() } else { std::env::temp_dir() }
}

/// KiB that are free there; 0 when `df` cannot tell.
fn room(path: &Path) -> u64 {
    df("avail", path).parse().unwrap_or(0)
}

/// Whether a sync reaches a disk there.
fn is_on_disk(path: &Path) -> bool {
    !["", "tmpfs", "ramfs"].contains(&df("fstype", path).as_str())
}

/// Whether every user can go into it, as a server that does not run as ours must.
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let open = |folder: &Path| folder.metadata().is_ok_and(|about| about.permissions().mode() & 0o001 != 0);
    path.is_dir() && path.ancestors().all(open)
}

/// One column about the file system of a path; empty when `df` cannot tell.
fn df(column: &str, path: &Path) -> String {
    let said = Command::new("df").args([&format!("--output={column}"), "-k"]).arg(path).output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    said.lines().nth(1).map(str::trim).unwrap_or_default().to_owned()
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.line.lock().take());
        let _ = self.keeper.lock().wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keeper_ends_what_is_left_and_removes_the_folder() -> Result<()> {
        let folder = Folder::new("keeper")?;
        let path = folder.write("some/file", "content")?;
        let start = || Command::new("sleep").arg("1000").process_group(0).spawn();
        let (mut kept, mut forgotten) = (start()?, start()?);
        folder.keep(kept.id());
        folder.keep(forgotten.id());
        folder.forget(forgotten.id());
        drop(folder);
        anyhow::ensure!(!kept.wait()?.success(), "it ended by itself");
        anyhow::ensure!(forgotten.try_wait()?.is_none(), "what was forgotten was ended");
        forgotten.kill()?;
        forgotten.wait()?;
        anyhow::ensure!(!path.exists(), "{} is still there", path.display());
        Ok(())
    }
}
