//! One question to many clusters.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Answer, binary};

use super::World;

/// Names and data of the events.
fn events(answer: &Answer) -> Result<Vec<(String, Value)>> {
    let mut events = Vec::new();
    for block in answer.text.split("\n\n").filter(|block| block.starts_with("event: ")) {
        let (name, data) = block.split_once('\n').context("an event has two lines")?;
        let data = data.strip_prefix("data: ").context("no data")?;
        events.push((name.trim_start_matches("event: ").to_owned(), serde_json::from_str(data)?));
    }
    Ok(events)
}

fn events_named<'a>(events: &'a [(String, Value)], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|(event, _)| event == name).map(|(_, data)| data).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_with_a_third_that_hangs_answers_in_time() -> Result<()> {
    let world = World::get().await?;
    let _replicas = world.replicas.read().await;
    let session = world.session().await?;
    // Real, fine, and broken in every way.
    let began = Instant::now();
    let ask = json!({ "query": "up", "clusters": "source:imported" });
    let answer = session.post("/api/v1/fleet/query", &ask).await?.ok()?;
    ensure!(answer.header("content-type") == "text/event-stream", "{}", answer.header("content-type"));
    let events = events(&answer)?;
    ensure!(events.first().is_some_and(|(name, _)| name == "plan"), "{}", answer.text);
    let (answers, faults) = (events_named(&events, "answer"), events_named(&events, "fault"));
    let end = *events_named(&events, "end").first().context("no end")?;
    ensure!(end["clusters"] == 13 && end["partial"] == true, "{end}");
    ensure!(answers.len() + faults.len() == 13, "{}", answer.text);
    let hung = faults.iter().find(|fault| fault["cluster"] == "fault-hang").context("the one that hangs")?;
    ensure!(hung["error"]["side"] == "cluster", "{hung}");
    let real = answers.iter().find(|answer| answer["cluster"] == "real-prom").context("the real one")?;
    ensure!(real["data"]["result"].as_array().is_some_and(|rows| rows.len() == 3), "{real}");
    ensure!(real["data"]["result"][0]["metric"]["cluster"] == "real-prom", "{real}");
    // Five seconds for each, in parallel: the total is not the sum.
    ensure!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    // The fastest came before the slowest had given up.
    let place = |cluster: &str| events.iter().position(|(_, data)| data["cluster"] == cluster);
    ensure!(place("fault-fine") < place("fault-hang"), "{}", answer.text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fleet_is_aggregated_here() -> Result<()> {
    let world = World::get().await?;
    let session = world.session().await?;
    let ask = |op: &str, by: &[&str], k: u32| json!({ "query": "up", "clusters": "source:aro", "aggregate": op, "by": by, "k": k });
    let sum = events(&session.post("/api/v1/fleet/query", &ask("sum", &["job"], 0)).await?.ok()?)?;
    let last = *events_named(&sum, "aggregate").last().context("no aggregate")?;
    let end = *events_named(&sum, "end").first().context("no end")?;
    let rows = last["data"]["result"].as_array().context("rows")?;
    let etcd = rows.iter().find(|row| row["metric"]["job"] == "etcd").context("etcd")?;
    let sum_of_etcd: f64 = etcd["value"][1].as_str().context("a value")?.parse()?;
    let answered = end["answered"].as_f64().context("answered")?;
    ensure!(
        answered >= 20.0 && sum_of_etcd <= 3.0 * answered && sum_of_etcd > 2.0 * answered,
        "{end} {etcd}"
    );
    ensure!(events_named(&sum, "answer").iter().all(|answer| answer["data"].is_null()));
    let top = events(&session.post("/api/v1/fleet/query", &ask("topk", &[], 3)).await?.ok()?)?;
    let last = *events_named(&top, "aggregate").last().context("no aggregate")?;
    ensure!(last["data"]["result"].as_array().is_some_and(|rows| rows.len() == 3), "{last}");

    for (body, words) in [
        (json!({ "query": "sum(up", "clusters": "" }), "parse error"),
        (json!({ "query": "up", "clusters": "view:nowhere" }), "no view"),
        (json!({ "query": "up", "aggregate": "stddev" }), "topk"),
        (json!({ "query": "up", "start": 1.0 }), "start and an end"),
    ] {
        let answer = session.post("/api/v1/fleet/query", &body).await?;
        ensure!(
            answer.status == 400 && answer.text.contains(words),
            "{body}: {} {}",
            answer.status,
            answer.text
        );
    }
    let viewer = world.aro.session("viewer").await?;
    let refused = viewer.post("/api/v1/fleet/query", &json!({ "query": "up" })).await?;
    ensure!(refused.status == 403, "{}", refused.text);
    let trail = world.aro.session("auditor").await?;
    tests_kit::until("the question is in the trail", tests_kit::GENEROUS, || async {
        let entries = trail.audit("promql.fleet").await?;
        let ours = entries.iter().find(|entry| entry["command"].to_string().contains("answered="));
        ensure!(ours.is_some_and(|entry| entry["query"] == "up"), "{entries:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_asks_the_fleet() -> Result<()> {
    let world = World::get().await?;
    let cookie = world.aro.verb("session", &["--as", "sre"]).await?;
    let cookie = world.aro.folder().write("promql.cookie", cookie)?;
    let program = binary("aro")?;
    let run = |args: &[&str]| {
        let mut command = tokio::process::Command::new(&program);
        command.arg("promql").args(args).arg("--portal").arg(&world.aro.dev.url);
        command
            .arg("--ca-file")
            .arg(&world.aro.dev.ca_file)
            .arg("--session-cookie-file")
            .arg(&cookie)
            .kill_on_drop(true);
        async move {
            let output = tokio::time::timeout(Duration::from_secs(90), command.output()).await??;
            let text = |bytes: Vec<u8>| String::from_utf8(bytes);
            Ok::<_, anyhow::Error>((output.status.code(), text(output.stdout)?, text(output.stderr)?))
        }
    };
    let (code, table, error) = run(&["sum(up) by (job)", "--clusters", "source:aro"]).await?;
    ensure!(table.contains("CLUSTER") && table.contains("etcd"), "{table}{error}");
    ensure!(code == Some(0), "{code:?} {error}");
    let (_, csv, error) = run(&["count(up)", "--clusters", "source:aro", "-o", "csv"]).await?;
    ensure!(csv.starts_with("cluster,"), "{csv}{error}");
    let (_, text, error) =
        run(&["up", "--clusters", "fault-fine", "-o", "json", "--aggregate", "count"]).await?;
    let value: Value = serde_json::from_str(&text).with_context(|| format!("{text}{error}"))?;
    ensure!(value["result"][0]["value"][1] == "1", "{value}");
    Ok(())
}
