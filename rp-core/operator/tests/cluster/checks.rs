//! Checks, which are conditions of the `Cluster`.

use anyhow::{Result, ensure};
use serde_json::json;
use tests_kit::{GENEROUS, free_port, resident, until};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::world::{Operator, PATIENCE, World, spec};

/// Answers every connection; gives its URL.
async fn reachable() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream
                .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .await;
        }
    });
    Ok(url)
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_of_a_healthy_cluster_are_true_and_follow_what_changes() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let url = reachable().await?;
    world.set_cluster(&spec(&[url])).await?;
    let operator = Operator::start(world, "master")?;
    operator.ready().await?;
    for check in ["InternetReachableFromMaster", "DefaultIngressCertificate", "DefaultClusterDNS"] {
        world.condition(check, "True").await?;
    }
    let machines = world.condition("MachineValid", "False").await?;
    ensure!(machines["message"].as_str().is_some_and(|text| text.contains("expected 3")), "{machines}");
    let all = json!({ "servers": [{ "name": "all", "zones": ["."], "forwardPlugin": { "upstreams": ["10.0.0.9"] } }] });
    world.patch("dns.operator.openshift.io", "", "default", &json!({ "spec": all })).await?;
    let dns = world.condition("DefaultClusterDNS", "False").await?;
    ensure!(dns["message"] == "malformed config: \".\" in zones", "{dns}");
    world.patch("dns.operator.openshift.io", "", "default", &json!({ "spec": { "servers": null } })).await?;
    world.condition("DefaultClusterDNS", "True").await?;
    let off = json!({ "operatorflags": { "aro.checker.enabled": "false", "aro.machine.enabled": "FALSE", "aro.typo": "x" } });
    world.patch_cluster(&off).await?;
    for check in
        ["InternetReachableFromMaster", "DefaultIngressCertificate", "DefaultClusterDNS", "MachineValid"]
    {
        world.condition(check, "Unknown").await?;
    }
    let kind = "clusters.aro.openshift.io";
    world.reads(kind, "", "cluster", "/status/effectiveFlags/aro.machine.enabled", &json!("false")).await?;
    world
        .reads(kind, "", "cluster", "/status/flagProblems/0", &json!("flag \"aro.typo\" is not known"))
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_no_node_reaches_is_named_by_both_roles() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let closed = format!("http://127.0.0.1:{}/", free_port()?);
    world.set_cluster(&spec(&[closed.clone(), reachable().await?])).await?;
    let (master, worker) = (Operator::start(world, "master")?, Operator::start(world, "worker")?);
    master.ready().await?;
    worker.ready().await?;
    for check in ["InternetReachableFromMaster", "InternetReachableFromWorker"] {
        let condition = world.condition(check, "False").await?;
        let text = condition["message"].as_str().unwrap_or_default();
        ensure!(text.starts_with(&format!("{closed}: ")) && !text.contains('\n'), "{text}");
    }
    let page = worker.metrics().await?;
    ensure!(
        page.contains("controller_runtime_reconcile_errors_total{controller=\"InternetChecker\"}"),
        "{page}"
    );
    ensure!(!page.contains("controller=\"Banner\""), "{page}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn health_answers_posts_and_metrics_have_the_known_names() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.set_cluster(&spec(&[])).await?;
    let operator = Operator::start(world, "master")?;
    operator.ready().await?;
    for method in [reqwest::Method::GET, reqwest::Method::POST] {
        ensure!(operator.health(method, "/healthz/ready").await?.0 == 200);
    }
    ensure!(operator.health(reqwest::Method::GET, "/other").await?.0 == 404);
    world.condition("InternetReachableFromMaster", "True").await?;
    until("metrics of all parts", GENEROUS, || async {
        let page = operator.metrics().await?;
        for name in [
            "controller_runtime_reconcile_total{controller=\"InternetChecker\",result=\"success\"}",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"InternetChecker\"",
            "workqueue_adds_total{name=\"InternetChecker\"}",
            "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"127.0.0.1:",
            "process_resident_memory_bytes",
        ] {
            ensure!(page.contains(name), "no {name} in {page}");
        }
        Ok(())
    })
    .await?;
    let bytes = resident(operator.process.pid())?;
    ensure!(bytes < 80 * 1024 * 1024, "{bytes} bytes in a debug build");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_comes_later_is_picked_up() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let crd = "consolenotifications.console.openshift.io";
    let definition = world.get("crd", "", crd).await?;
    world.delete("crd", "", crd).await?;
    let mut with_banner = spec(&[]);
    with_banner["banner"] = json!({ "content": "ContactSupport" });
    with_banner["operatorflags"] = json!({ "aro.banner.enabled": "true" });
    world.set_cluster(&with_banner).await?;
    let operator = Operator::start(world, "master")?;
    operator.ready().await?;
    until("the banner failed", PATIENCE, || async {
        let log = operator.process.log();
        ensure!(log.contains("does not serve this kind"), "{log}");
        Ok(())
    })
    .await?;
    let mut again = definition.clone();
    again["metadata"] = json!({ "name": crd, "annotations": definition["metadata"]["annotations"] });
    again["status"].take();
    world.openshift.apply(&[again]).await?;
    let name = "openshift-aro-sre";
    world.reads("consolenotifications", "", name, "/spec/location", &json!("BannerTop")).await
}
