//! A terminal in the browser: Chromium on the portal, a real kube-apiserver behind it.

use anyhow::{Context as _, Result, anyhow, ensure};
use reqwest::Method;
use serde_json::{Value, json};
use tests_kit::{Answer, GENEROUS, Session, browser, until};
use tokio::sync::Mutex;

use crate::world::World;

/// The living grant of kind terminal.
async fn grant(session: &Session) -> Result<String> {
    let grants = session.grants().await?;
    let ours = |grant: &&Value| grant["kind"] == "terminal" && grant["revoked"].is_null();
    let grant = grants.iter().find(ours).with_context(|| format!("no terminal: {grants:?}"))?;
    Ok(grant["id"].as_str().context("no id")?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_in_a_container_outlives_the_network_and_not_the_access() -> Result<()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    let _turn = TURN.lock().await;
    let world = World::get().await?;
    let session = world.aro.session("elevated").await?;
    session.elevate("write").await?;
    let folder = world.aro.folder();
    let input = json!({
        "url": world.aro.dev.url, "account": "elevated", "password": world.aro.password("elevated")?, "resource": world.named,
    });
    let revoke = folder.path().join("revoke");
    let _ = std::fs::remove_file(&revoke);
    let (seen, revoked) = tokio::join!(browser(folder, "terminal", &input), async {
        // The browser says when; it has its own limit.
        let asked = || async { if revoke.exists() { Ok(()) } else { Err(anyhow!("not yet")) } };
        until("the page asks for the end", GENEROUS * 6, asked).await?;
        session.revoke(&grant(&session).await?).await
    });
    let seen = world.aro.explain(seen)?;
    revoked?;
    ensure!(seen["errors"] == json!([]), "errors of the page: {}", seen["errors"]);
    ensure!(seen["violations"] == json!([]), "{}", seen["violations"]);
    ensure!(seen["inOrder"] == true, "{} lines, not each once and in order", seen["lines"]);
    let ahead = seen["ahead"]["waiting"].as_u64().context("no number")?;
    ensure!(ahead <= seen["ahead"]["window"].as_u64().unwrap_or(0) + 32 * 1024, "{}", seen["ahead"]);
    ensure!(seen["back"].as_str().is_some_and(|words| words.contains("Same session")), "{}", seen["back"]);
    ensure!(seen["kept"] == json!({ "title": true, "clipboard": "mine" }), "{}", seen["kept"]);
    ensure!(seen["left"] == "tab", "the focus went to {}", seen["left"]);
    ensure!(seen["ended"].as_str().is_some_and(|words| words.contains("exit code 7")), "{}", seen["ended"]);
    ensure!(seen["sideways"] == 0, "the page scrolls sideways by {}", seen["sideways"]);
    ensure!(seen["cut"].as_str().is_some_and(|words| words.contains("revoked")), "{}", seen["cut"]);
    let refused = json!({
        "garbage": [], "bytes": [], "path": ["malformed"], "lies": ["hello", "malformed"], "large": ["hello"], "stranger": ["lost"],
    });
    ensure!(seen["refused"] == refused, "{}", seen["refused"]);
    audited(world).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_at_which_nobody_types_ends_and_says_so_before() -> Result<()> {
    let world = World::with(&[("ARO_TERMINAL__IDLE", "20s")]).await?;
    world.aro.session("elevated").await?.elevate("write").await?;
    let input = json!({
        "url": world.aro.dev.url, "account": "elevated", "password": world.aro.password("elevated")?, "resource": world.named,
    });
    let seen = world.aro.explain(browser(world.aro.folder(), "terminal-idle", &input).await)?;
    ensure!(seen["errors"] == json!([]) && seen["violations"] == json!([]), "{seen}");
    let says = |key: &str, words: &str| seen[key].as_str().is_some_and(|text| text.contains(words));
    ensure!(says("told", "unless you type") && says("words", "20 s"), "{seen}");
    Ok(())
}

/// The first shell's start was written before it began, its end with its bytes.
async fn audited(world: &World) -> Result<()> {
    let auditor = world.aro.session("auditor").await?;
    until("the shell's end is in the audit", GENEROUS, || async {
        let entries = auditor.audit("").await?;
        let exec = |phase: &str| {
            let of = |entry: &&Value| {
                entry["phase"] == phase
                    && entry["subresource"] == "exec"
                    && entry.to_string().contains("exec bash")
            };
            entries.iter().filter(of).cloned().collect::<Vec<_>>()
        };
        let (starts, ends) = (exec("start"), exec("end"));
        ensure!(!starts.is_empty(), "no start among {} entries", entries.len());
        let cut = ends.iter().find(|end| end["result"]["word"] == "cut").context("none was cut")?;
        ensure!(cut["bytes_out"].as_u64() > Some(4_000_000), "{cut}");
        Ok(())
    })
    .await
}

async fn knock(session: &Session, path: &str, origin: Option<&str>) -> Result<Answer> {
    let headers: Vec<(&str, &str)> = origin.into_iter().map(|origin| ("origin", origin)).collect();
    session.send(Method::GET, path, &headers, None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_our_own_pages_come_to_the_socket() -> Result<()> {
    let world = World::get().await?;
    let path = format!("{}/terminal/socket", world.named);
    let session = world.aro.session("elevated").await?;
    for origin in [
        None,
        Some("https://evil.example"),
        Some("null"),
        Some(world.aro.dev.proxy_url.trim_end_matches('/')),
    ] {
        let answer = knock(&session, &path, origin).await?;
        ensure!(answer.status == 403, "{origin:?}: {} {}", answer.status, answer.text);
    }
    let ours = world.aro.dev.url.trim_end_matches('/').to_owned();
    let plain = knock(&session, &path, Some(&ours)).await?;
    ensure!(plain.status == 400 && plain.text.contains("WebSocket"), "{} {}", plain.status, plain.text);
    let stranger = knock(&world.aro.stranger()?, &path, Some(&ours)).await?;
    ensure!(stranger.status == 401, "{} {}", stranger.status, stranger.text);
    let viewer = knock(&world.aro.session("viewer").await?, &path, Some(&ours)).await?;
    ensure!(viewer.status == 403, "{} {}", viewer.status, viewer.text);
    Ok(())
}
