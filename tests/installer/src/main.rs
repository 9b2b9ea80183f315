//! `openshift-install create manifests|ignition-configs --dir DIR`, as far as the service uses it. What it does wrong on
//! purpose is chosen by the variable `STAND_IN_FAULT`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use rcgen::{KeyPair, PKCS_RSA_SHA256};
use serde_json::{Value, json};
use tests_installer::assets;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Create {
        target: Target,
        #[arg(long)]
        dir: PathBuf,
        #[arg(long)]
        log_level: Option<String>,
    },
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Target {
    Manifests,
    IgnitionConfigs,
}

/// What the installer refuses to do without.
const REQUIRED: [&str; 9] = [
    "/metadata/name",
    "/baseDomain",
    "/sshKey",
    "/platform/azure/region",
    "/platform/azure/resourceGroupName",
    "/platform/azure/baseDomainResourceGroupName",
    "/controlPlane/platform/azure/osImage/sku",
    "/compute/0/platform/azure/type",
    "/networking/clusterNetwork/0/cidr",
];
const STATE: &str = ".openshift_install_state.json";

fn main() -> Result<()> {
    let Verb::Create { target, dir, .. } = Cli::parse().verb;
    let fault = std::env::var("STAND_IN_FAULT").unwrap_or_default();
    match fault.split_once(':') {
        Some((at, fault)) if at == name(target) => faulty(fault, target, &dir),
        _ => create(target, &dir),
    }
}

fn name(target: Target) -> &'static str {
    match target {
        Target::Manifests => "manifests",
        Target::IgnitionConfigs => "ignition-configs",
    }
}

fn create(target: Target, dir: &Path) -> Result<()> {
    ensure!(std::env::var("OPENSHIFT_INSTALL_INVOKER")? == "ARO", "the invoker is not ARO");
    ensure!(!std::env::var("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE")?.is_empty(), "no release image");
    let credentials = fs::read(std::env::var("AZURE_AUTH_LOCATION")?).context("the credentials")?;
    let credentials: Value = serde_json::from_slice(&credentials)?;
    ensure!(credentials["clientSecret"].is_string(), "credentials without a secret");
    match target {
        Target::Manifests => manifests(dir),
        Target::IgnitionConfigs => ignition_configs(dir),
    }
}

/// What goes wrong, by its name.
fn faulty(fault: &str, target: Target, dir: &Path) -> Result<()> {
    match fault {
        "hang" => std::thread::sleep(Duration::from_secs(3600)),
        "nothing" => {}
        "half" => {
            create(target, dir)?;
            let made = if target == Target::Manifests { STATE } else { "bootstrap.ign" };
            let whole = fs::read(dir.join(made))?;
            fs::write(dir.join(made), &whole[..whole.len() / 2])?;
        }
        "dies" => {
            create(target, dir)?;
            std::process::abort();
        }
        "refuses" => {
            let secret: Value = serde_json::from_slice(&fs::read(std::env::var("AZURE_AUTH_LOCATION")?)?)?;
            let secret = secret["clientSecret"].as_str().unwrap_or_default();
            bail!("level=error msg=cannot sign in with {secret}");
        }
        "garbage" => {
            let mut stderr = std::io::stderr().lock();
            for _ in 0..20_000 {
                stderr.write_all(
                    b"\x1b[31m\xff\x00 garbage of a hundred bytes that goes on and on and on and on and on\n",
                )?;
            }
            std::process::exit(7);
        }
        // The first run waits until somebody takes the file away, so that a test can kill its parent meanwhile.
        "waits" => {
            let wait = PathBuf::from(std::env::var("STAND_IN_WAIT")?);
            fs::write(wait.with_extension("begun"), "")?;
            while wait.exists() {
                std::thread::sleep(Duration::from_millis(20));
            }
            create(target, dir)?;
        }
        other => bail!("no fault {other}"),
    }
    Ok(())
}

/// Takes the install config away, as the installer does.
fn manifests(dir: &Path) -> Result<()> {
    let path = dir.join("install-config.yaml");
    let config: Value = serde_saphyr::from_str(&fs::read_to_string(&path).context("install-config.yaml")?)?;
    for pointer in REQUIRED {
        ensure!(config.pointer(pointer).is_some_and(|value| !value.is_null()), "{pointer} is missing");
    }
    let pull_secret = config["pullSecret"].as_str().context("no pull secret")?;
    let pull_secret: Value = serde_json::from_str(pull_secret)?;
    ensure!(pull_secret["auths"].is_object(), "a pull secret without registries");
    let domain = format!(
        "{}.{}",
        config["metadata"]["name"].as_str().unwrap_or_default(),
        config["baseDomain"].as_str().unwrap_or_default()
    );
    let root = assets::authority(&KeyPair::generate_for(&PKCS_RSA_SHA256)?);
    for (path, text) in assets::manifests(&root, &domain) {
        write(&dir.join(path), text.as_bytes())?;
    }
    let state = assets::state(&root, &domain, &config);
    write(&dir.join(STATE), state.to_string().as_bytes())?;
    fs::remove_file(path)?;
    Ok(())
}

/// Everything below `manifests` and `openshift` goes to the bootstrap machine.
fn ignition_configs(dir: &Path) -> Result<()> {
    let state: Value = serde_json::from_slice(&fs::read(dir.join(STATE)).context("the state")?)?;
    let mut files = BTreeMap::new();
    for folder in ["manifests", "openshift"] {
        for entry in fs::read_dir(dir.join(folder)).with_context(|| format!("the folder {folder}"))? {
            let entry = entry?;
            let text = fs::read_to_string(entry.path())?;
            let _: Value = serde_saphyr::from_str(&text).with_context(|| format!("{:?}", entry.path()))?;
            files.insert(format!("/opt/openshift/{folder}/{}", entry.file_name().to_string_lossy()), text);
        }
    }
    let domain = state["*installconfig.ClusterID"]["Domain"].as_str().unwrap_or_default().to_owned();
    let bootstrap = assets::bootstrap(&files, &state)?;
    write(&dir.join("bootstrap.ign"), bootstrap.to_string().as_bytes())?;
    for role in ["master", "worker"] {
        write(&dir.join(format!("{role}.ign")), assets::pointer(role, &domain).to_string().as_bytes())?;
    }
    write(&dir.join("auth/kubeadmin-password"), b"abcde-fghij-klmno-pqrst")?;
    write(&dir.join("metadata.json"), json!({ "clusterName": domain }).to_string().as_bytes())
}

fn write(path: &Path, contents: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, contents)?)
}
