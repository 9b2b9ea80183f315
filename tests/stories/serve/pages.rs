//! Every page in a real browser: accessible in both themes and two widths, never wider than the window,
//! usable by keyboard alone and without scripts.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, Kubectl, browser};
use tokio::sync::OnceCell;

/// Enough clusters for three pages of the list.
const CLUSTERS: u32 = 120;

async fn fleet() -> Result<&'static Aro> {
    static FLEET: OnceCell<Aro> = OnceCell::const_new();
    FLEET
        .get_or_try_init(|| async {
            let aro = Aro::start(AroOptions { clusters: CLUSTERS, ..AroOptions::default() }).await?;
            let sre = aro.session("admin").await?;
            let list = sre.get("/api/v1/clusters?state=Succeeded").await?.ok()?.json()?;
            let id = list["items"][0]["resourceId"].as_str().or(list["items"][0]["resource_id"].as_str());
            let id = id.with_context(|| format!("no cluster: {list}"))?.to_ascii_lowercase();
            for reason in
                ["looked at by a story", "looked at by another story, with a reason that is rather long"]
            {
                sre.kubeconfig(&id, "read", reason, None).await?;
            }
            Ok(aro)
        })
        .await
}

async fn look(script: &str, account: &str, scheme: &str) -> Result<(&'static Aro, Value)> {
    let aro = fleet().await?;
    let password = aro.password(account)?;
    let input = json!({ "url": aro.dev.url, "account": account, "password": password, "scheme": scheme });
    let seen = aro.explain(browser(aro.folder(), script, &input).await)?;
    ensure!(seen["errors"] == json!([]), "errors of the pages: {}", seen["errors"]);
    Ok((aro, seen))
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_accessible_and_never_wider_than_the_window() -> Result<()> {
    for scheme in ["light", "dark"] {
        let (_, seen) = look("axe", "admin", scheme).await?;
        ensure!(seen["violations"] == json!([]), "{scheme}: accessibility: {:#}", seen["violations"]);
        ensure!(seen["wide"] == json!([]), "{scheme}: wider than the window: {:#}", seen["wide"]);
        ensure!(seen["looked"].as_u64().is_some_and(|n| n >= 8 * 2), "{scheme}: {}", seen["looked"]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_reach_everything() -> Result<()> {
    let (_, seen) = look("keyboard", "admin", "light").await?;
    let expected = json!({
        "search": true, "clusters": "/", "first": 0, "second": 1, "back": 0, "opened": true, "dialog": true,
        "closed": true, "focus_back": true, "skip": true, "third": true, "off": true,
    });
    ensure!(seen["keys"] == expected, "{:#}", seen["keys"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_main_job_needs_no_scripts() -> Result<()> {
    let (aro, seen) = look("no-script", "sre", "light").await?;
    ensure!(seen["found"].as_u64() == Some(1), "{seen}");
    ensure!(seen["pages"].as_u64().is_some_and(|pages| pages >= 3), "{seen}");
    ensure!(seen["mistake"] == true, "an empty reason went through: {seen}");
    let file = std::path::Path::new(seen["file"].as_str().context("a file")?);
    let kubectl = Kubectl::new(aro.folder(), file)?;
    ensure!(kubectl.ok(&["get", "nodes", "-o", "name"]).await?.contains("node/"));
    ensure!(seen["after_sign_out"] == 401, "{seen}");
    Ok(())
}
