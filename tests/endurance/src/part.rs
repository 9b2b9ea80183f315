//! One process of a replica: `aro portal`, `aro rp` or `aro monitor`.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use tests_kit::{Folder, Process, binary, free_port, until};

/// For a start beside everything else that runs.
const START: Duration = Duration::from_secs(180);
/// For one answer of an admin listener.
const ANSWER: Duration = Duration::from_secs(8);

/// What the process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Portal, API proxy, SSH.
    Portal,
    /// The resource provider: its API and its workers.
    Provider,
    Monitor,
}

impl Role {
    const fn verb(self) -> &'static str {
        match self {
            Self::Portal => "portal",
            Self::Provider => "rp",
            Self::Monitor => "monitor",
        }
    }
}

/// The ports of a process; 0 where it has no such listener.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    /// Of the portal's, or of the provider's API.
    pub(crate) web: u16,
    pub(crate) ssh: u16,
    pub(crate) admin: u16,
}

/// A process that may die and come again.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) ports: Ports,
    folder: Folder,
    admin: reqwest::Client,
    /// `None` until its first start.
    process: Mutex<Option<Process>>,
}

impl Part {
    /// A process of a replica, not started yet; its files are in the folder.
    ///
    /// # Errors
    /// There is no free port.
    pub(crate) fn new(folder: &Folder, role: Role, replica: usize) -> Result<Self> {
        let port = |wanted: bool| if wanted { free_port() } else { Ok(0) };
        Ok(Self {
            name: format!("{}-{replica}", role.verb()),
            role,
            ports: Ports {
                web: port(role != Role::Monitor)?,
                ssh: port(role == Role::Portal)?,
                admin: free_port()?,
            },
            folder: folder.clone(),
            admin: reqwest::Client::builder().no_proxy().timeout(ANSWER).build()?,
            process: Mutex::new(None),
        })
    }

    /// Writes its settings.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn configure(&self, text: &str) -> Result<()> {
        self.folder.write(&format!("{}.toml", self.name), text).map(drop)
    }

    /// Starts it, without waiting for it.
    ///
    /// # Errors
    /// The program is not built, or cannot be started.
    pub(crate) fn start(&self) -> Result<()> {
        let mut command = Command::new(binary("aro")?);
        command.args([self.role.verb(), "--config", &format!("{}.toml", self.name)]);
        let process = Process::start(&self.folder, &self.name, command.current_dir(self.folder.path()))?;
        *self.process.lock() = Some(process);
        Ok(())
    }

    /// Ends it at once (`SIGKILL`), and waits until it is gone.
    ///
    /// # Errors
    /// It had ended by itself before, or the kernel does not say.
    pub(crate) fn kill(&self) -> Result<()> {
        self.lives()?;
        self.process.lock().take().context("it does not run")?.kill()
    }

    /// Freezes it (`SIGSTOP`), or lets it go on (`SIGCONT`).
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn freeze(&self, frozen: bool) -> Result<()> {
        let process = self.process.lock();
        process.as_ref().context("it does not run")?.signal(if frozen { "STOP" } else { "CONT" })
    }

    /// Fails if it has ended by itself.
    ///
    /// # Errors
    /// It has; with the end of its log.
    pub(crate) fn lives(&self) -> Result<()> {
        let process = self.process.lock();
        let Some(process) = process.as_ref() else { return Ok(()) };
        let status = process.exited()?;
        ensure!(status.is_none(), "{} ended by itself: {status:?}\n{}", self.name, process.tail());
        Ok(())
    }

    /// Its process id; 0 while it does not run.
    pub(crate) fn pid(&self) -> u32 {
        self.process.lock().as_ref().map_or(0, Process::pid)
    }

    /// The end of its log.
    pub(crate) fn tail(&self) -> String {
        self.process.lock().as_ref().map(Process::tail).unwrap_or_default()
    }

    /// An answer of its admin listener with status 200.
    ///
    /// # Errors
    /// None came in time, or one with another status.
    pub(crate) async fn admin(&self, path: &str) -> Result<String> {
        let answer = self.admin.get(format!("http://127.0.0.1:{}{path}", self.ports.admin)).send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        ensure!(status == 200, "{}: {path}: {status} {text}", self.name);
        Ok(text)
    }

    /// Waits until it says that it is ready.
    ///
    /// # Errors
    /// It ended, or is not ready in time.
    pub(crate) async fn ready(&self) -> Result<()> {
        let what = format!("{} is ready", self.name);
        let ready = until(&what, START, || async {
            // Looked at below: an end is no reason to wait on.
            if self.lives().is_err() {
                return Ok(());
            }
            self.admin("/healthz/ready").await.map(drop)
        });
        ready.await.with_context(|| self.tail())?;
        self.lives()
    }
}

/// The value of a gauge without labels, from a text of metrics; of one with labels, the sum.
pub(crate) fn gauge(metrics: &str, name: &str) -> Option<f64> {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let fits = rest.starts_with(' ') || rest.starts_with('{');
        fits.then(|| rest.rsplit(' ').next()?.parse::<f64>().ok())?
    });
    values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_read_by_its_whole_name_and_summed_over_its_labels() {
        let text = "# HELP tasks x\ntasks 7\ntasks_more 9\nopen{a=\"b c\"} 2\nopen{a=\"d\"} 3\n";
        assert_eq!(gauge(text, "tasks"), Some(7.0));
        assert_eq!(gauge(text, "open"), Some(5.0));
        assert_eq!(gauge(text, "other"), None);
    }
}
