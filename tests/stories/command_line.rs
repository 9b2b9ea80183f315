//! `aro` on the command line: usage, exit codes, and the verbs against a running system.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{Folder, Kubectl, Output, binary};

use crate::world::World;

async fn aro(folder: &Path, args: &[&str]) -> Result<Output> {
    let mut command = tokio::process::Command::new(binary("aro")?);
    command.args(args).current_dir(folder).env("HOME", folder).kill_on_drop(true);
    let output =
        tokio::time::timeout(tests_kit::GENEROUS, command.output()).await.context("it does not end")??;
    Ok(Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_goes_where_it_belongs() -> Result<()> {
    let folder = Folder::new("command-line")?;
    let help = aro(folder.path(), &["--help"]).await?;
    ensure!(
        help.status == 0 && help.stdout.contains("serve") && help.stdout.contains("kubeconfig"),
        "{help:?}"
    );
    for args in [&[][..], &["no-such-verb"], &["kubeconfig"], &["serve", "--no-such-flag"]] {
        let output = aro(folder.path(), args).await?;
        ensure!(
            output.status == 2 && output.stdout.is_empty() && !output.stderr.is_empty(),
            "{args:?}: {output:?}"
        );
    }
    let completion = aro(folder.path(), &["completion", "bash"]).await?;
    ensure!(completion.status == 0 && completion.stdout.contains("complete"), "{completion:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_checked_with_every_mistake_at_once() -> Result<()> {
    let folder = Folder::new("command-line")?;
    folder.write(
        "aro.toml",
        "[listen]\nportal = \"nowhere\"\n[limits]\ndrain = \"soon\"\n[storee]\npath = \"x\"\n",
    )?;
    let output = aro(folder.path(), &["check-config"]).await?;
    ensure!(output.status == 1, "{output:?}");
    for mistake in ["listen.portal", "limits.drain", "storee", "oidc.issuer"] {
        ensure!(output.stderr.contains(mistake), "{mistake}: {output:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn verbs_do_the_main_job_without_a_browser() -> Result<()> {
    let world = World::get().await?;
    let folder = Folder::new("command-line")?;
    let ca = world.aro.dev.ca_file.to_string_lossy().into_owned();
    let cookie = |session: &tests_kit::Session| session.cookie().map(str::to_owned).context("a cookie");
    let sre = folder.write("sre.cookie", cookie(&world.aro.session("sre").await?)?)?;
    let auditor = folder.write("auditor.cookie", cookie(&world.aro.session("auditor").await?)?)?;
    let connection = |file: &Path| {
        ["--portal", &world.aro.dev.url, "--ca-file", &ca, "--session-cookie-file", &file.to_string_lossy()]
            .map(str::to_owned)
            .to_vec()
    };
    let run = async |file: &Path, args: &[&str]| {
        let connection = connection(file);
        let all: Vec<&str> = args.iter().copied().chain(connection.iter().map(String::as_str)).collect();
        aro(folder.path(), &all).await
    };
    ensure!(run(&sre, &["whoami"]).await?.ok()?.contains("sre"));
    let list: Value =
        serde_json::from_str(&run(&sre, &["clusters", "list", "named", "-o", "json"]).await?.ok()?)?;
    ensure!(list["items"][0]["name"] == "named" && list["total"] == 1, "{list}");
    let take = ["kubeconfig", "named", "--reason", "taken on the command line", "--file", "taken.kubeconfig"];
    let taken = run(&sre, &take).await?;
    ensure!(taken.status == 0 && taken.stdout.is_empty(), "{taken:?}");
    let kubectl = Kubectl::new(&folder, &folder.path().join("taken.kubeconfig"))?;
    ensure!(kubectl.ok(&["get", "pods", "-o", "name"]).await?.contains("pod/web"));
    let grants: Value = serde_json::from_str(&run(&sre, &["grants", "list", "-o", "json"]).await?.ok()?)?;
    ensure!(grants.to_string().contains("taken on the command line"), "{grants}");
    let audit = run(&auditor, &["audit", "list", "--person", "sre", "-o", "json"]).await?.ok()?;
    ensure!(audit.contains("kubeconfig") || audit.contains("grant"), "{audit}");
    let refused = run(&sre, &["audit", "list"]).await?;
    ensure!(
        refused.status != 0 && refused.stdout.is_empty() && refused.stderr.contains("auditor"),
        "{refused:?}"
    );
    Ok(())
}
