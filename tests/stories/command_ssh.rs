//! `aro ssh`, `aro scp` and plain OpenSSH by its configuration: the real OpenSSH on people's side, and a real server on
//! the machine's where files go.

mod shell_fixture;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use shell_fixture::{CLUSTER, MACHINE, ShellFixture};
use tests_kit::{GENEROUS, Output, part, until};
use tokio::process::Command;

use crate::tunnel::Site;

/// A cluster with machines, as lists show it.
pub(crate) async fn row(site: &Site) -> Result<Value> {
    let found = site.session().await?.get("/api/v1/clusters?limit=50").await?.ok()?.json()?;
    let ready = |row: &&Value| row["source"] == "aro" && row["provisioningState"] == "Succeeded";
    let items = found["items"].as_array().context("items")?;
    items.iter().find(ready).cloned().with_context(|| found.to_string())
}

async fn cluster(site: &Site) -> Result<String> {
    row(site).await?["name"].as_str().map(str::to_owned).context("a name")
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
    // The access is still active: no reason is asked for again, whichever machine it is.
    let again = site.aro_ends(&["ssh", &name, "master-1", "--", "exit 7"], "ssh").await?;
    ensure!(again.status == 7, "{again:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_ssh_reaches_machines_by_name() -> Result<()> {
    let site = Site::get().await?;
    let name = cluster(site).await?;
    let file = site.folder.path().join("machines.config");
    // Written below the folder where the command runs, and named so that OpenSSH finds it from anywhere.
    let config = ["ssh", "config", &name, "--reason", "plain ssh of a story", "--file", "machines.config"];
    let written = site.aro_ends(&config, "ssh-config").await?;
    let include = format!("Include {}", file.display());
    ensure!(written.status == 0 && written.stderr.contains(&include), "{written:?}");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_reached_through_a_master() -> Result<()> {
    let site = Site::get().await?;
    let row = row(site).await?;
    let text = |name: &str| row[name].as_str().with_context(|| row.to_string());
    let (name, resource) = (text("name")?, text("resourceId")?.to_ascii_lowercase());
    let session = site.session().await?;
    let machines = session.get(&format!("/api/v1/clusters{resource}/ssh/machines")).await?.ok()?.json()?;
    let machines = machines["items"].as_array().context("items")?;
    let behind = machines.iter().find(|one| one["way"] == "through" && one["ready"] == true);
    let worker = behind.and_then(|one| one["name"].as_str()).with_context(|| format!("{machines:?}"))?;
    let command = ["ssh", name, worker, "--reason", "a worker of a story", "--", "hostname; exit 3"];
    let output = site.aro_ends(&command, "ssh-worker").await?;
    ensure!(output.status == 3 && output.stdout.trim() == worker, "{output:?}");
    Ok(())
}

/// Bytes that no compression helps with.
fn bytes(size: u32) -> Vec<u8> {
    (0..size).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_to_a_machine_and_back() -> Result<()> {
    let here = ShellFixture::get().await?;
    let folder = here.place("papers");
    std::fs::create_dir_all(folder.join("inner"))?;
    let sent = bytes(3_000_000);
    std::fs::write(folder.join("inner/large"), &sent)?;
    std::fs::write(folder.join("a name with blanks"), "small")?;
    let (from, there) = (folder.display().to_string(), here.place("there").display().to_string());
    let far = format!("{MACHINE}:{there}");
    let unasked = here.site.aro_ends(&["scp", CLUSTER, "-r", &from, &far], "scp-unasked").await?;
    ensure!(unasked.status == 2 && unasked.stderr.contains("--reason"), "{unasked:?}");
    let up = ["scp", CLUSTER, "-r", "--reason", "papers of a story", &from, &far];
    here.site.aro_ends(&up, "scp").await?.ok()?;
    let back = here.place("back").display().to_string();
    // The access is still active: no reason is asked for again.
    here.site.aro_ends(&["scp", CLUSTER, "-r", "-p", &far, &back], "scp").await?.ok()?;
    ensure!(std::fs::read(here.place("back/inner/large"))? == sent, "other bytes came back");
    ensure!(std::fs::read_to_string(here.place("back/a name with blanks"))? == "small");
    let nobody = ["scp", CLUSTER, "node-9:/etc/hostname", &back];
    let nobody = here.site.aro_ends(&nobody, "scp").await?;
    ensure!(nobody.status != 0 && nobody.stderr.contains("no machine node-9"), "{nobody:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_ssh_scp_and_rsync_know_machines_by_name_until_the_access_ends() -> Result<()> {
    let here = ShellFixture::get().await?;
    let config = here.config("plain").await?.display().to_string();
    let host = format!("{MACHINE}.{CLUSTER}");
    let ran = here.run("ssh", &["-F", &config, &host, "echo out; echo err >&2; exit 5"]).await?;
    ensure!((ran.status, ran.stdout.as_str()) == (5, "out\n") && ran.stderr.contains("err\n"), "{ran:?}");

    let sent = bytes(1_000_000);
    let file = here.place("plain-file");
    std::fs::write(&file, &sent)?;
    let file = file.display().to_string();
    let far = |name: &str| format!("{host}:{}", here.place(name).display());
    here.run("scp", &["-F", &config, &file, &far("by-scp")]).await?.ok()?;
    let shell = format!("{} -F {config}", part("ssh")?.display());
    here.run("rsync", &["-a", "-e", &shell, &file, &far("by-rsync")]).await?.ok()?;
    for name in ["by-scp", "by-rsync"] {
        ensure!(std::fs::read(here.place(name))? == sent, "{name}: other bytes came");
    }
    // No way on to anywhere that the access does not name.
    let jump = here.run("ssh", &["-F", &config, "-W", "127.0.0.1:22", &host]).await?;
    ensure!(jump.status == 255 && jump.stderr.contains("names no such destination"), "{jump:?}");

    let session = here.site.session().await?;
    let mine = session.get("/api/v1/grants?mine=true&kind=ssh&limit=100").await?.ok()?.json()?;
    let of = |grant: &&Value| {
        grant["reason"] == json!("plain OpenSSH of a story") && grant["state"] == json!("active")
    };
    let items = mine["items"].as_array().context("items")?;
    let grant =
        items.iter().find(of).and_then(|grant| grant["id"].as_str()).with_context(|| mine.to_string())?;
    session.revoke(grant).await?;
    until("plain ssh is refused", GENEROUS, || async {
        let refused = here.run("ssh", &["-F", &config, "-o", "BatchMode=yes", &host, "true"]).await?;
        ensure!(refused.status == 255, "{refused:?}");
        Ok(())
    })
    .await
}
