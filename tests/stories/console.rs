//! `aro console`: a real Chromium, led through a tunnel and nowhere else.

use anyhow::{Context as _, Result, ensure};
use tests_kit::{GENEROUS, part, until};
use tokio::io::AsyncReadExt as _;

use crate::tunnel::{CONSOLE, OAUTH, Site};

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_of_its_own_opens_the_console_and_signs_in() -> Result<()> {
    let site = Site::get().await?;
    let chromium = part("chromium")?.to_string_lossy().into_owned();
    let arguments = [
        "console",
        "tunnelled",
        "--reason",
        "the console in a browser",
        "--browser",
        &chromium,
        "--",
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--remote-debugging-port=0",
    ];
    let mut child = site.aro_command(&arguments, "console")?.spawn()?;
    let mut notes = child.stderr.take().context("standard error")?;
    let seen = until("the console's page runs in the browser, signed in", GENEROUS * 3, || async {
        let asked = site.asked();
        ensure!(asked.contains(&format!("{CONSOLE} /seen?signed-in 204")), "{asked}");
        Ok(asked)
    })
    .await;
    // Politely, so that the browser ends with it.
    let pid = child.id().context("it runs")?.to_string();
    ensure!(std::process::Command::new("kill").args(["-INT", &pid]).status()?.success());
    tokio::time::timeout(GENEROUS, child.wait()).await.context("it goes on")??;
    let mut said = String::new();
    notes.read_to_string(&mut said).await?;
    let seen = seen.with_context(|| said.clone())?;
    // Under its real names, with a certificate of an untrusted authority: accepted by its pinned key.
    ensure!(seen.contains(&format!("{OAUTH} /authorize 302")) && seen.contains("HeadlessChrome"), "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_a_password_of_its_own_says_so() -> Result<()> {
    let site = Site::get().await?;
    let output = site.aro_ends(&["console", "tunnelled", "--credentials"], "credentials").await?;
    // An elevation to write is not enough, and an imported cluster has none.
    ensure!(output.status == 4 && output.stdout.is_empty(), "{output:?}");
    Ok(())
}
