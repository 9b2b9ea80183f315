//! The development server's own region: the same way to a cluster as in production, through the CONNECT
//! proxy to a private address.

mod kubectl_commands;
mod kubectl_streams;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tests_kit::{Aro, AroOptions, Session};

use crate::world::World;

/// The resource id of a simulated cluster in good health.
async fn healthy(session: &Session) -> Result<String> {
    let list = session.get("/api/v1/clusters?limit=200").await?.ok()?.json()?;
    let rows = list["items"].as_array().context("items")?;
    let good = rows.iter().find(|row| row["source"] != "imported" && row["provisioningState"] == "Succeeded");
    let id = good.and_then(|row| row["resourceId"].as_str());
    Ok(id.with_context(|| format!("no healthy cluster in {list}"))?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn simulated_clusters_answer_kubectl() -> Result<()> {
    let world = World::get().await?;
    let resource = healthy(&world.aro.session("sre").await?).await?;
    let kubectl = world.aro.kubectl("sre", &resource, "read").await?;
    let nodes = kubectl.ok(&["get", "nodes", "-o", "name"]).await?;
    ensure!(nodes.lines().count() >= 3, "{nodes}");
    let operators = kubectl.ok(&["get", "clusteroperators", "-o", "name"]).await?;
    ensure!(operators.contains("clusteroperator.config.openshift.io/etcd"), "{operators}");
    let version =
        kubectl.ok(&["get", "clusterversion", "version", "-o", "jsonpath={.status.desired.version}"]).await?;
    ensure!(version.starts_with("4."), "{version}");
    let pods = kubectl
        .ok(&[
            "get",
            "pods",
            "-A",
            "-o",
            "jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}{\"\\n\"}{end}",
        ])
        .await?;
    let (namespace, pod) = pods.lines().find_map(|line| line.split_once(' ')).context("a pod")?;
    ensure!(!kubectl.ok(&["logs", "-n", namespace, pod, "--tail=5"]).await?.is_empty());
    let said = kubectl.refused(&["exec", "-n", namespace, pod, "--", "true"]).await?;
    ensure!(said.contains("write rights"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_state_of_a_cluster_is_there() -> Result<()> {
    let aro = Aro::start(AroOptions { clusters: 300, ..AroOptions::default() }).await?;
    let list: Value = aro.session("viewer").await?.get("/api/clusters").await?.ok()?.json()?;
    let rows = list.as_array().context("a list")?;
    ensure!(rows.len() == 300, "{} clusters", rows.len());
    for state in ["Creating", "Updating", "Deleting", "Succeeded", "Failed"] {
        ensure!(rows.iter().any(|row| row["provisioningState"] == state), "no cluster is {state}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_start_keeps_everything() -> Result<()> {
    let mut aro = Aro::start(AroOptions { clusters: 20, ..AroOptions::default() }).await?;
    let names = async |aro: &Aro| -> Result<Value> {
        let list = aro.session("viewer").await?.get("/api/clusters").await?.ok()?.json()?;
        Ok(list.as_array().into_iter().flatten().map(|row| row["resourceId"].clone()).collect())
    };
    let session = aro.session("sre").await?;
    let resource = healthy(&session).await?;
    let kubeconfig = session.kubeconfig(&resource, "read", "kept over a restart", None).await?;
    let (before, url, password) = (names(&aro).await?, aro.dev.url.clone(), aro.password("sre")?.to_owned());
    aro.process().signal("TERM")?;
    aro.process().wait(tests_kit::GENEROUS).await?;
    aro.restart().await?;
    ensure!(names(&aro).await? == before && aro.dev.url == url && aro.password("sre")? == password);
    // The session and the file that were handed out live on.
    session.get("/api/info").await?.ok()?;
    aro.kubectl_with(&kubeconfig)?.ok(&["get", "nodes"]).await?;
    Ok(())
}
