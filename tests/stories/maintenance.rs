//! Maintenance that a person orders: who may, what is on the record, and its end.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use http::Method;
use serde_json::{Value, json};
use tests_kit::{Answer, Aro, AroOptions, GENEROUS, Session, binary, until};

/// A task on a busy machine: the actuator looks for what is due, and the steps wait for the cluster.
const LONG: Duration = Duration::from_mins(4);
/// Far enough that nothing starts during the story.
const LATER: &str = "2099-01-01T00:00:00Z";

async fn first_cluster(session: &Session) -> Result<String> {
    let list = session.get("/api/v1/clusters?source=aro&state=healthy&limit=1").await?.ok()?.json()?;
    Ok(list["items"][0]["resourceId"].as_str().with_context(|| list.to_string())?.to_lowercase())
}

async fn order(session: &Session, cluster: &str, body: &Value) -> Result<Answer> {
    session.change(Method::POST, &format!("/api/v1/clusters{cluster}/maintenance"), Some(body)).await
}

fn refused(answer: &Answer, status: u16, code: &str) -> Result<()> {
    ensure!(answer.status == status && answer.json()?["code"] == code, "{answer:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_with_an_elevation_orders_and_cancels_maintenance_and_sees_its_end() -> Result<()> {
    let aro = Aro::start(AroOptions { clusters: 4, ..AroOptions::default() }).await?;
    let told = check(&aro).await;
    aro.explain(told)
}

async fn check(aro: &Aro) -> Result<()> {
    let (sre, person) = (aro.session("sre").await?, aro.session("elevated").await?);
    let cluster = until("a cluster is healthy", GENEROUS, || first_cluster(&sre)).await?;
    let wanted = json!({ "task": "sync Cluster object", "reason": "the domain was changed by hand" });
    refused(&order(&sre, &cluster, &wanted).await?, 403, "role_missing")?;
    refused(&order(&person, &cluster, &wanted).await?, 403, "elevation_needed")?;
    person.elevate("write").await?;
    for (wrong, code) in [
        (json!({ "task": "tidy up", "reason": "x" }), "invalid"),
        (json!({ "task": "fix SSH", "reason": " " }), "invalid"),
        (json!({ "task": "MSI certificate renewal", "reason": "x" }), "invalid"),
        (json!({ "task": "fix SSH", "reason": "x", "priority": 1001 }), "invalid"),
        (json!({ "task": "fix SSH", "reason": "x", "runBefore": "2001-01-01T00:00:00Z" }), "invalid"),
    ] {
        refused(&order(&person, &cluster, &wrong).await?, 422, code).with_context(|| wrong.to_string())?;
    }
    let unknown = json!({ "task": "fix SSH", "reason": "x", "runafter": LATER });
    refused(&order(&person, &cluster, &unknown).await?, 400, "bad_request")?;
    cancelled(&person, &cluster).await?;
    done(aro, &person, &cluster).await
}

/// What waits is seen everywhere, and is cancelled once.
async fn cancelled(person: &Session, cluster: &str) -> Result<()> {
    let later = json!({ "task": "FIX ssh", "reason": "rules are to be checked", "runAfter": LATER,
        "runBefore": "2099-02-01T00:00:00Z" });
    let made = order(person, cluster, &later).await?;
    ensure!(made.status == 201, "{made:?}");
    let made = made.json()?;
    ensure!(made["state"] == "Pending" && made["task"] == "fix SSH" && made["runAfter"] == LATER, "{made}");
    let id = made["id"].as_str().context("an id")?;
    for path in ["/api/v1/maintenance".to_owned(), format!("/api/v1/clusters{cluster}/maintenance")] {
        let list = person.get(&path).await?.ok()?.json()?;
        let items = list["items"].as_array().context("items")?;
        ensure!(items.iter().any(|one| one["id"] == id && one["resourceId"] == cluster), "{list}");
    }
    let page = person.get(&format!("{cluster}/operations")).await?.ok()?;
    ensure!(
        page.text.contains("fix SSH") && page.text.contains("Planned"),
        "{}",
        tests_kit::shown(&page.text)
    );
    let path = format!("/api/v1/clusters{cluster}/maintenance/{id}/cancel");
    refused(&person.change(Method::POST, &path, Some(&json!({}))).await?, 422, "invalid")?;
    let why = json!({ "why": "they are right" });
    let ended = person.change(Method::POST, &path, Some(&why)).await?.ok()?.json()?;
    ensure!(ended["state"] == "Cancelled" && ended["ended"].is_string(), "{ended}");
    refused(&person.change(Method::POST, &path, Some(&why)).await?, 409, "does_not_wait")?;
    let other = format!("/api/v1/clusters{cluster}/maintenance/no-such-id/cancel");
    refused(&person.change(Method::POST, &other, Some(&why)).await?, 404, "not_found")
}

/// What is due runs to its end, which the person and the auditor see.
async fn done(aro: &Aro, person: &Session, cluster: &str) -> Result<()> {
    let order =
        ["manifests", "order", cluster, "sync Cluster object", "--reason", "the domain was changed by hand"];
    let ended = command_line(aro, person, &[&order[..], &["--wait", "-o", "json"]].concat()).await?;
    let ended: Value = serde_json::from_str(&ended)?;
    ensure!(ended["state"] == "Completed" && ended["started"].is_string(), "{ended}");
    let listed = command_line(aro, person, &["manifests", "list", cluster, "-o", "name"]).await?;
    ensure!(listed.lines().any(|id| ended["id"] == id), "{listed}");
    let entries = aro.session("auditor").await?.audit("maintenance").await?;
    for (verb, reason) in [("maintenance.plan", "changed by hand"), ("maintenance.cancel", "they are right")]
    {
        let is_it = |entry: &Value| entry["verb"] == verb && entry["query"].to_string().contains(reason);
        ensure!(entries.iter().any(is_it), "no {verb} in {entries:?}");
    }
    Ok(())
}

/// What `aro` writes for that person; it must succeed.
async fn command_line(aro: &Aro, person: &Session, arguments: &[&str]) -> Result<String> {
    let folder = aro.folder();
    let cookie = folder.write("maintenance.cookie", person.cookie().context("a cookie")?)?;
    std::fs::set_permissions(&cookie, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let ca = folder.write("maintenance-ca.pem", aro.ca_pem()?)?;
    let mut command = tokio::process::Command::new(binary("aro")?);
    command.args(arguments).arg("--portal").arg(&aro.dev.url).arg("--ca-file").arg(&ca);
    command.arg("--session-cookie-file").arg(&cookie).env("HOME", folder.path()).kill_on_drop(true);
    let output = tokio::time::timeout(LONG, command.output()).await.context("it does not end")??;
    ensure!(output.status.success(), "{arguments:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}
