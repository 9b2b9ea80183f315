//! The real Chromium, driven by scripts of `tests/browser`.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use crate::{Folder, Process, part, workspace};

/// Chromium on busy cores is slow, and axe takes seconds of a whole core for one page.
const LIMIT: Duration = Duration::from_secs(400);

/// Runs `tests/browser/SCRIPT.mjs` and gives what it wrote to its result file.
///
/// The script gets `input` as JSON in `INPUT`, the paths of the parts in `CHROMIUM`, `NODE_MODULES` and
/// `AXE`, a folder for downloads and pictures in `FOLDER`, and writes JSON to the file `RESULT`.
///
/// # Errors
/// A part is missing, the script failed (with what it said) or took longer than the limit.
pub async fn browser(folder: &Folder, script: &str, input: &Value) -> Result<Value> {
    browser_within(LIMIT, folder, script, input).await
}

/// As [`browser`], for a script that looks at a great many pages.
///
/// # Errors
/// As [`browser`].
pub async fn browser_within(limit: Duration, folder: &Folder, script: &str, input: &Value) -> Result<Value> {
    let path = workspace().join("tests/browser").join(format!("{script}.mjs"));
    let result = folder.path().join(format!("{script}.result.json"));
    let _ = std::fs::remove_file(&result);
    let mut command = Command::new(part("node")?);
    command
        .arg(&path)
        .env("INPUT", input.to_string())
        .env("CHROMIUM", part("chromium")?)
        .env("NODE_MODULES", part("node-modules")?)
        .env("AXE", part("axe-core")?)
        .env("FOLDER", folder.path())
        .env("RESULT", &result)
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null());
    let process = Process::start(folder, script, &mut command)?;
    let status = process.wait(limit).await?;
    if !status.success() {
        bail!("tests/browser/{script}.mjs: {status}\n{}", process.tail());
    }
    let text = std::fs::read(&result).map_err(|error| anyhow!("{script} left no result: {error}"))?;
    serde_json::from_slice(&text).context("the result of a browser script is JSON")
}
