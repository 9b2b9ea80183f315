//! Secrets sent everywhere are found nowhere.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::json;
use tests_kit::{Aro, AroOptions, Behaviour, Upstream, kubeconfig_server, kubeconfig_token};

#[tokio::test(flavor = "multi_thread")]
async fn secrets_reach_no_log_no_store_and_no_answer() -> Result<()> {
    let log = "trace,h2=info,hyper=info,rustls=info,sqlx=info".to_owned();
    let aro = Aro::start(AroOptions { log, clusters: 3, ..AroOptions::default() }).await?;
    let upstream = Upstream::start(Behaviour::Echo(vec![])).await?;
    let resource = aro.import_and_wait(&upstream.kubeconfig(aro.folder(), "canary")?, "canary", &[]).await?;
    let session = aro.session("elevated").await?;
    let kubeconfig = session.kubeconfig(&resource, "admin", "canary story", None).await?;
    let token = kubeconfig_token(&kubeconfig)?;
    let server = kubeconfig_server(&kubeconfig)?;
    let path = server.strip_prefix(aro.dev.proxy_url.trim_end_matches('/')).context("our proxy")?.to_owned();

    // In a body, in headers that are dropped, in headers that are none of ours.
    let proxy = aro.proxy()?.with_bearer(&token);
    let body = r#"{"kind":"Secret","data":{"key":"canary-in-the-body"}}"#.to_owned();
    let secrets = format!("{path}/api/v1/namespaces/a/secrets");
    let headers = [
        ("cookie", "session=canary-in-a-cookie"),
        ("x-api-key", "canary-in-a-header"),
        ("proxy-authorization", "Basic canary-in-proxy-authorization"),
        ("content-type", "application/json"),
    ];
    proxy.send(Method::POST, &secrets, &headers, Some(body)).await?.ok()?;
    // A wrong token, to both hosts, and in the query.
    let wrong = "aro1_kubeconfig_canarywrongtoken_canarywrongtoken_canarywrongtoken";
    for stranger in [aro.proxy()?, aro.stranger()?] {
        stranger.with_bearer(wrong).get(&secrets).await?;
        stranger.with_bearer(wrong).get("/api/info").await?;
        stranger.get("/callback?code=canary-in-a-code&state=canary-in-a-state").await?;
    }
    let cookie = session.cookie().context("a cookie")?.to_owned();
    let secret_of_cookie = cookie.split_once('=').context("name=value")?.1.to_owned();
    let info = session.get("/api/info").await?.ok()?.json()?;
    let csrf = info["csrf"].as_str().context("csrf")?.to_owned();
    session.get("/access").await?;
    let given = given(&aro, &resource).await?;
    let mut aro = aro;
    aro.process().signal("TERM")?;
    aro.process().wait(tests_kit::GENEROUS).await?;

    let secret_of_token = token.split('_').nth(3).context("a secret")?.to_owned();
    let mut canaries = vec![
        "canary-in-the-body".to_owned(),
        "canary-in-a-cookie".to_owned(),
        "canary-in-a-header".to_owned(),
        "canary-in-proxy-authorization".to_owned(),
        "canarywrongtoken_canarywrongtoken".to_owned(),
        "canary-in-a-code".to_owned(),
        "token-of-the-upstream".to_owned(),
        secret_of_token,
        secret_of_cookie,
        csrf,
    ];
    canaries.extend(given);
    let log = aro.process().log();
    for canary in &canaries {
        ensure!(!log.contains(canary.as_str()), "the log has {canary}:\n{}", line_with(&log, canary));
    }
    search(&aro.data(), &canaries)?;
    aro.restart().await?;
    Ok(())
}

/// What programs are given: a robot's token, a token of its kubeconfig, the code of a device.
async fn given(aro: &Aro, resource: &str) -> Result<Vec<String>> {
    let robot = json!({ "name": "canary", "clusters": "all", "kinds": ["kubeconfig"], "rights": "read",
                        "reason": "canary story", "life": 3600, "max_grants": 3 });
    let made = aro.session("admin").await?.post("/api/v1/robots", &robot).await?.ok()?.json()?;
    let token = made["token"].as_str().context("a robot's token")?;
    let robot = aro.stranger()?.with_bearer(token);
    let ask = json!({ "target": resource, "kind": "kubeconfig", "rights": "read", "reason": "canary story",
                      "plugin": true });
    let grant = robot.post("/api/v1/grants", &ask).await?.ok()?.json()?;
    let id = grant["grant"]["id"].as_str().with_context(|| grant.to_string())?;
    let renewed = robot.post(&format!("/api/v1/grants/{id}/token"), &json!({})).await?.ok()?.json()?;
    let renewed = renewed["token"].as_str().context("a renewed token")?;
    let device = aro.stranger()?.post("/api/v1/login/device", &json!({})).await?.ok()?.json()?;
    let device = device["device_code"].as_str().context("a device code")?;
    let secret = |token: &str| token.split('_').nth(3).map(str::to_owned).context("a secret");
    Ok(vec![secret(token)?, secret(renewed)?, device.to_owned()])
}

fn line_with<'a>(log: &'a str, canary: &str) -> &'a str {
    log.lines().find(|line| line.contains(canary)).unwrap_or_default()
}

/// No file below the folder has one of the texts.
fn search(folder: &Path, canaries: &[String]) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            search(&path, canaries)?;
            continue;
        }
        // A socket holds no bytes.
        if !path.is_file() {
            continue;
        }
        let bytes = std::fs::read(&path)?;
        for canary in canaries {
            let found = bytes.windows(canary.len()).any(|window| window == canary.as_bytes());
            ensure!(!found, "{} has {canary}", path.display());
        }
    }
    Ok(())
}
