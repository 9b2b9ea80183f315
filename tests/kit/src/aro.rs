//! Our own binaries as processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rp_client::{Client, ClientOptions};
use serde::Deserialize;

use crate::{Checker, Folder, GENEROUS, Kubectl, Process, Session, until};

/// A debug build on two busy cores.
const START: Duration = Duration::from_secs(120);
/// What comes before the name in the resource id of an imported cluster (`contract/rules.md` §5.6).
const IMPORTED: &str = "/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/imported/providers/microsoft.redhatopenshift/openshiftclusters";

/// A binary of this workspace, of the running program's own profile: a test lies in `target/PROFILE/deps`,
/// a benchmark beside the binary.
///
/// # Errors
/// It is not built.
pub fn binary(name: &str) -> Result<PathBuf> {
    let path = profile_folder()?.join(name);
    ensure!(path.exists(), "no {}; build it: cargo build -p {name}", path.display());
    Ok(path)
}

/// `aro` in the folder of cargo's target folder that `ARO_TEST_SHIPPED` names, for stories of what ships. Without it, as
/// [`binary`].
///
/// # Errors
/// It is not built.
pub fn shipped_binary() -> Result<PathBuf> {
    let Ok(folder) = std::env::var("ARO_TEST_SHIPPED") else { return binary("aro") };
    let path = profile_folder()?.with_file_name(&folder).join("aro");
    ensure!(path.exists(), "no {}; tests/run builds it, or cargo build --release -p aro", path.display());
    Ok(path)
}

fn profile_folder() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().context("a program lies in a folder")?;
    Ok(if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder }.to_owned())
}

/// A binary of the version whose programs are in the folder that `ARO_EARLIER` names: the soak runs stories with mixed
/// versions. Without it, as [`binary`].
///
/// # Errors
/// It is not built.
pub fn earlier_binary(name: &str) -> Result<PathBuf> {
    let Some(folder) = std::env::var_os("ARO_EARLIER") else { return binary(name) };
    let path = Path::new(&folder).join(name);
    ensure!(path.exists(), "no {}", path.display());
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

/// `dev.json` (`contract/rules.md` §5.18 "Dev folder").
#[derive(Debug, Clone, Deserialize)]
pub struct Dev {
    pub url: String,
    pub proxy_url: String,
    /// The resource provider's API; everybody may call it.
    #[serde(default)]
    pub rp_url: String,
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
    /// Log filter; `info` when empty.
    pub log: String,
    /// More of the environment, such as `ARO_LIMITS__DRAIN`.
    pub env: Vec<(String, String)>,
    /// The folder of another version's programs; those of this workspace without.
    pub programs: Option<PathBuf>,
}

impl AroOptions {
    fn program(&self, name: &str) -> Result<PathBuf> {
        self.programs.as_ref().map_or_else(|| binary(name), |folder| Ok(folder.join(name)))
    }
}

/// A running `aro-dev`.
#[derive(Debug)]
pub struct Aro {
    pub dev: Dev,
    folder: Folder,
    options: AroOptions,
    process: Process,
}

impl Aro {
    /// Starts `aro-dev` on a fresh data folder and free ports.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn start(options: AroOptions) -> Result<Self> {
        Self::start_in(Folder::new("dev")?, options).await
    }

    /// Starts `aro-dev` on the folder `data` in this one, which an earlier process left there.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn start_in(folder: Folder, options: AroOptions) -> Result<Self> {
        let (process, dev) = run(&folder, &options).await?;
        Ok(Self { dev, folder, options, process })
    }

    /// Starts another version's programs on the same data folder.
    ///
    /// # Errors
    /// They do not come up.
    pub async fn restart_by(&mut self, programs: &Path) -> Result<()> {
        self.options.programs = Some(programs.to_owned());
        self.restart().await
    }

    /// Starts it again on the same data folder, after [`Process::kill`] or a polite end.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn restart(&mut self) -> Result<()> {
        self.process.kill()?;
        (self.process, self.dev) = run(&self.folder, &self.options).await?;
        Ok(())
    }

    /// As [`Aro::restart`], with more of the environment from now on.
    ///
    /// # Errors
    /// It does not come up.
    pub async fn restart_with(&mut self, env: &[(&str, &str)]) -> Result<()> {
        let more = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.options.env.extend(more);
        self.restart().await
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
        Session::open(&self.ca_pem()?, &self.dev.url, Some(cookie))
    }

    /// The portal for somebody who is not signed in.
    ///
    /// # Errors
    /// The authority's file is gone.
    pub fn stranger(&self) -> Result<Session> {
        Session::open(&self.ca_pem()?, &self.dev.url, None)
    }

    /// The proxy's address, for a bearer token.
    ///
    /// # Errors
    /// The authority's file is gone.
    pub fn proxy(&self) -> Result<Session> {
        Session::open(&self.ca_pem()?, &self.dev.proxy_url, None)
    }

    /// A client of the resource provider's API. Every answer is compared with the published description.
    ///
    /// # Errors
    /// The process has no such API, or the authority's file is gone.
    pub fn rp(&self) -> Result<Client> {
        let url = self.dev.rp_url.parse().with_context(|| format!("rp_url {:?}", self.dev.rp_url))?;
        Ok(Client::new(ClientOptions {
            ca_pem: Some(self.ca_pem()?),
            observer: Some(Checker::shared()?),
            patience: Duration::from_millis(200),
            ..ClientOptions::new(url)
        })?)
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

    /// [`Self::import`], then waits until pages and grants know the cluster.
    ///
    /// # Errors
    /// It was refused, or is unknown for long.
    pub async fn import_and_wait(&self, kubeconfig: &Path, name: &str, as_groups: &[&str]) -> Result<String> {
        let resource = self.import(kubeconfig, name, as_groups).await?;
        let session = self.session("sre").await?;
        until("the imported cluster is known", GENEROUS, || async {
            session.get(&resource).await?.ok().map(|_| ())
        })
        .await?;
        Ok(resource)
    }

    /// kubectl with a kubeconfig that this person takes for a cluster.
    ///
    /// # Errors
    /// It was refused.
    pub async fn kubectl(&self, person: &str, resource: &str, rights: &str) -> Result<Kubectl> {
        let text =
            self.session(person).await?.kubeconfig(resource, rights, "story of the tests", None).await?;
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
        let mut command = tokio::process::Command::new(self.options.program("aro-dev")?);
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

async fn run(folder: &Folder, options: &AroOptions) -> Result<(Process, Dev)> {
    let data = folder.path().join("data");
    let ready = data.join("dev.json");
    if ready.exists() {
        std::fs::remove_file(&ready)?;
    }
    let mut command = Command::new(options.program("aro-dev")?);
    // Free ports; the folder keeps them over a restart.
    command.arg("--data-dir").arg(&data).arg("--port-base=0");
    command.arg("--clusters").arg(options.clusters.to_string());
    command.arg("--log").arg(if options.log.is_empty() { "info" } else { &options.log });
    // What a story sees stays as it was seeded, unless it asks for more.
    command.env("ARO_DEV_FAULTS", "0").env("ARO_MONITOR__ENABLED", "false");
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
