//! The certified npm OpenID provider.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{Folder, GENEROUS, Process, part};

/// A running provider.
#[derive(Debug)]
pub struct Provider {
    /// Its issuer URL.
    pub issuer: String,
    _process: Process,
}

impl Provider {
    /// What it is to do differently from now on; `control` of its configuration must be [`Self::CONTROL`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn control(folder: &Folder, change: &Value) -> Result<()> {
        // Replaced at once, for it is read at any time.
        let new = folder.write("provider-control.new", change.to_string())?;
        Ok(std::fs::rename(new, folder.path().join(Self::CONTROL))?)
    }

    /// The file beside the configuration that [`Self::control`] writes.
    pub const CONTROL: &str = "provider-control.json";

    /// Starts it with a configuration as `tests/parts/README.md` shows.
    ///
    /// # Errors
    /// A part is missing, or it does not come up.
    pub async fn start(folder: &Folder, config: &Value) -> Result<Self> {
        let file = folder.write("provider.json", config.to_string())?;
        let mut command = Command::new(part("node")?);
        command.arg(part("oidc-provider")?).arg(&file).current_dir(folder.path());
        let process = Process::start(folder, "oidc-provider", &mut command)?;
        let issuer = process.ready(GENEROUS, || async { announced(process.log_path(), "issuer") }).await?;
        Ok(Self { issuer, _process: process })
    }
}

/// The value that a part printed as a line of JSON when it was ready.
pub(crate) fn announced(log: &Path, key: &str) -> Result<String> {
    let text = std::fs::read_to_string(log)?;
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|line| line.get(key).and_then(Value::as_str).map(str::to_owned))
        .with_context(|| format!("no line with {key}"))
}
