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
const WHY: &str = "rules are to be checked";

pub(crate) async fn first_cluster(session: &Session) -> Result<String> {
    let list = session.get("/api/v1/clusters?source=aro&state=healthy&limit=1").await?.ok()?.json()?;
    Ok(list["items"][0]["resourceId"].as_str().with_context(|| list.to_string())?.to_lowercase())
}

async fn order(session: &Session, cluster: &str, body: &Value) -> Result<Answer> {
    session.change(Method::POST, &format!("/api/v1/clusters{cluster}/maintenance"), Some(body)).await
}

pub(crate) fn refused(answer: &Answer, status: u16, code: &str) -> Result<()> {
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
    for (wrong, member) in [
        (json!({ "task": "tidy up", "reason": WHY }), "task: "),
        (json!({ "task": "fix SSH", "reason": "too short" }), "reason: "),
        (json!({ "task": "MSI certificate renewal", "reason": WHY }), "task: "),
        (json!({ "task": "fix SSH", "reason": WHY, "priority": 1001 }), "priority: "),
        (json!({ "task": "fix SSH", "reason": WHY, "runBefore": "2001-01-01T00:00:00Z" }), "runBefore: "),
    ] {
        let answer = order(&person, &cluster, &wrong).await?;
        refused(&answer, 422, "invalid").with_context(|| wrong.to_string())?;
        let message = answer.json()?["message"].as_str().unwrap_or_default().to_owned();
        ensure!(message.starts_with(member), "{wrong}: {message}");
    }
    let unknown = json!({ "task": "fix SSH", "reason": WHY, "runafter": LATER });
    refused(&order(&person, &cluster, &unknown).await?, 400, "bad_request")?;
    cancelled(&person, &cluster).await?;
    by_form(&person, &sre, &cluster).await?;
    done(aro, &person, &cluster).await?;
    restarted(aro, &person, &cluster).await
}

/// A worker is restarted behind a cordon: its virtual machine stops and starts once, and its node takes pods again.
async fn restarted(aro: &Aro, person: &Session, cluster: &str) -> Result<()> {
    let machines = person.get(&format!("/api/v1/clusters{cluster}/machines")).await?.ok()?.json()?;
    let all = machines["items"].as_array().context("items")?;
    let worker = all.iter().find(|one| one["role"] == "worker").with_context(|| machines.to_string())?;
    let worker = worker["name"].as_str().context("a name")?;
    let order =
        ["manifests", "order", cluster, "restart machine", "--reason", "its kubelet hangs since noon"];
    let order = [&order[..], &["--machine", worker, "--wait", "-o", "json"]].concat();
    let ended: Value = serde_json::from_str(&command_line(aro, person, &order).await?)?;
    ensure!(ended["state"] == "Completed" && ended["machine"] == worker, "{ended}");
    let machine_page = format!("{cluster}/machines/{worker}");
    until("the machine's page offers to restart it again", GENEROUS, || async {
        let page = person.get(&machine_page).await?.ok()?.text;
        ensure!(page.contains("task=restart%20machine"), "{}", tests_kit::shown(&page));
        Ok(())
    })
    .await?;
    let name = format!("restart machine {worker}");
    let entries = aro.session("auditor").await?.audit("maintenance").await?;
    ensure!(entries.iter().any(|entry| entry["name"] == name.as_str()), "no {name} in {entries:?}");
    Ok(())
}

/// What waits is seen everywhere, and is cancelled once.
async fn cancelled(person: &Session, cluster: &str) -> Result<()> {
    let later = json!({ "task": "FIX ssh", "reason": WHY, "runAfter": LATER,
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

/// A page as a browser without scripts loads it.
async fn page(session: &Session, path: &str) -> Result<Answer> {
    let headers = [("accept", "text/html"), ("sec-fetch-mode", "navigate")];
    session.send(Method::GET, path, &headers, None).await
}

/// Sends the form of a page, with the token that the page has for it.
async fn send_form(session: &Session, from: &str, to: &str, fields: &[(&str, &str)]) -> Result<Answer> {
    let shown = page(session, from).await?.ok()?.text;
    let token = shown.split("name=\"csrf_token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let token = token.with_context(|| tests_kit::shown(&shown))?;
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("csrf_token", token).extend_pairs(fields);
    let headers = [
        ("accept", "text/html"),
        ("sec-fetch-mode", "navigate"),
        ("origin", session.base()),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    session.send(Method::POST, to, &headers, Some(form.finish())).await
}

async fn fleet_shows(session: &Session, cluster: &str) -> Result<()> {
    let name = cluster.rsplit('/').next().unwrap_or_default();
    let shown = page(session, &format!("/maintenance?q={name}")).await?.ok()?.text;
    let is_there = shown.contains(&format!("{cluster}/operations")) && shown.contains("fix SSH, ordered");
    ensure!(is_there, "{}", tests_kit::shown(&shown));
    Ok(())
}

/// The form of the cluster's page orders, and the dialog that it leads to cancels, without scripts; the page of the fleet
/// shows it meanwhile.
async fn by_form(person: &Session, sre: &Session, cluster: &str) -> Result<()> {
    let home = format!("{cluster}/operations");
    let offered = page(sre, &home).await?.ok()?.text;
    ensure!(
        offered.contains("Ordering a task needs an elevation.") && !offered.contains("order-form"),
        "{}",
        tests_kit::shown(&offered)
    );
    let task = "888fc221-b059-49db-bd02-22ad86cccd6b";
    let wrong = [("task", task), ("reason", "short"), ("run_after", "2099-01-01T00:00"), ("priority", "x")];
    let refused = send_form(person, &home, &home, &wrong).await?;
    ensure!(
        refused.status == 422
            && refused.text.contains("It is a whole number")
            && refused.text.contains(">short<"),
        "{} {}",
        refused.status,
        tests_kit::shown(&refused.text)
    );
    let fields = [("task", task), ("reason", WHY), ("run_after", "2099-01-01T00:00"), ("priority", "7")];
    let made = send_form(person, &home, &home, &fields).await?;
    ensure!(made.status == 303, "{made:?}");
    until("the page of the fleet shows it", GENEROUS, || fleet_shows(sre, cluster)).await?;
    let shown = page(person, &home).await?.ok()?.text;
    let path = shown.split('"').find(|part| part.starts_with(cluster) && part.ends_with("/cancel"));
    let path = path.with_context(|| tests_kit::shown(&shown))?.to_owned();
    let without = send_form(person, &path, &path, &[("why", ""), ("back", &home)]).await?;
    ensure!(without.status == 422 && without.text.contains("field-error"), "{}", without.status);
    let ended = send_form(person, &path, &path, &[("why", "the rules are right"), ("back", &home)]).await?;
    ensure!(ended.status == 303, "{ended:?}");
    let gone = page(person, &path).await?;
    ensure!(gone.status == 409 && gone.text.contains("it is Cancelled"), "{}", gone.status);
    Ok(())
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
pub(crate) async fn command_line(aro: &Aro, person: &Session, arguments: &[&str]) -> Result<String> {
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
