//! Where the real parts lie: `parts.json`, written by `tests/parts/install`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, Result, anyhow};

/// The absolute path of a part by its name in `tests/parts/README.md`.
///
/// # Errors
/// It is not installed; the error names the command that installs it.
pub fn part(name: &str) -> Result<PathBuf> {
    static PARTS: OnceLock<Result<BTreeMap<String, PathBuf>, String>> = OnceLock::new();
    let parts = PARTS.get_or_init(|| read().map_err(|error| format!("{error:#}")));
    let parts = parts.as_ref().map_err(|error| anyhow!("{error}; install the parts: make parts"))?;
    let path = parts.get(name).ok_or_else(|| anyhow!("no part {name}; install it: make parts"))?;
    anyhow::ensure!(path.exists(), "part {name} is gone from {}; install it: make parts", path.display());
    Ok(path.clone())
}

fn read() -> Result<BTreeMap<String, PathBuf>> {
    let folder = match std::env::var_os("ARO_PARTS_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache/aro-parts"),
    };
    let file = folder.join("parts.json");
    let text = std::fs::read(&file).with_context(|| format!("no parts: {}", file.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} cannot be read", file.display()))
}

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    kit.parent().and_then(Path::parent).unwrap_or(kit)
}
