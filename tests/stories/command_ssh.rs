//! `aro ssh` and plain `ssh` by its configuration, with the real OpenSSH on people's side.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{GENEROUS, Output, part};
use tokio::process::Command;

use crate::tunnel::Site;

/// A cluster with machines.
async fn cluster(site: &Site) -> Result<String> {
    let found = site.session().await?.get("/api/v1/clusters?limit=50").await?.ok()?.json()?;
    let ready = |row: &&Value| row["source"] == "aro" && row["provisioningState"] == "Succeeded";
    let items = found["items"].as_array().context("items")?;
    let one = items.iter().find(ready).with_context(|| found.to_string())?;
    one["name"].as_str().map(str::to_owned).context("a name")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_on_a_machine_and_its_status_comes_back() -> Result<()> {
    let site = Site::get().await?;
    let name = cluster(site).await?;
    let unasked = site.aro_ends(&["ssh", &name, "master-0", "--", "hostname"], "ssh-unasked").await?;
    ensure!(unasked.status == 2 && unasked.stderr.contains("--reason"), "{unasked:?}");
    let first = ["ssh", &name, "master-0", "--reason", "a command of a story", "--", "hostname"];
    let output = site.aro_ends(&first, "ssh").await?;
    ensure!(output.status == 0 && output.stdout.trim().ends_with("-master-0"), "{output:?}");
    // The access lives: nobody is asked again, whichever machine it is.
    let again = site.aro_ends(&["ssh", &name, "master-1", "--", "exit 7"], "ssh").await?;
    ensure!(again.status == 7, "{again:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_ssh_reaches_machines_by_name() -> Result<()> {
    let site = Site::get().await?;
    let name = cluster(site).await?;
    let file = site.folder.path().join("machines.config");
    let written = file.to_string_lossy().into_owned();
    let config = ["ssh", "config", &name, "--reason", "plain ssh of a story", "--file", &written];
    site.aro_ends(&config, "ssh-config").await?.ok()?;
    let mut command = Command::new(part("ssh")?);
    command
        .arg("-F")
        .arg(&file)
        .arg(format!("master-2.{name}"))
        .arg("hostname")
        .env("HOME", site.folder.path());
    command.kill_on_drop(true).stdin(std::process::Stdio::null());
    let output = tokio::time::timeout(GENEROUS * 2, command.output()).await.context("it does not end")??;
    let output = Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    ensure!(output.status == 0 && output.stdout.trim().ends_with("-master-2"), "{output:?}");
    Ok(())
}
