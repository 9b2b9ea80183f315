//! Prometheus as it should not be.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tests_kit::{GENEROUS, until};

use super::{World, failure, rows};

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_has_a_sentence() -> Result<()> {
    let world = World::get().await?;
    let session = world.session().await?;
    for (how, status, code, words) in [
        ("html", 502, "not_prometheus", "a web page (HTTP 502)"),
        ("starting", 502, "source_away", "it is starting"),
        ("hang", 502, "source_away", "does not answer"),
        ("syntax", 400, "syntax", "1:8: parse error"),
    ] {
        let answer = session.get(&format!("/api/v1/prom{}/query?query=sum(up", World::fault(how))).await?;
        ensure!(answer.status == status, "{how}: {} {}", answer.status, answer.text);
        let said = failure(&answer)?;
        ensure!(said["code"] == code, "{how}: {said}");
        ensure!(said["error"].as_str().is_some_and(|error| error.contains(words)), "{how}: {said}");
    }
    // Busy for longer than the limit, but there: the limit is what is said.
    let busy =
        session.get(&format!("/api/v1/prom{}/query?query=up&timeout=1s", World::fault("busy"))).await?;
    ensure!(busy.status == 504 && failure(&busy)?["code"] == "slow", "{}", busy.text);
    // Half an answer is never taken for a whole one.
    let cut = session.get(&format!("/api/v1/prom{}/query?query=up", World::fault("cut"))).await;
    ensure!(cut.is_err(), "{:?}", cut.map(|answer| answer.text));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_any_characters_pass_as_they_are() -> Result<()> {
    let world = World::get().await?;
    let session = world.session().await?;
    let base = format!("/api/v1/prom{}", World::fault("utf8"));
    let query = "%7B%22http.server.duration%22%2C%22service.name%22%3D%22gr%C3%B6%C3%9Fe%22%7D";
    let answer = session.get(&format!("{base}/query?query={query}")).await?.ok()?;
    ensure!(rows(&answer)?[0]["metric"]["service.name"] == "größe", "{}", answer.text);
    let values = session.get(&format!("{base}/label/U__service_2e_name/values")).await?.ok()?;
    ensure!(values.json()?["data"][1] == "température_°C", "{}", values.text);
    // The label's name is escaped as the API wants it.
    until("values of a label with a dot", GENEROUS, || async {
        let found =
            session.get(&format!("{base}/suggest?what=value&label=service.name&q=")).await?.ok()?.json()?;
        ensure!(found["items"].as_array().is_some_and(|items| items.len() == 3), "{found}");
        Ok(())
    })
    .await?;
    ensure!(world.faulty.seen().iter().any(|line| line.contains("/label/U__service_2e_name/values?")));

    let base = format!("/api/v1/prom{}", World::fault("hostile"));
    let answer = session.get(&format!("{base}/query?query=x")).await?.ok()?;
    ensure!(rows(&answer)?[0]["metric"]["__name__"] == "<script>alert(1)</script>");
    ensure!(
        answer.header("content-type") == "application/json"
            && answer.header("x-content-type-options") == "nosniff"
    );
    until("hostile names are suggested", GENEROUS, || async {
        let found = session.get(&format!("{base}/suggest?q=alert")).await?.ok()?;
        ensure!(found.json()?["items"][0]["value"] == "<img src=x onerror=alert(1)>", "{}", found.text);
        ensure!(!found.text.contains('<'), "markup is escaped in our own JSON: {}", found.text);
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_is_cut_where_the_limit_is() -> Result<()> {
    let world = World::get().await?;
    let session = world.session().await?;
    let base = format!("/api/v1/prom{}", World::fault("huge"));
    // What is drawn is a thousand series, each reduced to what can be seen.
    let range = "query=many&start=1700000000&end=1700014970&step=30&width=100";
    let drawn = session.get(&format!("{base}/query_range?{range}")).await?.ok()?;
    let series = rows(&drawn)?;
    ensure!(series.len() == 1000, "{}", series.len());
    ensure!(
        series[0]["values"].as_array().is_some_and(|values| (100..=202).contains(&values.len())),
        "{}",
        series[0]
    );
    ensure!(
        drawn.text.contains("results truncated: only the first 1000"),
        "{}",
        &drawn.text[drawn.text.len() - 300..]
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_cancels_the_query() -> Result<()> {
    let world = World::get().await?;
    let session = world.session().await?;
    let (tool, _) = world.tool(&World::fault("busy")).await?;
    let paths = [
        (&session, format!("/api/v1/prom{}/query?query=slow", World::fault("busy"))),
        (&tool, format!("{}/prometheus/api/v1/query?query=slow", World::fault("busy"))),
    ];
    for (who, path) in paths {
        // Others ask the same Prometheus meanwhile.
        let arrivals = || world.faulty.seen().iter().filter(|asked| asked.contains("query=slow")).count();
        let (before, asked_before) = (world.faulty.left(), arrivals());
        let asking = who.get(&path);
        let left = async {
            until("the query arrived", GENEROUS, || async {
                ensure!(arrivals() > asked_before, "it did not");
                Ok(())
            })
            .await
        };
        tokio::select! {
            answer = asking => anyhow::bail!("it answered: {}", answer?.text),
            arrived = left => arrived?,
        }
        // Dropped: the connection to the portal closes, and so must the one to Prometheus.
        until("Prometheus sees that nobody waits", GENEROUS, || async {
            ensure!(world.faulty.left() > before, "still {} waiting", world.faulty.waiting());
            Ok(())
        })
        .await
        .context(path)?;
    }
    // The trail has the query, and that it was cut.
    let trail = world.aro.session("auditor").await?;
    until("the trail tells of the cut", GENEROUS, || async {
        let entries = trail.audit("fault-busy").await?;
        let cut = |entry: &&serde_json::Value| entry["query"] == "slow" && entry["result"]["word"] == "cut";
        ensure!(entries.iter().filter(cut).count() >= 2, "{entries:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_million_names_do_not_freeze_a_page() -> Result<()> {
    let world = World::get().await?;
    let session = world.session().await?;
    let base = format!("/api/v1/prom{}", World::fault("names"));
    session.get(&format!("{base}/sources")).await?.ok()?;
    let found = until("all names are there", Duration::from_secs(120), || async {
        let found = session.get(&format!("{base}/suggest?q=component_499&limit=10")).await?.ok()?.json()?;
        ensure!(found["complete"] == true, "{found}");
        Ok(found)
    })
    .await?;
    ensure!(
        found["total"] == 1000 && found["items"].as_array().is_some_and(|items| items.len() == 10),
        "{found}"
    );
    Ok(())
}
