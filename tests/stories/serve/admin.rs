//! The admin listener: for this machine alone.

use anyhow::{Result, ensure};
use reqwest::Method;
use tests_kit::Session;

use super::served::Served;

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_listener_answers_this_machine_alone() -> Result<()> {
    let served = Served::start().await?;
    let admin = Session::open(served.authority.pem(), &served.admin_url, None)?;
    let ready = admin.get("/healthz/ready").await?.ok()?.text;
    ensure!(ready.contains("store") && ready.contains("audit"), "{ready}");
    let metrics = admin.get("/metrics").await?.ok()?.text;
    ensure!(metrics.contains("aro_front_connections") && metrics.contains("# TYPE"), "{metrics}");
    let profile = admin.get("/debug/pprof/profile?seconds=1").await?.ok()?;
    ensure!(!profile.text.is_empty(), "{:?}", profile.headers);
    let memory = admin.get("/debug/memory").await?.ok()?.text;
    ensure!(!memory.is_empty());

    // A page that rebinds its name to 127.0.0.1 reads nothing.
    for path in ["/metrics", "/healthz/ready", "/debug/pprof/profile?seconds=1", "/log"] {
        let foreign = admin.send(Method::GET, path, &[("host", "rebound.example.test")], None).await?;
        ensure!(foreign.status == 403, "{path}: {} {}", foreign.status, foreign.text);
    }
    let foreign = [("host", "rebound.example.test")];
    let changed = admin.send(Method::PUT, "/log", &foreign, Some("trace".to_owned())).await?;
    ensure!(changed.status == 403, "{}", changed.text);

    // None of it is at the listener that everybody reaches.
    for path in ["/metrics", "/log", "/debug/pprof/heap"] {
        let answer = served.stranger()?.get(path).await?;
        ensure!(answer.status == 401 || answer.status == 404, "{path}: {} {}", answer.status, answer.text);
    }
    Ok(())
}
