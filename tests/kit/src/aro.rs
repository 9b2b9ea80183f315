//! Our own binaries as processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::{Folder, Kubectl, Process, Session, free_port};

/// A debug build on two busy cores.
const START: Duration = Duration::from_secs(120);
/// What comes before the name in the resource id of an imported cluster (`design.md` §5).
const IMPORTED: &str = "/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters";

/// A binary of this workspace, in the folder of the running test's own profile.
///
/// # Errors
/// It is not built.
pub fn binary(name: &str) -> Result<PathBuf> {
    let test = std::env::current_exe()?;
    let profile = test.parent().and_then(Path::parent).context("a test lies in target/PROFILE/deps")?;
    let path = profile.join(name);
    ensure!(path.exists(), "no {}; build it: cargo build -p {name}", path.display());
    Ok(path)
}

/// An account of the built-in sign-in.
#[derive(Debug, Clone, Deserialize)]
pub struct Account {
    pub name: String,
    pub password: String,
    #[serde(default)]
    pub groups: Vec<String>,
}

/// `dev.json` (`design.md` §5 "Dev folder").
#[derive(Debug, Clone, Deserialize)]
pub struct Dev {
    pub url: String,
    pub proxy_url: String,
    #[serde(default)]
    pub admin_url: String,
    #[serde(default)]
    pub issuer: String,
    pub ca_file: PathBuf,
    pub accounts: Vec<Account>,
    pub pid: u32,
}

/// How to start it.
#[derive(Debug, Clone, Default)]
pub struct AroOptions {
    /// Simulated clusters.
    pub clusters: u32,
    /// Keep the ports over a restart.
    pub fixed_ports: bool,
    pub env: Vec<(String, String)>,
}

/// A running `aro-dev`.
#[derive(Debug)]
pub struct Aro {
    pub dev: Dev,
    folder: Folder,
    options: AroOptions,
    port_base: u16,
    process: Process,
}

impl Aro {
    /// Starts `aro-dev` on a fresh data folder and free ports.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn start(options: AroOptions) -> Result<Self> {
        let folder = Folder::new("dev")?;
        let port_base = if options.fixed_ports { free_range()? } else { 0 };
        let (process, dev) = run(&folder, &options, port_base).await?;
        Ok(Self { dev, folder, options, port_base, process })
    }

    /// Starts it again on the same data folder, after [`Process::kill`] or a polite end.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn restart(&mut self) -> Result<()> {
        self.process.kill()?;
        (self.process, self.dev) = run(&self.folder, &self.options, self.port_base).await?;
        Ok(())
    }

    /// The process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// For files beside the data folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The authority of its certificates, in PEM.
    ///
    /// # Errors
    /// The file is gone.
    pub fn ca_pem(&self) -> Result<String> {
        std::fs::read_to_string(&self.dev.ca_file).with_context(|| self.dev.ca_file.display().to_string())
    }

    /// An account's password.
    ///
    /// # Errors
    /// No such account.
    pub fn password(&self, name: &str) -> Result<&str> {
        let account = self.dev.accounts.iter().find(|account| account.name == name);
        Ok(&account.with_context(|| format!("no account {name}"))?.password)
    }

    /// A session of a built-in account, by `aro-dev session`.
    ///
    /// # Errors
    /// The command failed.
    pub async fn session(&self, name: &str) -> Result<Session> {
        let cookie = self.verb("session", &["--as", name]).await?;
        let cookie = cookie.trim();
        let cookie = cookie.strip_prefix("Cookie: ").unwrap_or(cookie).to_owned();
        Session::new(&self.ca_pem()?, &self.dev.url, Some(cookie))
    }

    /// The portal for somebody who is not signed in.
    ///
    /// # Errors
    /// The authority's file is gone.
    pub fn stranger(&self) -> Result<Session> {
        Session::new(&self.ca_pem()?, &self.dev.url, None)
    }

    /// The proxy's address, for a bearer token.
    ///
    /// # Errors
    /// The authority's file is gone.
    pub fn proxy(&self) -> Result<Session> {
        Session::new(&self.ca_pem()?, &self.dev.proxy_url, None)
    }

    /// Imports a cluster by `aro-dev import` and gives its resource id.
    ///
    /// # Errors
    /// It was refused.
    pub async fn import(&self, kubeconfig: &Path, name: &str, as_groups: &[&str]) -> Result<String> {
        let kubeconfig = kubeconfig.to_string_lossy().into_owned();
        let groups = as_groups.join(",");
        let mut args = vec!["--kubeconfig", &kubeconfig, "--name", name];
        if !groups.is_empty() {
            args.extend(["--as-groups", &groups]);
        }
        self.verb("import", &args).await?;
        Ok(format!("{IMPORTED}/{name}"))
    }

    /// kubectl with a kubeconfig that this person takes for a cluster.
    ///
    /// # Errors
    /// It was refused.
    pub async fn kubectl(&self, person: &str, resource: &str, rights: &str) -> Result<Kubectl> {
        let text = self.session(person).await?.kubeconfig(resource, rights, "story of the tests", None).await?;
        self.kubectl_with(&text)
    }

    /// kubectl with a kubeconfig's text.
    ///
    /// # Errors
    /// kubectl is missing.
    pub fn kubectl_with(&self, kubeconfig: &str) -> Result<Kubectl> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let n = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let file = self.folder.write(&format!("taken-{n}.kubeconfig"), kubeconfig)?;
        Kubectl::new(&self.folder, &file)
    }

    /// Runs `aro-dev VERB --data-dir … ARGS` to its end and gives its standard output.
    ///
    /// # Errors
    /// It failed; with what it said.
    pub async fn verb(&self, verb: &str, args: &[&str]) -> Result<String> {
        let mut command = tokio::process::Command::new(binary("aro-dev")?);
        command.arg(verb).arg("--data-dir").arg(self.data()).args(args).kill_on_drop(true);
        let output = tokio::time::timeout(START, command.output()).await.context("it does not end")??;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("aro-dev {verb} {}: {}: {said}\n{}", args.join(" "), output.status, self.process.tail());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Adds the end of its log to an error.
    ///
    /// # Errors
    /// The same as given.
    pub fn explain<T>(&self, result: Result<T>) -> Result<T> {
        result.with_context(|| self.process.tail())
    }
}

async fn run(folder: &Folder, options: &AroOptions, port_base: u16) -> Result<(Process, Dev)> {
    let data = folder.path().join("data");
    let ready = data.join("dev.json");
    if ready.exists() {
        std::fs::remove_file(&ready)?;
    }
    let mut command = Command::new(binary("aro-dev")?);
    command.arg("--data-dir").arg(&data).arg("--port-base").arg(port_base.to_string());
    command.arg("--clusters").arg(options.clusters.to_string());
    command.envs(options.env.iter().map(|(name, value)| (name, value))).current_dir(folder.path());
    let process = Process::start(folder, "aro-dev", &mut command)?;
    let dev = process.ready(START, || async {
        let text = std::fs::read(&ready).context("no dev.json yet")?;
        Ok(serde_json::from_slice::<Dev>(&text)?)
    });
    let dev = dev.await?;
    ensure!(dev.pid == process.pid(), "dev.json names process {}", dev.pid);
    Ok((process, dev))
}

/// The first of twelve ports in a row that are free now.
fn free_range() -> Result<u16> {
    for _ in 0..100 {
        let first = free_port()?;
        let range = first..first.saturating_add(12);
        let free = range.clone().all(|port| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok());
        if free && range.len() == 12 {
            return Ok(first);
        }
    }
    bail!("no twelve free ports in a row")
}
