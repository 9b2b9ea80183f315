//! Two operators at once, and operators that end.

use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests_kit::until;

use crate::world::{Operator, PATIENCE, World, spec};

#[tokio::test(flavor = "multi_thread")]
async fn of_two_operators_one_works_and_the_other_takes_over() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let mut with_banner = spec(&[]);
    with_banner["banner"] = json!({ "content": "ContactSupport" });
    with_banner["operatorflags"] = json!({ "aro.banner.enabled": "true" });
    world.set_cluster(&with_banner).await?;
    let first = Operator::start(world, "master")?;
    until("the first holds the lease", PATIENCE, || first.holds_lease()).await?;
    let second = Operator::start(world, "master")?;
    second.ready().await?;
    ensure!(!second.leads().await?, "two hold the lease");
    let (kind, name) = ("consolenotifications", "openshift-aro-sre");
    world.reads(kind, "", name, "/spec/location", &json!("BannerTop")).await?;
    first.process.kill()?;
    world.delete(kind, "", name).await?;
    until("the second holds the lease", PATIENCE, || second.holds_lease()).await?;
    world.reads(kind, "", name, "/spec/location", &json!("BannerTop")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_gives_the_lease_back() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.set_cluster(&spec(&[])).await?;
    let operator = Operator::start(world, "master")?;
    until("it holds the lease", PATIENCE, || operator.holds_lease()).await?;
    operator.process.signal("TERM")?;
    let (kind, namespace) = ("lease", "openshift-azure-operator");
    until("nobody holds the lease", PATIENCE, || async {
        let lease = world.get(kind, namespace, "aro-operator-master").await?;
        let holder =
            lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default().to_owned();
        ensure!(holder.is_empty(), "{lease}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_that_was_scaled_to_none_stays_so() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.set_cluster(&spec(&[])).await?;
    let (namespace, name) = ("openshift-azure-operator", "aro-operator-master");
    let labels = json!({ "app": name });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "namespace": namespace },
        "spec": { "replicas": 0, "selector": { "matchLabels": labels }, "template": {
            "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "aro-operator", "image": "registry.example/aro-operator:test" }] },
        } },
    });
    world.openshift.apply(&[deployment]).await?;
    let operator = Operator::start(world, "master")?;
    until("it works in the place of the pod", PATIENCE, || operator.holds_lease()).await?;
    // Of its controllers, those of objects that are deleted here have run.
    for role in ["system:aro-sre", "system:aro-diagnostics"] {
        world.comes_back("clusterrole", "", role).await?;
    }
    let may = ["auth", "can-i", "patch", "deployments/aro-operator-master", "-n", namespace, "--as", name];
    let answer = world.openshift.admin().refused(&may).await?;
    ensure!(!answer.contains("yes"), "{answer}");
    let live = world.get("deployment", namespace, name).await?;
    ensure!(live["spec"]["replicas"] == 0, "{live}");
    world.delete("deployment", namespace, name).await
}

#[test]
fn a_role_that_is_none_is_refused() -> Result<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_aro-operator")).args(["operator", "janitor"]).output()?;
    ensure!(!output.status.success());
    let text = String::from_utf8(output.stderr)?;
    ensure!(text.trim() == "invalid role janitor", "{text}");
    Ok(())
}
