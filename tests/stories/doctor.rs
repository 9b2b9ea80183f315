//! `aro doctor`: what it finds on a deployment that runs, on one with faults, and on PostgreSQL.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{Aro, AroOptions, Authority, Folder, GENEROUS, Postgres, until};

use crate::command_line::aro;

/// The findings of `aro doctor`, and its exit code.
async fn doctor(folder: &Path, args: &[&str]) -> Result<(i32, Vec<Value>)> {
    let output = aro(folder, &[&["doctor", "-o", "json"], args].concat()).await?;
    let report: Value = serde_json::from_str(&output.stdout).with_context(|| format!("{output:?}"))?;
    let findings = report["findings"].as_array().context("findings")?.clone();
    ensure!(report["ok"] == (output.status == 0), "{report}");
    Ok((output.status, findings))
}

/// The findings of a check that ended so.
fn of(findings: &[Value], check: &str, verdict: &str) -> Vec<String> {
    let fits = |finding: &&Value| finding["check"] == check && finding["verdict"] == verdict;
    findings
        .iter()
        .filter(fits)
        .map(|finding| finding["found"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_that_runs_has_no_failed_check() -> Result<()> {
    let system = Aro::start(AroOptions::default()).await?;
    // The check of the API's readiness is on the admin listener too, and takes a moment.
    let found = until("nothing fails", GENEROUS, || async {
        let (status, found) = doctor(&system.data(), &[]).await?;
        ensure!(status == 0, "{found:#?}");
        Ok(found)
    })
    .await?;
    for check in
        ["settings", "certificate", "keys", "store", "name", "provider", "listener", "process", "version"]
    {
        ensure!(!of(&found, check, "ok").is_empty(), "{check}: {found:#?}");
    }
    let told = aro(&system.data(), &["doctor"]).await?;
    ensure!(told.status == 0 && told.stdout.contains("runs and is ready"), "{told:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_is_named_with_what_to_do() -> Result<()> {
    let system = Aro::start(AroOptions::default()).await?;
    let data = system.data();
    let settings: toml::Value = toml::from_str(&fs::read_to_string(data.join("aro.toml"))?)?;
    let (_, before) = doctor(&data, &[]).await?;
    ensure!(of(&before, "keys", "failed").is_empty(), "{before:#?}");
    // The process ends; its provider with it.
    system.process().signal("TERM")?;
    system.process().wait(GENEROUS).await?;
    let key = |section: &str, key: &str| -> Result<std::path::PathBuf> {
        let value = settings.get(section).and_then(|section| section.get(key)).and_then(toml::Value::as_str);
        Ok(data.join(value.with_context(|| format!("{section}.{key}"))?))
    };
    let pair = Authority::new("Another")?.server(&["elsewhere.example"])?;
    let (certificate, private) = pair.write(&data, "elsewhere")?;
    fs::remove_file(key("keys", "keyring_file")?)?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let set = [
        format!("tls.cert_file={}", certificate.display()),
        format!("tls.key_file={}", private.display()),
        format!("listen.portal={}", taken.local_addr()?),
    ];
    let args: Vec<&str> = set.iter().flat_map(|set| ["--set", set.as_str()]).collect();
    let (status, found) = doctor(&data, &args).await?;
    ensure!(status == 1, "{found:#?}");
    let failed = |check: &str, words: &str| -> Result<()> {
        let fits = of(&found, check, "failed").iter().any(|found| found.contains(words));
        ensure!(fits, "{check} does not say {words:?}: {found:#?}");
        Ok(())
    };
    failed("certificate", "does not carry")?;
    failed("keys", "is not there, and the store is not empty")?;
    failed("provider", "the provider is away")?;
    failed("listener", "in use, and no aro of these settings answers")?;
    ensure!(of(&found, "process", "skipped").len() == 1, "{found:#?}");
    let silent =
        found.iter().filter(|f| f["verdict"] == "failed" && f["action"].as_str().is_none_or(str::is_empty));
    ensure!(silent.count() == 0, "every fault has an action: {found:#?}");
    // It has made nothing.
    ensure!(!key("keys", "keyring_file")?.exists(), "a keyring was made");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_of_the_settings_are_all_that_is_told() -> Result<()> {
    let folder = Folder::new("doctor-settings")?;
    folder.write("aro.toml", "[store]\nkind = \"paper\"\n")?;
    let (status, found) = doctor(folder.path(), &[]).await?;
    ensure!(status == 1 && found.len() == 1 && of(&found, "settings", "failed").len() == 1, "{found:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_reached_without_being_changed() -> Result<()> {
    let server = Postgres::start().await?;
    let url = server.database().await?;
    let folder = Folder::new("doctor-postgres")?;
    folder.write("url", &url)?;
    folder.write("aro.toml", "[store]\nkind = \"postgres\"\nurl_file = \"url\"\n[listen]\nportal = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n")?;
    let (status, found) = doctor(folder.path(), &[]).await?;
    ensure!(status == 0, "{found:#?}");
    ensure!(of(&found, "store", "ok").iter().any(|found| found.ends_with("answers, is empty")), "{found:#?}");
    ensure!(of(&found, "clock", "ok").len() == 1, "{found:#?}");
    let (_, again) = doctor(folder.path(), &[]).await?;
    ensure!(of(&again, "store", "ok").iter().any(|found| found.ends_with("answers, is empty")), "{again:#?}");
    server.stop().await?;
    let (status, found) = doctor(folder.path(), &[]).await?;
    ensure!(status == 1 && of(&found, "store", "failed").len() == 1, "{found:#?}");
    Ok(())
}
