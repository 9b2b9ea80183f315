//! The life of an access in a real browser: asked for, approved at another screen, used, ended.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{
    Aro, AroOptions, InUse, Kubectl, Session, Shared, Wire, browser, kubeconfig_server, kubeconfig_token,
};
use tokio::sync::Mutex;

async fn aro() -> Result<InUse<Aro>> {
    static ARO: Shared<Aro> = Shared::new();
    ARO.get(|| Aro::start(AroOptions { clusters: 12, ..AroOptions::default() })).await
}

/// One at a time: a person's banners are on all of their screens.
static ELEVATED: Mutex<()> = Mutex::const_new(());

/// Clusters that answer: resource id and name.
async fn healthy(session: &Session) -> Result<Vec<(String, String)>> {
    let list = session.get("/api/v1/clusters?state=Succeeded").await?.ok()?.json()?;
    let rows = list["items"].as_array().context("items")?;
    let text = |row: &Value, key: &str| row[key].as_str().map(str::to_owned);
    let pairs =
        rows.iter().filter_map(|row| Some((text(row, "resourceId")?.to_lowercase(), text(row, "name")?)));
    let pairs: Vec<_> = pairs.collect();
    ensure!(!pairs.is_empty(), "no healthy cluster: {list}");
    Ok(pairs)
}

/// A script as an account; the pages must have no errors, and axe nothing to say.
async fn look(script: &str, account: &str, more: Value) -> Result<Value> {
    let aro = aro().await?;
    let mut input = json!({ "url": aro.dev.url, "account": account, "password": aro.password(account)? });
    if let (Some(all), Some(more)) = (input.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    let seen = aro.explain(browser(aro.folder(), script, &input).await)?;
    ensure!(seen["errors"] == json!([]), "errors of the pages: {}", seen["errors"]);
    ensure!(seen["violations"].is_null() || seen["violations"] == json!([]), "{:#}", seen["violations"]);
    Ok(seen)
}

async fn cluster() -> Result<(String, String)> {
    let session = aro().await?.session("sre").await?;
    healthy(&session).await?.into_iter().next().context("a cluster")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_reaches_both_screens_without_a_reload() -> Result<()> {
    let _turn = ELEVATED.lock().await;
    let aro = aro().await?;
    let (_, name) = cluster().await?;
    let approver = json!({ "account": "approver", "password": aro.password("approver")? });
    let more = json!({ "cluster": name, "reason": "rotate a signer <b>by hand</b>", "approver": approver });
    let seen = look("life", "elevated", more).await?;
    ensure!(seen["before"] == 0, "a banner before the approval: {seen}");
    ensure!(seen["unasked"] == true && seen["unloaded"] == true, "a page was loaded anew: {seen}");
    ensure!(seen["modal"] == true, "{seen}");
    let title = seen["title"].as_str().unwrap_or_default();
    ensure!(title.starts_with("(1) Elevations"), "the title tells what waits: {title}");
    ensure!(seen["forged"] == json!([403, 403, 403]), "without the token: {seen}");
    let told = seen["told"].as_str().unwrap_or_default();
    ensure!(
        told.contains("Admin") && told.contains("approved by approver") && told.contains("ends in"),
        "{told}"
    );
    let twice = seen["twice"].as_str().unwrap_or_default();
    ensure!(twice.contains("approver has approved it already"), "{twice}");

    // The JSON API refuses likewise, and a person without the role is refused earlier.
    let link = format!("/api/v1{}", seen["link"].as_str().context("a link")?);
    let again = aro.session("approver").await?.post(&link, &json!({})).await?;
    ensure!(again.status == 409 && again.json()?["side"] == "you", "{again:?}");
    ensure!(aro.session("elevated").await?.post(&link, &json!({})).await?.status == 403);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_fall_when_the_elevation_ends() -> Result<()> {
    let _turn = ELEVATED.lock().await;
    let (resource, name) = cluster().await?;
    // Another person than the one whose elevation the other story decides on.
    let more = json!({ "cluster": name, "resource": resource, "reason": "drain a node by hand" });
    let seen = look("life-end", "admin", more).await?;
    ensure!(seen["barred"].as_u64().is_some_and(|n| n >= 1), "{seen}");
    let carried = json!({
        "typed": "drain a node by hand", "reason": "drain a node by hand", "ticket": "INC-7", "rights": "write",
    });
    ensure!(seen["carried"] == carried, "the way to elevate is a detour: {seen}");
    ensure!(seen["preset"] == "read", "read-only is the default under an elevation too: {seen}");
    ensure!(seen["kind"].as_str().unwrap_or_default().contains("Write"), "{seen}");
    ensure!(seen["fellBefore"] == 0 && seen["banners"] == 0, "{seen}");
    ensure!(seen["after"].as_str().unwrap_or_default().contains("now read-only"), "{seen}");

    // And so it is at the cluster: reading goes on, changing does not.
    let aro = aro().await?;
    let file = Path::new(seen["write"].as_str().context("a file")?);
    let kubectl = Kubectl::new(aro.folder(), file)?;
    ensure!(kubectl.ok(&["get", "nodes", "-o", "name"]).await?.contains("node/"));
    let said = kubectl.refused(&["create", "namespace", "not-any-more"]).await?;
    ensure!(said.contains("Forbidden") || said.contains("read"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_shows_a_stream_and_its_end() -> Result<()> {
    let aro = aro().await?;
    let session = aro.session("sre").await?;
    let (resource, _) = cluster().await?;
    let reason = "watched by a page of a story";
    let text = session.kubeconfig(&resource, "read", reason, None).await?;
    let (server, token) = (kubeconfig_server(&text)?, kubeconfig_token(&text)?);
    let grant = token.split('_').nth(2).context("a token has an id")?;
    let path = server.strip_prefix(aro.dev.proxy_url.trim_end_matches('/')).context("our proxy")?;
    let host = server.split('/').nth(2).context("a host")?;
    let mut watch = Wire::connect(&server, &aro.ca_pem()?).await?;
    let request = format!(
        "GET {path}/api/v1/pods?watch=true HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    watch.send(&request).await?;
    watch.says("HTTP/1.1 200").await?;

    let seen = look("life-stream", "sre", json!({ "grant": grant, "reason": reason })).await?;
    ensure!(seen["shown"].to_string().contains("pods"), "{seen}");
    ensure!(seen["said"].as_str().unwrap_or_default().contains("1 stream is cut"), "{seen}");
    ensure!(seen["back"] == "revoke", "the focus comes back: {seen}");
    ensure!(seen["unloaded"] == true, "{seen}");
    let ended = seen["ended"].as_str().unwrap_or_default();
    ensure!(ended.contains("Revoked by you") && ended.contains("wrong <b>cluster</b>"), "{ended}");
    watch.closed(tests_kit::GENEROUS).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn it_needs_no_scripts() -> Result<()> {
    let _turn = ELEVATED.lock().await;
    let (resource, name) = cluster().await?;
    let more = json!({ "cluster": name, "resource": resource, "reason": "without any script" });
    let seen = look("life-no-script", "elevated", more).await?;
    ensure!(seen["kept"] == "without any script", "{seen}");
    ensure!(
        seen["left"].as_str().unwrap_or_default().contains("ends in"),
        "the server tells the time left: {seen}"
    );
    ensure!(seen["toast"].as_str().unwrap_or_default().contains("Revoked."), "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_suffice() -> Result<()> {
    let _turn = ELEVATED.lock().await;
    let (_, name) = cluster().await?;
    let seen =
        look("life-keyboard", "elevated", json!({ "cluster": name, "reason": "by keyboard alone" })).await?;
    let expected = json!({ "elevations": "/elevations", "focus": "cluster", "life": "7200", "elevated": true, "ended": true });
    ensure!(seen["keys"] == expected, "{:#}", seen["keys"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_session_does_not_cost_what_was_typed() -> Result<()> {
    let _turn = ELEVATED.lock().await;
    let (_, name) = cluster().await?;
    let seen =
        look("life-session", "elevated", json!({ "cluster": name, "reason": "typed before it was lost" }))
            .await?;
    let expected = json!({ "cluster": name, "life": "7200", "reason": "typed before it was lost" });
    ensure!(seen["typed"] == expected && seen["after"] == "", "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors_of_others_and_grants_of_others_are_refused_clearly() -> Result<()> {
    let aro = aro().await?;
    let (resource, _) = cluster().await?;
    let sre = aro.session("sre").await?;
    let text = sre.kubeconfig(&resource, "read", "looked at by somebody else", None).await?;
    let token = kubeconfig_token(&text)?;
    let grant = token.split('_').nth(2).context("a token has an id")?;
    let viewer = aro.session("viewer").await?;
    for (path, what) in [(format!("/api/v1/grants/{grant}"), "json"), (format!("/access/{grant}"), "page")] {
        let answer = viewer.get(&path).await?;
        ensure!(answer.status == 403 && answer.text.contains("somebody else"), "{what}: {answer:?}");
    }
    let auditor = aro.session("auditor").await?;
    let search = auditor.get("/api/v1/audit?limit=1").await?.ok()?.json()?;
    let cursor = search["continue"].as_str().context("a cursor: there are more entries")?;
    for forged in [format!("{cursor}x"), cursor.chars().rev().collect(), "AAAA".to_owned()] {
        let answer = auditor.get(&format!("/api/v1/audit?limit=1&continue={forged}")).await?;
        ensure!(
            answer.status == 400 && answer.json()?["action"].as_str().is_some_and(|a| !a.is_empty()),
            "{answer:?}"
        );
    }
    // Of another search.
    let answer = auditor.get(&format!("/api/v1/audit?limit=1&verb=get&continue={cursor}")).await?;
    ensure!(answer.status == 400, "{answer:?}");
    // The token is needed to revoke; the cookie alone changes nothing.
    let path = format!("/api/v1/grants/{grant}");
    let answer = sre.send(reqwest::Method::DELETE, &path, &[("accept", "application/json")], None).await?;
    ensure!(answer.status == 403 && answer.json()?["code"] == "csrf", "{answer:?}");
    let living = sre.get(&path).await?.ok()?.json()?;
    ensure!(living["state"] == "active", "{living}");
    Ok(())
}
