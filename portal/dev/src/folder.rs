//! The data folder: the state that is kept between two starts.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rp_base::{Id, Random, SystemRandom, durable};
use serde::{Deserialize, Serialize};

use crate::accounts::{self, DevAccount};

/// What a folder keeps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DevState {
    pub(crate) accounts: Vec<DevAccount>,
    pub(crate) ports: Ports,
    /// The simulated fleet's seed.
    pub(crate) seed: u64,
    /// Bearer token of the control listener.
    pub(crate) control: String,
}

/// Eight ports on loopback.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Ports {
    pub(crate) portal: u16,
    pub(crate) oidc: u16,
    pub(crate) region: u16,
    pub(crate) admin: u16,
    pub(crate) control: u16,
    /// Zero in folders of earlier versions.
    #[serde(default)]
    pub(crate) azure: u16,
    /// As `azure`.
    #[serde(default)]
    pub(crate) rp: u16,
    /// As `azure`.
    #[serde(default)]
    pub(crate) ssh: u16,
}

/// The folder itself.
#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder with mode 0700, or takes one that is there.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let what = || format!("cannot use the data folder {}", path.display());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(what)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).with_context(what)?;
        Ok(Self(path.canonicalize().with_context(what)?))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// What the folder keeps; made at the first start.
    pub(crate) fn load_state(&self, port_base: u16, random: &dyn Random) -> anyhow::Result<DevState> {
        let file = self.file("kept.json");
        let mut kept: DevState = if file.exists() {
            serde_json::from_str(&read_text(&file)?)
                .context("kept.json cannot be read; remove the data folder")?
        } else {
            let mut seed = [0u8; 8];
            random.fill(&mut seed);
            DevState {
                accounts: accounts::make(random),
                ports: Ports::choose(port_base)?,
                seed: u64::from_le_bytes(seed) >> 16,
                control: Id::random(random).to_string(),
            }
        };
        if port_base != 0 {
            kept.ports = Ports::from_base(port_base)?;
        } else {
            kept.ports.complete()?;
        }
        write_private(&file, &serde_json::to_string_pretty(&kept)?)?;
        Ok(kept)
    }
}

/// Listeners on free ports below those that the kernel gives to connections (`ip_local_port_range`): the folder keeps its
/// ports while nothing runs on it, and nobody else is to have them at the next start.
fn free_listeners(count: usize) -> anyhow::Result<Vec<TcpListener>> {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 22_000;
    // Processes that start at once begin apart.
    let begin = std::process::id().wrapping_mul(97);
    let ports = (0..COUNT).filter_map(|step| u16::try_from(FIRST + begin.wrapping_add(step) % COUNT).ok());
    let bound = ports.filter_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
    let held: Vec<TcpListener> = bound.take(count).collect();
    anyhow::ensure!(held.len() == count, "no {count} ports from {FIRST} on are free");
    Ok(held)
}

impl Ports {
    fn choose(base: u16) -> anyhow::Result<Self> {
        if base != 0 {
            return Self::from_base(base);
        }
        // All eight are held until the last is known, so that they differ.
        let held = free_listeners(8)?;
        let ports: Vec<u16> = held
            .iter()
            .map(|held| held.local_addr().map(|address| address.port()))
            .collect::<Result<_, _>>()?;
        let [portal, oidc, region, admin, control, azure, rp, ssh] = ports[..] else {
            anyhow::bail!("no ports are free");
        };
        Ok(Self { portal, oidc, region, admin, control, azure, rp, ssh })
    }

    fn from_base(base: u16) -> anyhow::Result<Self> {
        base.checked_add(7).context("--port-base is too high")?;
        let (portal, azure, rp, ssh) = (base + 4, base + 5, base + 6, base + 7);
        Ok(Self { portal, oidc: base + 1, region: base + 2, admin: base + 3, control: base, azure, rp, ssh })
    }

    /// Gives a port to what earlier versions did not have.
    fn complete(&mut self) -> anyhow::Result<()> {
        let held = free_listeners(3)?;
        for (port, held) in [&mut self.azure, &mut self.rp, &mut self.ssh].into_iter().zip(held) {
            if *port == 0 {
                *port = held.local_addr()?.port();
            }
        }
        Ok(())
    }
}

pub(crate) fn read_text(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    write(path, text, 0o600)
}

pub(crate) fn write_public(path: &Path, text: &str) -> anyhow::Result<()> {
    write(path, text, 0o644)
}

/// Whole or not at all: a reader never sees half a file.
fn write(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let what = || format!("cannot write {}", path.display());
    durable::replace(path, text.as_bytes(), mode, &SystemRandom).with_context(what)
}
