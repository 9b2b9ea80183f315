//! `aro` on the command line: usage, exit codes, and the verbs against a running system.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Folder, Kubectl, Output, binary, browser};

use crate::terminal::{Terminal, agree};
use crate::world::World;

pub(crate) async fn aro(folder: &Path, args: &[&str]) -> Result<Output> {
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
    ensure!(!help.stdout.contains('\u{1b}'), "colours without a terminal: {help:?}");
    for args in [&[][..], &["no-such-verb"], &["kubeconfig"], &["serve", "--no-such-flag"]] {
        let output = aro(folder.path(), args).await?;
        ensure!(
            output.status == 2 && output.stdout.is_empty() && !output.stderr.is_empty(),
            "{args:?}: {output:?}"
        );
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let completion = aro(folder.path(), &["completion", shell]).await?;
        ensure!(completion.status == 0 && completion.stdout.contains("ARO_COMPLETE"), "{completion:?}");
    }
    let help = aro(folder.path(), &["grants", "extend", "--help"]).await?;
    ensure!(help.stdout.contains("aro grants extend 3f2a --life 2h"), "an example: {help:?}");
    let codes = aro(folder.path(), &["help", "exit-codes"]).await?;
    ensure!(codes.status == 0 && codes.stdout.contains("3  not signed in"), "{codes:?}");
    let stranger = aro(folder.path(), &["grants", "list"]).await?;
    ensure!(stranger.status == 3 && stranger.stderr.contains("aro login --portal"), "{stranger:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_are_where_a_person_wants_them() -> Result<()> {
    let folder = Folder::new("command-line")?;
    for (name, value, coloured) in [
        ("TERM", "xterm", false),
        ("TERM", "dumb", false),
        ("CLICOLOR_FORCE", "1", true),
        ("NO_COLOR", "1", false),
    ] {
        let mut command = tokio::process::Command::new(binary("aro")?);
        for other in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(other);
        }
        command.arg("--help").env(name, value).env("HOME", folder.path()).kill_on_drop(true);
        let ended = tokio::time::timeout(tests_kit::GENEROUS, command.output());
        let help = String::from_utf8(ended.await.context("it does not end")??.stdout)?;
        ensure!(help.contains('\u{1b}') == coloured, "{name}={value}: {help:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_early_is_no_error() -> Result<()> {
    let folder = Folder::new("command-line")?;
    for args in [&["completion", "bash"][..], &["--help"], &["exit-codes"], &["print", "metrics"]] {
        let mut command = tokio::process::Command::new(binary("aro")?);
        command.args(args).current_dir(folder.path()).env("HOME", folder.path()).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // As `head` does when it has its lines: the other end of the pipe is gone before all is written.
        drop(child.stdout.take());
        let ended = tokio::time::timeout(tests_kit::GENEROUS, child.wait_with_output());
        let ended = ended.await.context("it does not end")??;
        let said = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success() && said.is_empty(), "{args:?}: {} {said}", ended.status);
    }
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
    // Every state that the command line offers is one that the portal knows.
    let states = "healthy,succeeded,degraded,failed,noanswer,creating,updating,adminupdating,deleting,canceled,\
                  maintenance,imported,unknown";
    run(&sre, &["clusters", "list", "--state", states, "-o", "name"]).await?.ok()?;
    let bogus = run(&sre, &["clusters", "list", "--state", "bogus"]).await?;
    ensure!(bogus.status == 2 && bogus.stderr.contains("noanswer"), "{bogus:?}");
    let take = [
        "kubeconfig",
        "named",
        "--reason",
        "taken on the command line",
        "--static",
        "-f",
        "taken.kubeconfig",
    ];
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

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_in_by_a_real_browser_and_signs_out() -> Result<()> {
    let terminal = Terminal::new().await?;
    let world = terminal.world;
    let mut waiting = terminal.begin_login(&["--no-browser"]).await?;
    let asked = json!({
        "url": world.aro.dev.url, "account": "sre", "password": world.aro.password("sre")?,
        "page": waiting.address.as_str(),
    });
    let seen = world.aro.explain(browser(&terminal.home, "cli-login", &asked).await)?;
    ensure!(seen["violations"] == json!([]), "accessibility: {}", seen["violations"]);
    ensure!(seen["last"].as_str().is_some_and(|text| text.contains("close this tab")), "{seen}");
    let said = waiting.end().await?;
    ensure!(said.starts_with("signed in as sre at https://"), "{said}");

    let who = terminal.json(&["whoami"]).await?;
    ensure!(who["username"] == "sre", "{who}");
    ensure!(terminal.run(&["clusters", "list", "named"]).await?.ok()?.contains("named"));
    // Its token is a grant like any other, listed and ended like any other.
    let grants = terminal.json(&["grants", "list", "--kind", "cli", "--state", "active"]).await?;
    ensure!(grants["items"].as_array().is_some_and(|items| !items.is_empty()), "{grants}");
    let kept = std::fs::read_to_string(terminal.profile_file("token.json"))?;
    ensure!(terminal.run(&["logout"]).await?.ok()?.contains("signed out"));
    ensure!(!terminal.profile_file("token.json").exists());
    let kept: Value = serde_json::from_str(&kept)?;
    let token = terminal.home.write("old.token", kept["token"].as_str().context("a token")?)?;
    let connection = ["--token-file", &token.to_string_lossy(), "--portal", &world.aro.dev.url];
    let ca = world.aro.dev.ca_file.to_string_lossy();
    let late = terminal.run(&[&["whoami", "--ca-file", &ca], &connection[..]].concat()).await?;
    ensure!(late.status == 3, "the token lives on: {late:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_signs_in_by_a_code_entered_elsewhere() -> Result<()> {
    let terminal = Terminal::new().await?;
    let mut waiting = terminal.begin_login(&["--device", "--profile", "lab"]).await?;
    agree(&terminal.world.aro.session("viewer").await?, &waiting.address).await?;
    ensure!(waiting.end().await?.starts_with("signed in as viewer"));
    ensure!(terminal.json(&["whoami", "--profile", "lab"]).await?["username"] == "viewer");
    let other = terminal.run(&["whoami"]).await?;
    ensure!(other.status == 3, "another profile is not signed in: {other:?}");
    Ok(())
}

/// What a shell's script asks for when a person has typed these words of a command line.
async fn completed(terminal: &Terminal, words: &[&str]) -> Result<String> {
    let mut command = terminal.command(&[&["--"], words].concat())?;
    command.env("ARO_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
    command.env("_CLAP_IFS", "\n");
    let output = tokio::time::timeout(tests_kit::GENEROUS, command.output()).await;
    let output = output.context("it does not end")??;
    ensure!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_completed_and_nobody_is_asked_to_sign_in() -> Result<()> {
    let stranger = Terminal::new().await?;
    ensure!(completed(&stranger, &["aro", "nodes", "na"]).await?.is_empty());
    ensure!(completed(&stranger, &["aro", "elev"]).await?.contains("elevations"));
    let terminal = Terminal::signed_in("sre").await?;
    terminal.run(&["clusters", "list"]).await?.ok()?;
    let names = completed(&terminal, &["aro", "nodes", "na"]).await?;
    ensure!(names.lines().any(|name| name == "named"), "{names}");
    ensure!(terminal.run(&["logout"]).await?.ok()?.contains("signed out"));
    ensure!(completed(&terminal, &["aro", "nodes", "na"]).await?.is_empty(), "names outlive the sign-in");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_are_listed_shown_extended_and_ended() -> Result<()> {
    let terminal = Terminal::signed_in("sre").await?;
    let reason = "the life of a grant on the command line";
    terminal.run(&["kubeconfig", "named", "--reason", reason, "--life", "1h"]).await?.ok()?;
    let mine = terminal.json(&["grants", "list", "--text", reason, "--state", "active"]).await?;
    let grant = mine["items"][0].clone();
    ensure!(grant["reason"] == reason && mine["items"][1].is_null(), "{mine}");
    let id = grant["id"].as_str().context("an id")?;
    ensure!(terminal.json(&["grants", "show", id]).await?.to_string().contains(reason));
    terminal.run(&["grants", "extend", id, "--life", "2h"]).await?.ok()?;
    let extended = terminal.json(&["grants", "list", "--text", reason]).await?;
    ensure!(extended["items"][0]["not_after"].as_str() > grant["not_after"].as_str(), "{extended}");

    let other = Terminal::signed_in("viewer").await?;
    let refused = other.run(&["grants", "show", id]).await?;
    ensure!(refused.status == 4 || refused.status == 5, "somebody else's: {refused:?}");
    let asks = terminal.run(&["grants", "revoke", "--cluster", "named"]).await?;
    ensure!(asks.status == 2 && asks.stderr.contains("--yes"), "{asks:?}");
    terminal.run(&["grants", "revoke", id, "--why", "done"]).await?.ok()?;
    let ended = terminal.json(&["grants", "list", "--text", reason]).await?;
    ensure!(ended["items"][0]["state"] == "revoked", "{ended}");
    Ok(())
}
