//! A request's trace: the portal's list, the trail, the log and the figures all show it.

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use rp_client::ClusterId;
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, GENEROUS, Session, until};

use super::site::wanted;

const SUB: &str = "00000000-0000-0000-0000-00000000a001";

fn id(name: &str) -> String {
    ClusterId::new(SUB, "App-RG", name).path()
}

#[tokio::test]
async fn a_request_shows_in_the_portal_the_trail_the_log_and_the_figures() -> Result<()> {
    let aro = Aro::start(AroOptions { clusters: 1, ..AroOptions::default() }).await?;
    aro.explain(shows(&aro).await)
}

async fn shows(aro: &Aro) -> Result<()> {
    let rp = aro.rp()?;
    rp.subscription(SUB, "Registered", SUB).await?;
    let mut body = wanted(1);
    body["location"] = json!("westeurope");
    body["properties"]["workerProfiles"][0]["vmSize"] = json!("Standard_D2s_v3");
    rp.put(&ClusterId::new(SUB, "App-RG", "Seen"), &body).await?;
    let raw = Session::open(&aro.ca_pem()?, &aro.dev.rp_url, None)?;
    let path = format!("{}?api-version=2025-07-25", id("Seen"));
    let names = [
        ("x-ms-correlation-request-id", "correlated"),
        ("x-ms-client-request-id", "asked-by-a-client"),
        ("content-type", "application/json"),
    ];
    let told = raw.send(Method::PUT, &path, &names, Some(json!({"location": "moon"}).to_string())).await?;
    ensure!(told.status == 400, "{told:?}");
    let refused = told.header("x-ms-request-id").to_owned();

    let viewer = aro.session("viewer").await?;
    until("the portal lists the new cluster", GENEROUS, || async {
        let told = viewer.get("/api/v1/clusters?limit=500").await?.ok()?;
        ensure!(told.text.to_lowercase().contains(&id("seen").to_lowercase()), "{}", told.text);
        Ok(())
    })
    .await?;

    let auditor = aro.session("auditor").await?;
    let entries = until("the trail has the requests", GENEROUS, || async {
        let entries = auditor.audit("arm.put").await?;
        let ends = entries.iter().filter(|entry| entry["phase"] == "end").count();
        ensure!(ends >= 2, "{entries:?}");
        Ok(entries)
    })
    .await?;
    let of = |phase: &str, request: &str| {
        entries.iter().find(|entry| entry["phase"] == phase && entry["request_id"] == request).cloned()
    };
    let begun = of("start", &refused).context("the begin of the refused request")?;
    let ended = of("end", &refused).context("its end")?;
    ensure!(ended["result"]["status"] == 400 && ended["result"]["word"] == "refused", "{ended}");
    ensure!(begun["target"].to_string().contains("openshiftclusters/seen"), "{begun}");
    ensure!(ended["actor"]["from"] == "127.0.0.1", "{ended}");
    let text = Value::from(entries).to_string();
    ensure!(!text.contains("hush"), "a secret in the trail");

    let log = aro.process().log();
    let line = log.lines().find(|line| line.contains(&refused)).context("a line of the refused request")?;
    for part in ["sent response", "correlated", "asked-by-a-client", "UserError", "seen", "app-rg", SUB] {
        ensure!(line.contains(part), "no {part} in: {line}");
    }
    ensure!(!log.contains("hush"), "a secret in the log");
    let figures = reqwest::get(format!("{}/metrics", aro.dev.admin_url)).await?.text().await?;
    let line = figures.lines().find(|line| {
        line.starts_with("aro_frontend_request_duration_seconds_count")
            && line.contains("method=\"PUT\"")
            && line.contains("code=\"400\"")
            && line.contains("{resourceName}")
    });
    ensure!(line.is_some(), "no such figure in:\n{figures}");
    Ok(())
}
