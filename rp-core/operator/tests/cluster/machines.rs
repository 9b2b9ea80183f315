//! MachineConfigs: what restarts nodes waits for an upgrade.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tests_kit::until;

use crate::world::{Operator, PATIENCE, World, spec};

const CONFIGS: &str = "machineconfigs.machineconfiguration.openshift.io";

fn pool(name: &str) -> Value {
    json!({ "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": { "name": name }, "spec": { "paused": false } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_pool_gets_its_names_at_once_and_changes_wait_for_the_gate() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    for config in ["master", "worker", "story"] {
        world.delete(CONFIGS, "", &format!("99-{config}-aro-dns")).await?;
        world.delete(CONFIGS, "", &format!("99-{config}-aro-etc-hosts-gateway-domains")).await?;
    }
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    let role = "/metadata/labels/machineconfiguration.openshift.io~1role";
    for name in ["master", "worker"] {
        world.reads(CONFIGS, "", &format!("99-{name}-aro-dns"), role, &json!(name)).await?;
    }
    world.openshift.apply(&[pool("story")]).await?;
    let (ours, at) = ("99-story-aro-dns", "/spec/config/storage/files/0/contents/source");
    world.reads(CONFIGS, "", ours, role, &json!("story")).await?;
    let before = world.get(CONFIGS, "", ours).await?;
    ensure!(before["metadata"]["ownerReferences"][0]["kind"] == "MachineConfigPool", "{before}");
    // Another address would restart the nodes: it waits.
    world.patch_cluster(&json!({ "apiIntIP": "10.0.0.44" })).await?;
    world.delete(CONFIGS, "", "99-worker-aro-dns").await?;
    until("a deleted one came back with the new address", PATIENCE, || async {
        let worker = world.get(CONFIGS, "", "99-worker-aro-dns").await?;
        ensure!(worker.pointer(at).is_some_and(|source| Some(source) != before.pointer(at)), "{worker}");
        Ok(())
    })
    .await?;
    let now = world.get(CONFIGS, "", ours).await?;
    ensure!(now.pointer(at) == before.pointer(at), "a node would restart");
    let hosts = "99-story-aro-etc-hosts-gateway-domains";
    ensure!(world.get(CONFIGS, "", hosts).await?.is_null(), "host entries wait too");
    // The service opens the gate.
    world.patch_cluster(&json!({ "operatorflags": { "aro.forcereconciliation": "true" } })).await?;
    until("the gate is open", PATIENCE, || async {
        let now = world.get(CONFIGS, "", ours).await?;
        ensure!(now.pointer(at) != before.pointer(at), "{now}");
        Ok(())
    })
    .await?;
    world.reads(CONFIGS, "", hosts, role, &json!("story")).await?;
    let kubelet = "kubeletconfigs.machineconfiguration.openshift.io";
    world.reads(kubelet, "", "dynamic-node", "/spec/autoSizingReserved", &json!(true)).await?;
    let off = json!({ "operatorflags": { "aro.etchosts.managed": "false", "aro.autosizednodes.enabled": "false" } });
    world.patch_cluster(&off).await?;
    world.reads(CONFIGS, "", hosts, "", &Value::Null).await?;
    world.reads(kubelet, "", "dynamic-node", "", &Value::Null).await?;
    world
        .reads(kubelet, "", "aro-limits", "/spec/kubeletConfig/systemReserved/memory", &json!("2000Mi"))
        .await?;
    world.delete("machineconfigpools", "", "story").await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_none_is_a_degraded_condition() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let mut wrong = spec(&[]);
    wrong["ingressIP"] = json!("10.0.0.5\nserver=192.0.2.1");
    world.set_cluster(&wrong).await?;
    let _operator = Operator::start(world, "master")?;
    let condition = world.condition("DnsmasqClusterControllerDegraded", "True").await?;
    ensure!(
        condition["message"].as_str().is_some_and(|text| text.starts_with("invalid ingressIP: ")),
        "{condition}"
    );
    world.patch_cluster(&json!({ "ingressIP": "10.0.0.5" })).await?;
    world.condition("DnsmasqClusterControllerDegraded", "False").await?;
    Ok(())
}
