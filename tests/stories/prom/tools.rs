//! What tools do with an address and a token.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use prometheus_http_query::Client;
use tests_kit::{bearer_client, part};

use super::{World, failure, rows};

#[tokio::test(flavor = "multi_thread")]
async fn promtool_asks_with_an_address_and_a_token() -> Result<()> {
    let world = &*World::get().await?;
    let _replicas = world.replicas.read().await;
    let (_, token) = world.tool(&world.real).await?;
    let proxy = world.aro.dev.proxy_url.replace("https://", &format!("https://any:{token}@"));
    let server = format!("{}{}/prometheus", proxy.trim_end_matches('/'), world.real);
    let promtool = |args: Vec<String>| async move {
        let mut command = tokio::process::Command::new(part("promtool")?);
        command.env("SSL_CERT_FILE", &world.aro.dev.ca_file).arg("query").args(&args).kill_on_drop(true);
        let output = tokio::time::timeout(Duration::from_secs(60), command.output()).await??;
        let (said, error) =
            (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr).into_owned());
        Ok::<_, anyhow::Error>((output.status.success(), said, error))
    };
    let args = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<String>>();
    let (good, said, error) = promtool(args(&["instant", &server, "sum(up)"])).await?;
    ensure!(good && said.contains("=> 3"), "{said}{error}");
    let (good, said, error) = promtool(args(&["range", "--step=10s", &server, "up"])).await?;
    ensure!(good && said.contains("job=\"alertmanager\""), "{said}{error}");
    let (good, said, error) = promtool(args(&["series", "--match=up", &server])).await?;
    ensure!(good && said.lines().count() == 3, "{said}{error}");
    let (good, said, error) = promtool(args(&["labels", &server, "job"])).await?;
    ensure!(good && said.contains("prometheus"), "{said}{error}");
    let (good, _, error) = promtool(args(&["instant", &server, "sum(up"])).await?;
    ensure!(!good && error.contains("parse error"), "{error}");
    Ok(())
}

/// A client library that knows nothing of us.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_library_needs_an_address_and_a_token_only() -> Result<()> {
    let world = World::get().await?;
    let _replicas = world.replicas.read().await;
    let (_, token) = world.tool(&world.real).await?;
    let http = bearer_client(&world.aro.ca_pem()?, &token)?;
    let base = format!("{}{}/prometheus", world.aro.dev.proxy_url.trim_end_matches('/'), world.real);
    let client = Client::from(http, &base)?;
    let up = client.query("up").get().await?;
    ensure!(up.data().as_vector().is_some_and(|rows| rows.len() == 3), "{:?}", up.data());
    let build = client.build_information().await?;
    ensure!(build.version().starts_with("2."), "{build:?}");
    ensure!(client.label_names().get().await?.contains(&"job".to_owned()));
    ensure!(client.query("sum(up").get().await.is_err());
    Ok(())
}

/// The calls that Grafana documents for its Prometheus data source.
#[tokio::test(flavor = "multi_thread")]
async fn a_data_source_makes_its_calls() -> Result<()> {
    let world = World::get().await?;
    let _replicas = world.replicas.read().await;
    let (tool, _) = world.tool(&world.real).await?;
    let base = format!("{}/prometheus/api/v1", world.real);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let post = |tail: &'static str, body: &'static str| {
        let (tool, base) = (&tool, &base);
        async move {
            tool.send(reqwest::Method::POST, &format!("{base}/{tail}"), &form, Some(body.to_owned()))
                .await?
                .ok()
        }
    };
    ensure!(
        tool.get(&format!("{base}/status/buildinfo")).await?.ok()?.json()?["data"]["version"] == "2.42.0+ds"
    );
    let two = post("query", "query=1%2B1&time=1700000000").await?.json()?;
    ensure!(two["data"]["result"][1] == "2", "{two}");
    ensure!(rows(&post("query", "query=up").await?)?.len() == 3);
    let range =
        post("query_range", "query=up&start=2026-11-21T10:00:00Z&end=2026-11-21T11:00:00Z&step=15s").await?;
    ensure!(range.json()?["data"]["resultType"] == "matrix", "{}", range.text);
    ensure!(post("labels", "match%5B%5D=up").await?.json()?["data"].as_array().is_some_and(|l| l.len() == 3));
    let names =
        tool.get(&format!("{base}/label/__name__/values?match%5B%5D=%7Bjob%3D%22alertmanager%22%7D")).await?;
    ensure!(names.ok()?.text.contains("alertmanager_build_info"));
    ensure!(post("series", "match%5B%5D=up").await?.json()?["data"].as_array().is_some_and(|s| s.len() == 3));
    for tail in [
        "metadata?metric=up",
        "rules",
        "alerts",
        "targets?state=active",
        "status/flags",
        "query_exemplars?query=up&start=1&end=2",
    ] {
        let answer = tool.get(&format!("{base}/{tail}")).await?.ok()?;
        ensure!(answer.json()?["status"] == "success", "{tail}: {}", answer.text);
    }
    for ready in ["-/ready", ""] {
        let path = format!("{}/prometheus/{ready}", world.real);
        ensure!(tool.get(&path).await?.ok()?.text.contains("Ready"), "{path}");
    }

    // What is asked is in the trail, with its size and time.
    let trail = world.aro.session("auditor").await?;
    let entry = tests_kit::until("the question is in the trail", tests_kit::GENEROUS, || async {
        let entries = trail.audit("2026-11-21T10").await.unwrap_or_default();
        let entries = if entries.is_empty() { trail.audit("query_range").await? } else { entries };
        // Other stories ask for other ranges meanwhile.
        let ours = entries.into_iter().find(|entry| {
            entry["resource"] == "query_range"
                && !entry["grant"].is_null()
                && entry["command"].to_string().contains("step=15")
        });
        ours.context("no entry yet")
    })
    .await?;
    ensure!(
        entry["verb"] == "promql" && entry["query"] == "up" && entry["identity_used"] == "service credential",
        "{entry}"
    );
    ensure!(entry["bytes_out"].as_u64().is_some_and(|bytes| bytes > 0), "{entry}");
    let told = entry["command"].to_string();
    ensure!(told.contains("series="), "{told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_read_and_nothing_else() -> Result<()> {
    let world = World::get().await?;
    let (tool, token) = world.tool(&world.real).await?;
    let base = format!("{}/prometheus/api/v1", world.real);
    for (method, tail) in [
        ("POST", "admin/tsdb/delete_series?match%5B%5D=up"),
        ("POST", "write"),
        ("POST", "otlp/v1/metrics"),
        ("POST", "read"),
        ("PUT", "query?query=up"),
        ("DELETE", "query?query=up"),
        ("GET", "label/..%2f..%2fadmin/values"),
    ] {
        let answer = tool.send(method.parse()?, &format!("{base}/{tail}"), &[], None).await?;
        ensure!(matches!(answer.status, 403 | 405), "{method} {tail}: {} {}", answer.status, answer.text);
        failure(&answer)?;
    }
    for path in ["/-/reload", "/-/quit", "/graph", "/federate"] {
        let answer = tool.get(&format!("{}/prometheus{path}", world.real)).await?;
        ensure!(matches!(answer.status, 403 | 404), "{path}: {}", answer.status);
    }
    // The token is for this cluster's metrics only.
    let other = tool.get(&format!("{}/prometheus/api/v1/query?query=up", World::fault("fine"))).await?;
    ensure!(other.status == 403 && failure(&other)?["code"] == "other_cluster", "{}", other.text);
    let kubectl = tool.get(&format!("{}/kubeconfig/proxy/api/v1/pods", world.real)).await?;
    ensure!(kubectl.status == 403, "{}", kubectl.text);
    let kubeconfig =
        world.session().await?.kubeconfig(&world.real, "read", "story of the tests", None).await?;
    let wrong = world.aro.proxy()?.with_bearer(&tests_kit::kubeconfig_token(&kubeconfig)?);
    let wrong = wrong.get(&format!("{base}/query?query=up")).await?;
    ensure!(
        wrong.status == 403 && failure(&wrong)?["error"] == "This token is none for metrics.",
        "{}",
        wrong.text
    );
    let nobody = world.aro.proxy()?.get(&format!("{base}/query?query=up")).await?;
    ensure!(nobody.status == 401 && !nobody.header("www-authenticate").is_empty(), "{}", nobody.text);

    // Revoked, it opens nothing within a second on any replica.
    let session = world.session().await?;
    let grants = session.grants().await?;
    let mine = grants
        .iter()
        .find(|grant| token.contains(grant["id"].as_str().unwrap_or("-")))
        .context("my grant")?;
    session.revoke(mine["id"].as_str().context("an id")?).await?;
    let ended = tool.get(&format!("{base}/query?query=up")).await?;
    ensure!(ended.status == 401, "{}", ended.text);
    Ok(())
}
