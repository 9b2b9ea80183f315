//! The definitions of the operator's own kinds, by the API server that holds objects to them.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::{World, spec};

/// What the API server says to a change that it does not take.
async fn refused(world: &World, kind: &str, patch: &Value) -> Result<String> {
    let patch = patch.to_string();
    world.openshift.admin().refused(&["patch", kind, "cluster", "--type=merge", "-p", &patch]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_another_form_are_refused_and_the_status_is_apart() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let kind = "clusters.aro.openshift.io";
    world.set_cluster(&spec(&[])).await?;
    for (patch, named) in [
        (json!({ "spec": { "architectureVersion": "1" } }), "spec.architectureVersion"),
        (json!({ "spec": { "internetChecker": { "urls": "https://one" } } }), "spec.internetChecker.urls"),
        (json!({ "spec": { "operatorflags": { "aro.checker.enabled": true } } }), "spec.operatorflags"),
    ] {
        let text = refused(world, kind, &patch).await?;
        ensure!(text.contains(named), "{patch}: {text}");
    }
    world.patch(kind, "", "cluster", &json!({ "status": { "operatorVersion": "invented" } })).await?;
    let status = world.get(kind, "", "cluster").await?["status"]["operatorVersion"].clone();
    ensure!(status.is_null(), "a change of the object changed its status: {status}");

    let preview = json!({
        "apiVersion": "preview.aro.openshift.io/v1alpha1", "kind": "PreviewFeature", "metadata": { "name": "cluster" },
        "spec": { "nsgFlowLogs": { "enabled": false } },
    });
    world.openshift.apply(&[preview]).await?;
    let kind = "previewfeatures.preview.aro.openshift.io";
    world.reads(kind, "", "cluster", "/spec/nsgFlowLogs/retentionDays", &json!(90)).await?;
    for (patch, named) in [
        (json!({ "version": 3 }), "spec.nsgFlowLogs.version"),
        (json!({ "trafficAnalyticsInterval": "1h" }), "spec.nsgFlowLogs.trafficAnalyticsInterval"),
        (json!({ "enabled": null }), "spec.nsgFlowLogs.enabled"),
    ] {
        let patch = json!({ "spec": { "nsgFlowLogs": patch } });
        let text = refused(world, kind, &patch).await?;
        ensure!(text.contains(named), "{patch}: {text}");
    }
    world.delete(kind, "", "cluster").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_shows_version_location_and_domain() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.set_cluster(&spec(&[])).await?;
    let text = world.openshift.admin().ok(&["get", "clusters.aro.openshift.io"]).await?;
    let heads: Vec<_> = text.lines().next().unwrap_or_default().split_whitespace().collect();
    ensure!(heads == ["NAME", "VERSION", "LOCATION", "DOMAIN", "AGE"], "{text}");
    ensure!(text.contains("eastus") && text.contains("c.eastus.aroapp.io"), "{text}");
    Ok(())
}
