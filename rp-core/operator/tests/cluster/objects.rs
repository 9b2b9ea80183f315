//! Objects that are kept: what is deleted or changed comes back, and what belongs to the customer stays.

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests_kit::until;

use crate::world::{Operator, PATIENCE, World, spec};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_changed_comes_back_and_what_customers_set_stays() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let mut with_banner = spec(&[]);
    with_banner["banner"] = json!({ "content": "ContactSupport" });
    with_banner["operatorflags"] = json!({ "aro.banner.enabled": "true" });
    world.set_cluster(&with_banner).await?;
    let operator = Operator::start(world, "master")?;
    let (kind, name) = ("consolenotifications", "openshift-aro-sre");
    world.reads(kind, "", name, "/spec/location", &json!("BannerTop")).await?;
    let theirs = json!({ "metadata": { "labels": { "theirs": "yes" } }, "spec": { "color": "#fff" } });
    world.patch(kind, "", name, &theirs).await?;
    world.reads(kind, "", name, "/spec/color", &json!("#000")).await?;
    world.reads(kind, "", name, "/metadata/labels/theirs", &json!("yes")).await?;
    world.delete(kind, "", name).await?;
    world.reads(kind, "", name, "/spec/location", &json!("BannerTop")).await?;
    world.patch_cluster(&json!({ "operatorflags": { "aro.banner.enabled": "false" } })).await?;
    world.reads(kind, "", name, "", &Value::Null).await?;
    ensure!(operator.leads().await?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_objects_of_the_platform_are_set_and_the_others_stay() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    let (kind, namespace, name) = ("configmap", "openshift-config", "cloud-provider-config");
    let config = || async {
        let map = world.get(kind, namespace, name).await?;
        let text = map["data"]["config"].as_str().context("no config")?.to_owned();
        let config: Value = serde_json::from_str(&text)?;
        ensure!(
            config
                == json!({ "cloud": "AzurePublicCloud", "theirs": { "x": 1 }, "disableOutboundSNAT": true }),
            "{config}"
        );
        Ok(())
    };
    until("outbound SNAT is off", PATIENCE, config).await?;
    let back = json!({ "data": { "config": "{\"cloud\":\"AzurePublicCloud\",\"disableOutboundSNAT\":false,\"theirs\":{\"x\":1}}" } });
    world.patch(kind, namespace, name, &back).await?;
    until("outbound SNAT is off again", PATIENCE, config).await?;

    let (kind, namespace, name) =
        ("ingresscontrollers.operator.openshift.io", "openshift-ingress-operator", "default");
    world.patch(kind, namespace, name, &json!({ "spec": { "replicas": 1 } })).await?;
    world.reads(kind, namespace, name, "/spec/replicas", &json!(2)).await?;
    world.condition("IngressControllerAROControllerAvailable", "True").await?;

    let text = STANDARD.encode("receivers:\n- name: Default\n- name: mine\nroute: {receiver: Default}\n");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "alertmanager-main", "namespace": "openshift-monitoring" },
        "data": { "alertmanager.yaml": text, "other": "eA==" },
    });
    world.openshift.apply(&[secret]).await?;
    until("the default receiver has a webhook", PATIENCE, || async {
        let secret = world.get("secret", "openshift-monitoring", "alertmanager-main").await?;
        let bytes = STANDARD.decode(secret["data"]["alertmanager.yaml"].as_str().context("no data")?)?;
        let text = String::from_utf8(bytes)?;
        ensure!(
            text.contains(
                "aro-operator-master.openshift-azure-operator.svc.cluster.local:8080/healthz/ready"
            ),
            "{text}"
        );
        ensure!(text.contains("mine") && secret["data"]["other"] == "eA==", "{secret}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_are_raised_to_two_and_an_active_control_plane_set_is_deleted() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let role = "machine.openshift.io/cluster-api-machine-role";
    let set = |name: &str, replicas: i64| {
        json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": { "name": name, "namespace": "openshift-machine-api", "labels": { role: "worker" } },
            "spec": { "replicas": replicas, "selector": { "matchLabels": { "set": name } }, "template": {
                "metadata": { "labels": { "set": name } }, "spec": { "providerSpec": { "value": { "vmSize": "x" } } },
            } },
        })
    };
    world.openshift.apply(&[set("c-abcde-worker-b", 0), set("c-abcde-worker-a", 1)]).await?;
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    let (kind, namespace) = ("machinesets.machine.openshift.io", "openshift-machine-api");
    world.reads(kind, namespace, "c-abcde-worker-a", "/spec/replicas", &json!(2)).await?;
    world.reads(kind, namespace, "c-abcde-worker-b", "/spec/replicas", &json!(0)).await?;
    world.condition("MachineSetControllerDegraded", "False").await?;
    // A set of the customer's own: nothing is raised any more.
    world.openshift.apply(&[set("mine", 0)]).await?;
    world.patch(kind, namespace, "c-abcde-worker-a", &json!({ "spec": { "replicas": 1 } })).await?;
    world.reads(kind, namespace, "c-abcde-worker-a", "/spec/replicas", &json!(1)).await?;
    for name in ["mine", "c-abcde-worker-a", "c-abcde-worker-b"] {
        world.delete(kind, namespace, name).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_the_operator_is_a_cluster_operator() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    let kind = "clusteroperators.config.openshift.io";
    until("ClusterOperator aro is available", PATIENCE, || async {
        let object = world.get(kind, "", "aro").await?;
        let all = object.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        for (condition, status) in [("Available", "True"), ("Progressing", "False"), ("Degraded", "False")] {
            ensure!(all.iter().any(|one| one["type"] == condition && one["status"] == status), "{object}");
        }
        ensure!(object["metadata"]["ownerReferences"][0]["kind"] == "Cluster", "{object}");
        Ok(())
    })
    .await?;
    world.delete(kind, "", "aro").await?;
    world.reads(kind, "", "aro", "/status/versions/0/name", &json!("operator")).await
}
