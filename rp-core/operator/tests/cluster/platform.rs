//! Secrets, registries, roles and the health check of machines.

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests_kit::until;

use crate::world::{Operator, PATIENCE, World, spec};

fn pull_secret(namespace: &str, name: &str, content: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": { "name": name, "namespace": namespace },
        "data": { ".dockerconfigjson": STANDARD.encode(content.to_string()) },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_the_service_are_repaired_and_those_of_the_customer_stay() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let auth = |text: &str| json!({ "auth": STANDARD.encode(text) });
    let ours = json!({ "auths": { "arosvc.azurecr.io": auth("user:right") } });
    let theirs = json!({ "auths": { "arosvc.azurecr.io": auth("user:wrong"), "mine": auth("a:b"), "registry.redhat.io": auth("c:d") }, "later": 1 });
    let (namespace, name) = ("openshift-config", "pull-secret");
    world
        .openshift
        .apply(&[
            pull_secret("openshift-azure-operator", "cluster", &ours),
            pull_secret(namespace, name, &theirs),
        ])
        .await?;
    world.set_cluster(&spec(&[])).await?;
    let operator = Operator::start(world, "master")?;
    let content = || async {
        let secret = world.get("secret", namespace, name).await?;
        let text = secret.pointer("/data/.dockerconfigjson").and_then(Value::as_str).context("no data")?;
        anyhow::Ok(serde_json::from_slice::<Value>(&STANDARD.decode(text)?)?)
    };
    let mut repaired = theirs.clone();
    repaired["auths"]["arosvc.azurecr.io"] = auth("user:right");
    let is_repaired = || async {
        let now = content().await?;
        ensure!(now == repaired, "{now}");
        Ok(())
    };
    until("the entry is right", PATIENCE, is_repaired).await?;
    let kind = "clusters.aro.openshift.io";
    world.reads(kind, "", "cluster", "/status/redHatKeysPresent", &json!(["registry.redhat.io"])).await?;
    world.delete("secret", namespace, name).await?;
    until("the secret is there again", PATIENCE, || async {
        let now = content().await?;
        ensure!(now == ours, "{now}");
        Ok(())
    })
    .await?;
    world.reads(kind, "", "cluster", "/status/redHatKeysPresent", &json!([])).await?;
    let log = operator.process.log();
    ensure!(!log.contains("right") && !log.contains(&STANDARD.encode("user:right")), "the log has a secret");
    let page = operator.metrics().await?;
    ensure!(page.contains("aro_pullsecret_remediation{result=\"success\"}"), "{page}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn registries_are_allowed_and_entries_of_the_customer_stay() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let image = |sources: Value| json!({ "apiVersion": "config.openshift.io/v1", "kind": "Image", "metadata": { "name": "cluster" }, "spec": { "registrySources": sources } });
    let kind = "images.config.openshift.io";
    world.openshift.apply(&[image(json!({ "allowedRegistries": ["quay.io"] }))]).await?;
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    let all = json!(["quay.io", "arosvc.azurecr.io", "arosvc.eastus.data.azurecr.io"]);
    world.reads(kind, "", "cluster", "/spec/registrySources/allowedRegistries", &all).await?;
    let fewer =
        json!({ "spec": { "registrySources": { "allowedRegistries": ["quay.io", "arosvc.azurecr.io"] } } });
    world.patch(kind, "", "cluster", &fewer).await?;
    world.reads(kind, "", "cluster", "/spec/registrySources/allowedRegistries", &all).await?;
    let blocked = json!({ "spec": { "registrySources": { "allowedRegistries": null, "blockedRegistries": ["evil.example", "arosvc.azurecr.io"] } } });
    world.patch(kind, "", "cluster", &blocked).await?;
    world
        .reads(kind, "", "cluster", "/spec/registrySources/blockedRegistries", &json!(["evil.example"]))
        .await?;
    world.condition("ImageConfigControllerAvailable", "True").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_and_the_health_check_come_back() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    for name in ["system:aro-sre", "system:aro-diagnostics"] {
        let owner = "/metadata/ownerReferences/0/kind";
        world.reads("clusterrole", "", name, owner, &json!("Cluster")).await?;
        world.delete("clusterrole", "", name).await?;
        world.reads("clusterrole", "", name, owner, &json!("Cluster")).await?;
        world.reads("clusterrolebinding", "", name, "/subjects/0/name", &json!(name)).await?;
    }
    let (kind, namespace, name) =
        ("machinehealthchecks.machine.openshift.io", "openshift-machine-api", "aro-machinehealthcheck");
    world.reads(kind, namespace, name, "/spec/nodeStartupTimeout", &json!("25m")).await?;
    world.patch(kind, namespace, name, &json!({ "spec": { "nodeStartupTimeout": "5m" } })).await?;
    world.reads(kind, namespace, name, "/spec/nodeStartupTimeout", &json!("25m")).await?;
    world.patch_cluster(&json!({ "operatorflags": { "aro.machinehealthcheck.managed": "false" } })).await?;
    world.reads(kind, namespace, name, "", &Value::Null).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_managed_upgrade_operator_is_deployed_and_removed() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    let (namespace, name) = ("openshift-managed-upgrade-operator", "managed-upgrade-operator");
    world.reads("deployment", namespace, name, "/spec/replicas", &json!(1)).await?;
    world.patch("deployment", namespace, name, &json!({ "spec": { "replicas": 0 } })).await?;
    world.reads("deployment", namespace, name, "/spec/replicas", &json!(1)).await?;
    for (kind, namespace, name) in [
        ("serviceaccount", namespace, name),
        ("configmap", namespace, "trusted-ca-bundle"),
        ("role", namespace, "prometheus-k8s"),
        ("rolebinding", "openshift-monitoring", "muo-monitoring-reader"),
        ("role", "openshift-config", "muo-pullsecret-reader"),
        ("clusterrolebinding", "", name),
        ("prometheusrules", "openshift-monitoring", "sre-managed-upgrade-operator-alerts"),
        ("crd", "", "upgradeconfigs.upgrade.managed.openshift.io"),
    ] {
        world.comes_back(kind, namespace, name).await?;
    }
    world.patch_cluster(&json!({ "operatorflags": { "rh.srep.muo.managed": "false" } })).await?;
    world.reads("deployment", namespace, name, "", &Value::Null).await?;
    world.reads("clusterrole", "", name, "", &Value::Null).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_fix_of_routes_is_removed() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let (namespace, rbac) = ("openshift-azure-routefix", "rbac.authorization.k8s.io");
    world.openshift.apply(&[
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": "routefix" },
            "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": "view" },
            "subjects": [{ "kind": "ServiceAccount", "name": "routefix", "namespace": namespace }],
        }),
    ])
    .await?;
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    world.reads("clusterrolebinding", "", "routefix", "", &Value::Null).await?;
    // Nobody empties namespaces here: one that is deleted stays, and says so.
    until("the namespace is deleted", PATIENCE, || async {
        let live = world.get("namespace", "", namespace).await?;
        let deleted = live.is_null() || !live["metadata"]["deletionTimestamp"].is_null();
        ensure!(deleted, "{live}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn log_exporters_come_back_once_the_gateway_has_an_address() -> Result<()> {
    let (world, _turn) = World::enter().await?;
    let privileged = json!({
        "apiVersion": "security.openshift.io/v1", "kind": "SecurityContextConstraints", "metadata": { "name": "privileged" },
        "allowHostDirVolumePlugin": true, "allowHostIPC": true, "allowHostNetwork": true, "allowHostPID": true,
        "allowHostPorts": true, "allowPrivilegedContainer": true, "readOnlyRootFilesystem": false,
        "allowedCapabilities": ["*"], "defaultAddCapabilities": null, "requiredDropCapabilities": null, "priority": null,
        "runAsUser": { "type": "RunAsAny" }, "seLinuxContext": { "type": "RunAsAny" }, "fsGroup": { "type": "RunAsAny" },
        "supplementalGroups": { "type": "RunAsAny" }, "volumes": ["*"], "groups": ["system:nodes"], "users": ["someone"],
    });
    world.openshift.apply(&[privileged]).await?;
    world.set_cluster(&spec(&[])).await?;
    let _operator = Operator::start(world, "master")?;
    let (namespace, name) = ("openshift-azure-logging", "otel-exporter-master");
    let user = json!(["system:serviceaccount:openshift-azure-logging:geneva"]);
    world.reads("securitycontextconstraints", "", "privileged-genevalogging", "/users", &user).await?;
    ensure!(world.get("daemonset", namespace, name).await?.is_null(), "no gateway, no exporter");
    world.patch_cluster(&json!({ "gatewayPrivateEndpointIP": "10.0.0.9", "gatewayTelemetryDomain": "telemetry.example.com" })).await?;
    let image = "/spec/template/spec/containers/0/image";
    let pinned = json!("arosvc.azurecr.io/telemetryexporter:v1");
    for name in [name, "otel-exporter-worker"] {
        world.reads("daemonset", namespace, name, image, &pinned).await?;
        world.comes_back("daemonset", namespace, name).await?;
    }
    world.condition("GenevaLoggingControllerDegraded", "False").await?;
    for (kind, name) in [
        ("serviceaccount", "geneva"),
        ("role", "prometheus-k8s"),
        ("rolebinding", "prometheus-k8s"),
        ("podmonitors", "otel-exporter"),
        ("prometheusrules", "otel-exporter-alerts"),
    ] {
        world.comes_back(kind, namespace, name).await?;
    }
    let another =
        json!({ "operatorflags": { "aro.genevalogging.otel.pullSpec": "registry.example/otel:1" } });
    world.patch_cluster(&another).await?;
    world.reads("daemonset", namespace, name, image, &json!("registry.example/otel:1")).await?;
    world.patch_cluster(&json!({ "gatewayPrivateEndpointIP": "none" })).await?;
    until("the address is refused", PATIENCE, || async {
        let condition = world.condition("GenevaLoggingControllerDegraded", "True").await?;
        let text = condition["message"].as_str().unwrap_or_default();
        ensure!(text.contains("\"gatewayPrivateEndpointIP\""), "{text}");
        Ok(())
    })
    .await
}
