//! The operator of a cluster for people: its conditions, and a flag that a person sets and takes back.

use anyhow::{Context as _, Result, ensure};
use http::Method;
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, GENEROUS, Session, until};

use crate::maintenance::{command_line, first_cluster, refused};

const FLAG: &str = "aro.banner.enabled";

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_the_operator_of_a_cluster_and_sets_its_flags() -> Result<()> {
    let aro = Aro::start(AroOptions { clusters: 5, ..AroOptions::default() }).await?;
    let told = check(&aro).await;
    aro.explain(told)
}

async fn check(aro: &Aro) -> Result<()> {
    let (sre, person) = (aro.session("sre").await?, aro.session("elevated").await?);
    let cluster = until("a cluster is healthy", GENEROUS, || first_cluster(&sre)).await?;
    seen(&sre, &cluster).await?;
    not_allowed(&sre, &person, &cluster).await?;
    person.elevate("write").await?;
    wrong(&person, &cluster).await?;
    set(aro, &person, &cluster).await?;
    taken_back(aro, &person, &cluster).await
}

async fn report(session: &Session, cluster: &str) -> Result<Value> {
    session.get(&format!("/api/v1/clusters{cluster}/operator")).await?.ok()?.json()
}

fn flag<'a>(report: &'a Value, name: &str) -> Result<&'a Value> {
    let all = report["flags"].as_array().context("flags")?;
    all.iter().find(|one| one["name"] == name).with_context(|| format!("{name} in {all:?}"))
}

/// A viewer's look: conditions with what they mean, flags with defaults, on the page and in JSON.
async fn seen(sre: &Session, cluster: &str) -> Result<()> {
    let report = report(sre, cluster).await?;
    let conditions = report["conditions"].as_array().context("conditions")?;
    let principal = conditions.iter().find(|one| one["type"] == "ServicePrincipalValid");
    let principal = principal.with_context(|| report.to_string())?;
    ensure!(principal["health"] == "healthy" && principal["meaning"] != "", "{principal}");
    let banner = flag(&report, FLAG)?;
    ensure!(banner["effective"] == "false" && banner["takes"] == "true or false", "{banner}");
    let page = sre.get(&format!("{cluster}/aro-operator?wait=1")).await?.ok()?;
    for part in ["No condition needs attention", "healthy conditions", FLAG, "ARO operator"] {
        ensure!(page.text.contains(part), "{part}: {}", tests_kit::shown(&page.text));
    }
    ensure!(!page.text.contains("aro-operator/flag?"), "a form is offered to a person who may not set flags");
    Ok(())
}

async fn not_allowed(sre: &Session, person: &Session, cluster: &str) -> Result<()> {
    let path = format!("/api/v1/clusters{cluster}/operator/flags");
    let wanted = json!({ "flags": { FLAG: "true" }, "reason": "the customer is to call" });
    refused(&sre.change(Method::POST, &path, Some(&wanted)).await?, 403, "role_missing")?;
    refused(&person.change(Method::POST, &path, Some(&wanted)).await?, 403, "elevation_needed")?;
    let other = cluster.rsplit_once('/').context("a name")?.0;
    refused(&sre.get(&format!("/api/v1/clusters{other}/no-such/operator")).await?, 404, "cluster_not_found")
}

/// What is wrong is named, with what fits; nothing is stored.
async fn wrong(person: &Session, cluster: &str) -> Result<()> {
    let path = format!("/api/v1/clusters{cluster}/operator/flags");
    for (flags, named) in [
        (json!({ FLAG: "yes" }), "true or false"),
        (json!({ "aro.guardrails.method": "opa" }), "gatekeeper, vap, auto"),
        (json!({ "aro.baner.enabled": "true" }), "aro.baner.enabled"),
        (json!({}), "flags"),
    ] {
        let body = json!({ "flags": flags, "reason": "the customer is to call" });
        let answer = person.change(Method::POST, &path, Some(&body)).await?;
        refused(&answer, 422, "invalid").with_context(|| body.to_string())?;
        ensure!(answer.text.contains(named), "{named}: {}", answer.text);
    }
    let silent = json!({ "flags": { FLAG: "true" }, "reason": " " });
    refused(&person.change(Method::POST, &path, Some(&silent)).await?, 422, "invalid")?;
    ensure!(flag(&report(person, cluster).await?, FLAG)?["document"] != "true", "something was stored");
    Ok(())
}

/// A flag that is set stands in the document at once, and in the cluster when its maintenance is over.
async fn set(aro: &Aro, person: &Session, cluster: &str) -> Result<()> {
    let assignment = format!("{FLAG}=true");
    let set = [
        "operator",
        "set",
        cluster,
        &assignment,
        "--reason",
        "the customer is to call",
        "--wait",
        "-o",
        "json",
    ];
    let done: Value = serde_json::from_str(&command_line(aro, person, &set).await?)?;
    ensure!(done["manifest"]["state"] == "Completed" && done["flags"][FLAG] == "true", "{done}");
    until("the flag is in the cluster", GENEROUS, || is_written(person, cluster)).await?;
    let changed =
        command_line(aro, person, &["operator", "flags", cluster, "--changed", "-o", "name"]).await?;
    ensure!(changed.lines().any(|name| name == FLAG) && changed.lines().count() < 5, "{changed}");
    let entries = aro.session("auditor").await?.audit("operator").await?;
    let recorded = |entry: &Value| {
        entry["verb"] == "operator.flags"
            && entry["name"].to_string().contains(&assignment)
            && entry["query"].to_string().contains("is to call")
    };
    ensure!(entries.iter().any(recorded), "{entries:?}");
    Ok(())
}

async fn is_written(person: &Session, cluster: &str) -> Result<()> {
    let report = report(person, cluster).await?;
    let banner = flag(&report, FLAG)?;
    let is = |member: &str| banner[member] == "true";
    ensure!(is("document") && is("cluster") && is("effective") && banner["pending"] == false, "{banner}");
    Ok(())
}

/// The page's form takes it back.
async fn taken_back(aro: &Aro, person: &Session, cluster: &str) -> Result<()> {
    let dialog = person.get(&format!("{cluster}/aro-operator/flag?flag={FLAG}")).await?.ok()?;
    ensure!(dialog.text.contains("Default (false)"), "{}", tests_kit::shown(&dialog.text));
    let info = person.get("/api/info").await?.ok()?.json()?;
    let csrf = info["csrf"].as_str().context("a token")?;
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("origin", person.base())];
    let form = format!("flag={FLAG}&value=default&why=the+customer+has+called&csrf_token={csrf}");
    let path = format!("{cluster}/aro-operator/flag");
    let answer = person.send(Method::POST, &path, &headers, Some(form)).await?;
    ensure!(answer.status == 303, "{answer:?}");
    let list = command_line(aro, person, &["operator", "flags", cluster, "-o", "json"]).await?;
    let list: Value = serde_json::from_str(&list)?;
    let banner = list["items"].as_array().context("items")?.iter().find(|one| one["name"] == FLAG);
    ensure!(banner.context("the flag")?["document"] == "false", "{list}");
    Ok(())
}
