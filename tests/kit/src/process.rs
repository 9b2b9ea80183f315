//! One process of a part: own process group, log file, ended on drop.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use parking_lot::Mutex;

use crate::{Folder, until};

/// A free port on 127.0.0.1. No other process takes it before its part listens on it: the kernel gives connections and
/// listeners that do not care ports above these (`ip_local_port_range`), and no port is given out twice.
///
/// # Errors
/// There is none.
pub fn free_port() -> Result<u16> {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 22_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Test processes that run at once begin apart.
    let begin = std::process::id().wrapping_mul(97);
    for _ in 0..COUNT {
        let next = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(FIRST + next % COUNT)?;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port from {FIRST} on is free")
}

/// A running process.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Mutex<Child>,
    group: u32,
    log: PathBuf,
    folder: Folder,
}

impl Process {
    /// Starts a command. Its standard output and error go to `NAME.log` in the folder.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(folder: &Folder, name: &str, command: &mut Command) -> Result<Self> {
        let log = folder.path().join(format!("{name}.log"));
        let out = File::options().create(true).append(true).open(&log)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()
            .with_context(|| format!("{name} cannot be started: {}", command.get_program().display()))?;
        let group = child.id();
        folder.keep(group);
        Ok(Self { name: name.to_owned(), child: Mutex::new(child), group, log, folder: folder.clone() })
    }

    /// The process id, which is also its group's.
    pub fn pid(&self) -> u32 {
        self.group
    }

    /// Everything that it wrote.
    pub fn log(&self) -> String {
        std::fs::read(&self.log).map_or_else(
            |error| format!("(no log: {error})"),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Where its log is.
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// The last lines that it wrote, for an error.
    pub fn tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let from = lines.len().saturating_sub(25);
        format!("--- {} ---\n{}\n", self.log.display(), lines[from..].join("\n"))
    }

    /// Waits until `look` succeeds. Stops at once when the process ends.
    ///
    /// # Errors
    /// It ended or was not ready within `limit`; with what was last seen and the log's tail.
    pub async fn ready<T, F>(&self, limit: Duration, mut look: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let name = &self.name;
        let look = || {
            let seen = look();
            async move {
                match self.exited()? {
                    Some(status) => Ok(Err(anyhow!("{name} ended: {status}"))),
                    None => seen.await.map(Ok),
                }
            }
        };
        let found = until(&format!("{name} is ready"), limit, look).await.and_then(|found| found);
        found.with_context(|| self.tail())
    }

    /// Its exit status, once it has ended.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn exited(&self) -> Result<Option<ExitStatus>> {
        Ok(self.child.lock().try_wait()?)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It is still there after `limit`.
    pub async fn wait(&self, limit: Duration) -> Result<ExitStatus> {
        let what = format!("{} ends", self.name);
        let ended = until(&what, limit, || async { self.exited()?.ok_or_else(|| anyhow!("it runs")) });
        ended.await.with_context(|| self.tail())
    }

    /// Sends a signal (`TERM`, `HUP`, …) to the process alone.
    ///
    /// # Errors
    /// It is gone.
    pub fn signal(&self, signal: &str) -> Result<()> {
        signal_to(signal, &self.group.to_string())
    }

    /// Asks it to end (`SIGTERM`), and ends it at once after `limit`. Blocks: for `drop`.
    pub fn stop(&self, limit: Duration) {
        const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
        let _ = self.signal("TERM");
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline && matches!(self.exited(), Ok(None)) {
            std::thread::sleep(BETWEEN_LOOKS);
        }
        let _ = self.kill();
    }

    /// Ends it and all of its group at once (`SIGKILL`), and waits until it is gone.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn kill(&self) -> Result<()> {
        // The leader may be gone while the group lives.
        let _ = signal_to("KILL", &format!("-{}", self.group));
        self.child.lock().wait()?;
        Ok(())
    }
}

/// By the program: a system call would need `unsafe` or one more dependency.
fn signal_to(signal: &str, whom: &str) -> Result<()> {
    let status = Command::new("kill").args(["-s", signal, "--", whom]).stderr(Stdio::null()).status()?;
    if !status.success() {
        bail!("no process {whom} to signal");
    }
    Ok(())
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
        self.folder.forget(self.group);
    }
}
