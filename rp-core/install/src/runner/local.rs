//! The release's own `openshift-install` as a process of this machine.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::{Secret, SharedClock, SharedRandom};
use rp_node_config::ignition::Config;
use serde_json::Value;
use tokio::io::AsyncRead;
use tokio::process::Command;
use tokio::task::JoinHandle;

use super::folder::{Attempt, RunFolder, Stage, failed, read};
use super::{Assets, CERTIFICATE, InstallOrder, InstallRunner, Proof, RunError, output};
use crate::authority::Authority;
use crate::state::InstallerState;
use crate::transform::{BootstrapAdditions, bootstrap, pointer};
use crate::{config, manifests};

/// The installer's own folder within a stage.
const ASSETS: &str = "assets";
const STATE: &str = "assets/.openshift_install_state.json";
const OVERRIDES: &str = "assets/manifests/cvo-overrides.yaml";
const BOOTSTRAP: &str = "assets/bootstrap.ign";
const MASTER: &str = "assets/master.ign";
const WORKER: &str = "assets/worker.ign";
const HTTP_SECRET: &str = "http-secret";
/// The largest asset that is read, in bytes.
const MOST_ASSET: u64 = 64 << 20;
/// Who installs, as the cluster tells it to Red Hat (`contract/installer.md` §11).
const INVOKER: &str = "ARO";

/// Runs a binary in a folder of each installation's own.
#[derive(Debug)]
pub struct LocalProcess {
    binary: PathBuf,
    /// Holds a folder for each installation, mode 0700.
    root: PathBuf,
    /// Longest time of one command.
    deadline: Duration,
    /// More of the installer's environment; the service's own is not passed on.
    environment: Vec<(String, String)>,
    clock: SharedClock,
    random: SharedRandom,
}

/// A command of the installer.
#[derive(Debug, Clone, Copy)]
struct Create {
    command: &'static str,
    target: &'static str,
    /// What it must have made.
    makes: &'static [&'static str],
}

const MANIFESTS: Create =
    Create { command: "create manifests", target: "manifests", makes: &[STATE, OVERRIDES] };
const IGNITION: Create = Create {
    command: "create ignition-configs",
    target: "ignition-configs",
    makes: &[STATE, BOOTSTRAP, MASTER, WORKER],
};

impl LocalProcess {
    /// Of that binary; its folders are below `root`.
    pub const fn new(
        binary: PathBuf,
        root: PathBuf,
        deadline: Duration,
        clock: SharedClock,
        random: SharedRandom,
    ) -> Self {
        Self { binary, root, deadline, environment: Vec::new(), clock, random }
    }

    /// With more variables in the installer's environment, such as those of a proxy.
    #[must_use]
    pub fn with_environment(mut self, environment: Vec<(String, String)>) -> Self {
        self.environment = environment;
        self
    }

    fn inputs(&self, folder: &RunFolder, order: &InstallOrder) -> Result<PathBuf, RunError> {
        let attempt = folder.begin(Stage::Inputs, None, &*self.random)?;
        let config = config::install_config(&order.facts);
        attempt.write("assets/install-config.yaml", config.expose().as_bytes(), &*self.random)?;
        if let Some(key) = &order.bound_signing_key {
            let path = "assets/tls/bound-service-account-signing-key.key";
            attempt.write(path, key.expose().as_bytes(), &*self.random)?;
        }
        attempt.write(HTTP_SECRET, self.http_secret().as_bytes(), &*self.random)?;
        attempt.commit()
    }

    /// 64 bytes as hex; the registry's replicas share them.
    fn http_secret(&self) -> String {
        let mut bytes = [0; 64];
        self.random.fill(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    async fn manifests(
        &self,
        folder: &RunFolder,
        order: &InstallOrder,
        before: &Path,
    ) -> Result<PathBuf, RunError> {
        let attempt = folder.begin(Stage::Manifests, Some(before), &*self.random)?;
        let custom = manifests::custom(order.custom_manifests.clone())?;
        self.run(MANIFESTS, &attempt, order).await?;
        // Half a file is found now, while the stage can be made anew.
        InstallerState::parse(&asset(&attempt.path, STATE)?)?;
        let secret = asset(&attempt.path, HTTP_SECRET)?;
        let ours = manifests::ours(&order.facts, &String::from_utf8_lossy(&secret))?;
        for manifest in ours.iter().chain(&custom) {
            let path = format!("{ASSETS}/{}", manifest.path);
            attempt.write(&path, manifest.contents().as_bytes(), &*self.random)?;
        }
        let overrides = asset(&attempt.path, OVERRIDES)?;
        let text = String::from_utf8_lossy(&overrides);
        let before: Value = serde_saphyr::from_str(&text).map_err(|_| RunError::Form { path: OVERRIDES })?;
        let after = manifests::with_overrides(before, &custom);
        attempt.write(OVERRIDES, format!("{after:#}\n").as_bytes(), &*self.random)?;
        attempt.commit()
    }

    async fn ignition(
        &self,
        folder: &RunFolder,
        order: &InstallOrder,
        before: &Path,
    ) -> Result<PathBuf, RunError> {
        let attempt = folder.begin(Stage::Ignition, Some(before), &*self.random)?;
        self.run(IGNITION, &attempt, order).await?;
        InstallerState::parse(&asset(&attempt.path, STATE)?)?;
        for path in [BOOTSTRAP, MASTER, WORKER] {
            ignition_config(&attempt.path, path)?;
        }
        attempt.commit()
    }

    fn changed(&self, folder: &RunFolder, order: &InstallOrder, before: &Path) -> Result<PathBuf, RunError> {
        let attempt = folder.begin(Stage::Assets, None, &*self.random)?;
        let state = InstallerState::parse(&asset(before, STATE)?)?;
        let root = Authority::read("the installer's root authority", &state.root()?)?;
        let additions = BootstrapAdditions {
            logging: order.logging.as_ref(),
            root: &root,
            random: &*self.random,
            now: self.clock.now(),
        };
        let address = order.facts.names.api_int;
        let changed = [
            (BOOTSTRAP, bootstrap(ignition_config(before, BOOTSTRAP)?, &order.facts, &additions)?),
            (MASTER, pointer(ignition_config(before, MASTER)?, "master", address)?),
            (WORKER, pointer(ignition_config(before, WORKER)?, "worker", address)?),
        ];
        for (path, config) in changed {
            attempt.write(path, &config.to_bytes(), &*self.random)?;
        }
        attempt.write(STATE, state.to_json().expose(), &*self.random)?;
        attempt.commit()
    }

    /// One command of the installer, in the folder of an attempt.
    async fn run(&self, create: Create, attempt: &Attempt, order: &InstallOrder) -> Result<(), RunError> {
        let home = attempt.path.join("home");
        let credentials = order.credentials.file(&home);
        attempt.write("home/osServicePrincipal.json", credentials.expose().as_bytes(), &*self.random)?;
        if let Proof::Certificate(pem) = &order.credentials.proof {
            attempt.write(&format!("home/{CERTIFICATE}"), pem.expose().as_bytes(), &*self.random)?;
        }
        let (status, output) = self.process(create, attempt, order, &home).await?;
        // Credentials are there while the installer runs and no longer.
        std::fs::remove_dir_all(&home).map_err(failed("remove the credentials"))?;
        if !status.success() {
            return Err(RunError::Failed { command: create.command, status: status.to_string(), output });
        }
        match create.makes.iter().find(|path| !attempt.path.join(path).is_file()) {
            Some(path) => Err(RunError::NoAsset { command: create.command, path, output }),
            None => Ok(()),
        }
    }

    async fn process(
        &self,
        create: Create,
        attempt: &Attempt,
        order: &InstallOrder,
        home: &Path,
    ) -> Result<(ExitStatus, String), RunError> {
        let mut child = Command::new(&self.binary)
            .args(["create", create.target, "--log-level", "info", "--dir"])
            .arg(attempt.path.join(ASSETS))
            .env_clear()
            .env("HOME", home)
            .env("AZURE_AUTH_LOCATION", home.join("osServicePrincipal.json"))
            .env("OPENSHIFT_INSTALL_INVOKER", INVOKER)
            .env("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE", &order.release_image)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&attempt.path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| RunError::Start { binary: self.binary.display().to_string(), source })?;
        // They are read beside the wait: a full pipe would stop the installer.
        let streams = [gathered(child.stdout.take()), gathered(child.stderr.take())];
        let ended = tokio::time::timeout(self.deadline, child.wait()).await;
        if ended.is_err() {
            let _ = child.start_kill();
        }
        let text = told(streams, &secrets(order)).await;
        match ended {
            Ok(status) => Ok((status.map_err(failed("wait for the installer"))?, text)),
            Err(_) => Err(RunError::Deadline {
                command: create.command,
                seconds: self.deadline.as_secs(),
                output: text,
            }),
        }
    }
}

/// A file of a stage; nothing where there is none.
fn asset(stage: &Path, path: &'static str) -> Result<Vec<u8>, RunError> {
    read(stage, path, MOST_ASSET).map(Option::unwrap_or_default)
}

fn ignition_config(stage: &Path, path: &'static str) -> Result<Config, RunError> {
    Config::parse(&asset(stage, path)?).map_err(|error| RunError::Transform(error.into()))
}

/// Reads a stream to its end.
fn gathered<S: AsyncRead + Unpin + Send + 'static>(stream: Option<S>) -> JoinHandle<Vec<u8>> {
    tokio::spawn(async move {
        match stream {
            Some(stream) => output::tail(stream).await,
            None => Vec::new(),
        }
    })
}

/// Both streams, one after the other. A process that the installer started may hold them open: they are waited for only a
/// moment.
async fn told(streams: [JoinHandle<Vec<u8>>; 2], secrets: &[Secret<String>]) -> String {
    const A_MOMENT: Duration = Duration::from_secs(2);
    let mut all = Vec::new();
    for mut stream in streams {
        match tokio::time::timeout(A_MOMENT, &mut stream).await {
            Ok(Ok(piece)) => all.extend_from_slice(&piece),
            Ok(Err(_)) => {}
            Err(_) => stream.abort(),
        }
    }
    output::shown(&all, secrets)
}

/// What may stand in the installer's output and is none of its reader's business.
fn secrets(order: &InstallOrder) -> Vec<Secret<String>> {
    let pull_secret = &order.facts.pull_secret;
    let mut all = Vec::new();
    for credentials in pull_secret.registries().filter_map(|registry| pull_secret.get(registry)) {
        let pair = format!("{}:{}", credentials.user, credentials.password.expose());
        all.push(Secret::new(STANDARD.encode(pair)));
        all.push(credentials.password);
    }
    all.push(pull_secret.to_json());
    let (Proof::Secret(proof) | Proof::Certificate(proof)) = &order.credentials.proof;
    all.push(proof.clone());
    all
}

#[async_trait]
impl InstallRunner for LocalProcess {
    async fn assets(&self, order: &InstallOrder) -> Result<Assets, RunError> {
        let folder = RunFolder::take(&self.root, &order.id)?;
        let assets = match folder.done(Stage::Assets) {
            Some(assets) => assets,
            None => self.remaining(&folder, order).await?,
        };
        Ok(Assets {
            bootstrap: Secret::new(asset(&assets, BOOTSTRAP)?),
            master: Secret::new(asset(&assets, MASTER)?),
            worker: Secret::new(asset(&assets, WORKER)?),
            state: InstallerState::parse(&asset(&assets, STATE)?)?,
        })
    }

    async fn remove(&self, id: &str) -> Result<(), RunError> {
        RunFolder::remove(&self.root, id)
    }

    async fn kept(&self) -> Result<Vec<String>, RunError> {
        RunFolder::ids(&self.root)
    }
}

impl LocalProcess {
    /// The stages that are not done yet.
    async fn remaining(&self, folder: &RunFolder, order: &InstallOrder) -> Result<PathBuf, RunError> {
        let ignition = match folder.done(Stage::Ignition) {
            Some(done) => done,
            None => {
                let manifests = match folder.done(Stage::Manifests) {
                    Some(done) => done,
                    None => {
                        let inputs = match folder.done(Stage::Inputs) {
                            Some(done) => done,
                            None => self.inputs(folder, order)?,
                        };
                        self.manifests(folder, order, &inputs).await?
                    }
                };
                self.ignition(folder, order, &manifests).await?
            }
        };
        self.changed(folder, order, &ignition)
    }
}
