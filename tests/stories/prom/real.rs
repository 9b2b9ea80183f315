//! Through the portal to a real Prometheus and a real Alertmanager.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{GENEROUS, until};

use super::{World, failure, rows};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_asks_a_real_prometheus() -> Result<()> {
    let world = World::get().await?;
    let _replicas = world.replicas.read().await;
    let (session, base) = (world.session().await?, format!("/api/v1/prom{}", world.real));
    let up = session.get(&format!("{base}/query?query=up")).await?.ok()?;
    ensure!(rows(&up)?.len() == 3, "{}", up.text);
    ensure!(up.header("x-aro-source") == "prometheus-k8s-0", "{}", up.header("x-aro-source"));
    // The same behind the address of the specification.
    let same = session.get(&format!("{}/prometheus/api/v1/query?query=up", world.real)).await?.ok()?;
    ensure!(rows(&same)?.len() == 3);

    // The step is fitted, and told.
    let now = rows(&session.get(&format!("{base}/query?query=time()")).await?.ok()?);
    ensure!(now.is_ok());
    let end: f64 = session.get(&format!("{base}/query?query=time()")).await?.json()?["data"]["result"][0]
        .as_f64()
        .context("a time")?;
    let range = format!("{base}/query_range?query=up&start={}&end={end}&width=500", end - 86_400.0);
    let range = session.get(&range).await?.ok()?;
    ensure!(range.header("x-aro-step") == "60", "{}", range.header("x-aro-step"));

    // Syntax errors stand at their place, in Prometheus' words.
    let wrong = failure(&session.get(&format!("{base}/query?query=sum(up")).await?)?;
    ensure!(wrong["code"] == "syntax" && wrong["errorType"] == "bad_data", "{wrong}");
    ensure!(wrong["position"]["column"] == 7, "{wrong}");
    // Ten million points are refused before Prometheus is called, with advice on what to change.
    let many = format!("{base}/query_range?query=up&start=0&end=10000000&step=1");
    let many = session.get(&many).await?;
    ensure!(
        many.status == 422 && failure(&many)?["action"].as_str().is_some_and(|a| a.contains("910 s")),
        "{}",
        many.text
    );
    // An unknown metric is an empty answer.
    ensure!(rows(&session.get(&format!("{base}/query?query=no_such_metric")).await?.ok()?)?.is_empty());
    // A truncated answer is marked as such and is valid JSON.
    let cut =
        session.get(&format!("{base}/query?query=prometheus_http_requests_total&series=2")).await?.ok()?;
    ensure!(rows(&cut)?.len() == 2 && cut.text.contains("results truncated"), "{}", cut.text);

    let formatted = session.get(&format!("{base}/format_query?query=sum(up)by(job)")).await?.ok()?.json()?;
    ensure!(formatted["data"] == "sum by (job) (up)", "{formatted}");
    let explained =
        session.get("/api/v1/prom/explain?query=sum(rate(x_total%5B5m%5D))by(job)").await?.ok()?.json()?;
    ensure!(explained["tree"]["says"] == "adds up, one result per job", "{explained}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_suggested_and_sources_shown() -> Result<()> {
    let world = World::get().await?;
    let _replicas = world.replicas.read().await;
    let (session, base) = (world.session().await?, format!("/api/v1/prom{}", world.real));
    let sources = session.get(&format!("{base}/sources")).await?.ok()?.json()?;
    ensure!(sources["chosen"] == "prometheus-k8s-0", "{sources}");
    ensure!(sources["items"].as_array().is_some_and(|items| items.len() == 4), "{sources}");
    let found = until("names are there", GENEROUS, || async {
        let found =
            session.get(&format!("{base}/suggest?what=metric&q=http+requests")).await?.ok()?.json()?;
        ensure!(found["complete"] == true, "{found}");
        Ok(found)
    })
    .await?;
    let has = |found: &Value, name: &str| {
        found["items"].as_array().is_some_and(|items| items.iter().any(|item| item["value"] == name))
    };
    ensure!(has(&found, "prometheus_http_requests_total"), "{found}");
    let typed = until("types are there", GENEROUS, || async {
        let found =
            session.get(&format!("{base}/suggest?q=prometheus_http_requests_total")).await?.ok()?.json()?;
        ensure!(found["items"][0]["type"] == "counter", "{found}");
        Ok(())
    });
    typed.await?;
    for (query, name) in [
        ("what=label&metric=prometheus_http_requests_total&q=ha", "handler"),
        ("what=value&label=job&metric=up&q=alert", "alertmanager"),
    ] {
        until(name, GENEROUS, || async {
            let found = session.get(&format!("{base}/suggest?{query}")).await?.ok()?.json()?;
            ensure!(has(&found, name), "{found}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_and_alerts_of_a_real_cluster() -> Result<()> {
    let world = World::get().await?;
    let _replicas = world.replicas.read().await;
    let session = world.session().await?;
    let names = world.real.split('/').collect::<Vec<_>>();
    let short = format!("/api/{}/{}/{}", names[2], names[4], names[8]);
    // Eight weeks are a step that fits; what is not measured there is an empty list.
    for duration in ["1h", "1344h"] {
        let path = format!("{short}/statistics/kubeapicpu?duration={duration}&endtime=2026-11-21T12:00:00Z");
        let answer = session.get(&path).await?.ok()?;
        ensure!(answer.json()?.as_array().is_some_and(Vec::is_empty), "{}", answer.text);
    }
    for (query, words) in [("duration=1d&endtime=x", "Go duration"), ("duration=1h&endtime=x", "RFC 3339")] {
        let answer = session.get(&format!("{short}/statistics/nothing?{query}")).await?;
        ensure!(answer.status == 400 && answer.text.contains(words), "{}", answer.text);
    }
    let nothing = format!("{short}/statistics/nothing?duration=1h&endtime=2026-11-21T12:00:00Z");
    let nothing = session.get(&nothing).await?;
    ensure!(nothing.status == 400 && nothing.text.contains("kubeapicodes"), "{}", nothing.text);

    world.monitoring.silence("StoryFires", "it is a story").await?;
    let alerts = until("alerts fire and one is silenced", GENEROUS, || async {
        let alerts = session.get(&format!("/api/v1/alerts{}", world.real)).await?.ok()?.json()?;
        let items = alerts["items"].as_array().context("items")?;
        // A replica that has just started evaluates its rules a moment later.
        let ours = |alert: &&Value| alert["name"] == "StoryFires" && alert["expr"] != "";
        let silenced = items
            .iter()
            .find(ours)
            .is_some_and(|alert| alert["silenced_by"][0]["comment"] == "it is a story");
        ensure!(silenced && items.iter().any(|alert| alert["name"] == "Watchdog"), "{alerts}");
        Ok(alerts)
    })
    .await?;
    let worst = &alerts["items"][0];
    ensure!(worst["severity"] == "critical", "worst first: {worst}");
    let ours = |alert: &&Value| alert["name"] == "StoryFires" && alert["expr"] != "";
    let first = alerts["items"].as_array().and_then(|items| items.iter().find(ours)).context("the alert")?;
    ensure!(first["name"] == "StoryFires" && first["severity"] == "critical", "worst first: {first}");
    ensure!(first["runbook"] == "https://runbooks.example/StoryFires", "{first}");
    ensure!(first["expr"].as_str().is_some_and(|expr| expr.contains("up")), "{first}");
    ensure!(first["since"].as_str().is_some(), "{first}");
    let waits = alerts["items"].as_array().and_then(|items| items.iter().find(|a| a["name"] == "StoryWaits"));
    ensure!(waits.is_some_and(|alert| alert["state"] == "pending"), "{alerts}");
    ensure!(alerts["alertmanager"] == true && alerts["silences"] == 1, "{alerts}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_ends_is_passed_over_and_comes_back() -> Result<()> {
    let world = World::get().await?;
    let _alone = world.replicas.write().await;
    let (session, base) = (world.session().await?, format!("/api/v1/prom{}", world.real));
    ensure!(rows(&session.get(&format!("{base}/query?query=up")).await?.ok()?)?.len() == 3);
    world.monitoring.stop(0)?;
    // No client sees an error: the kept connection is gone, the port refuses, the other replica answers.
    let answer = session.get(&format!("{base}/query?query=up")).await?.ok()?;
    ensure!(answer.header("x-aro-source") == "prometheus-k8s-1", "{}", answer.header("x-aro-source"));
    let why = answer.header("x-aro-source-why");
    ensure!(why.starts_with("prometheus-k8s-0 did not answer"), "{why}");
    // Who forces a source gets that one's error.
    let forced = session.get(&format!("{base}/query?query=up&source=prometheus-k8s-0")).await?;
    ensure!(forced.status == 502 && failure(&forced)?["code"] == "source_away", "{}", forced.text);
    // With both gone, the sentence names what was tried, the querier too.
    world.monitoring.stop(1)?;
    let none = session.get(&format!("{base}/query?query=up")).await?;
    let none = failure(&none)?;
    ensure!(none["error"].as_str().is_some_and(|e| e.contains("thanos-querier")), "{none}");
    world.monitoring.go(0).await?;
    world.monitoring.go(1).await?;
    until("the first replica is asked again", GENEROUS, || async {
        let answer = session.get(&format!("{base}/query?query=vector(1)")).await?.ok()?;
        ensure!(answer.header("x-aro-source") == "prometheus-k8s-0", "{}", answer.header("x-aro-source"));
        Ok(())
    })
    .await
}
