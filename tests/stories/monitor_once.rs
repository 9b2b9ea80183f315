//! `aro monitor once`: on a real API server by kubeconfig alone, and by name through the running process.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{Aro, AroOptions, ControlPlane, Folder, GENEROUS, Output, part, until};

use crate::command_line::aro;

/// A cluster that is OpenShift as far as these kinds go.
async fn openshift() -> Result<ControlPlane> {
    let plane = ControlPlane::start().await?;
    let admin = plane.admin()?;
    let crds = part("openshift-crds")?;
    admin.ok(&["create", "-f", crds.to_str().context("a path")?]).await?;
    let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=10s"];
    until("kinds are served", GENEROUS, || admin.ok(&established)).await?;
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": "AsExpected", "message": "m",
            "lastTransitionTime": "2026-11-01T00:00:00Z"})
    };
    let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version"}, "spec": {"clusterID": "00000000-0000-4000-8000-000000000001"}});
    let operator = |name: &str| json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}, "spec": {}});
    let node = |name: &str, role: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name,
            "labels": {format!("node-role.kubernetes.io/{role}"): ""}}})
    };
    let mut items = vec![version, operator("etcd"), operator("dns"), operator("network")];
    items.extend([node("m0", "master"), node("m1", "master"), node("w0", "worker")]);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    until("objects are taken", GENEROUS, || async {
        admin.with_input(list.as_bytes(), &["apply", "-f", "-"]).await?.ok()
    })
    .await?;
    let status = json!({"status": {"desired": {"version": "4.18.9", "image": "i", "url": ""},
        "history": [{"state": "Completed", "version": "4.18.9", "image": "i", "verified": true,
            "startedTime": "2026-11-01T00:00:00Z", "completionTime": "2026-11-01T01:00:00Z"}],
        "conditions": [condition("Available", "True")], "observedGeneration": 1, "versionHash": "x",
        "availableUpdates": []}});
    patch(&plane, "clusterversion", "version", &status).await?;
    for (name, degraded) in [("etcd", "True"), ("dns", "False"), ("network", "False")] {
        let status = json!({"status": {"conditions": [condition("Available", "True"), condition("Degraded", degraded)],
            "versions": [{"name": "operator", "version": if name == "dns" { "4.18.8" } else { "4.18.9" }}]}});
        patch(&plane, "clusteroperator", name, &status).await?;
    }
    Ok(plane)
}

async fn patch(plane: &ControlPlane, kind: &str, name: &str, patch: &Value) -> Result<()> {
    let text = patch.to_string();
    plane.admin()?.ok(&["patch", kind, name, "--subresource=status", "--type=merge", "-p", &text]).await?;
    Ok(())
}

async fn once(folder: &Path, kubeconfig: &Path, more: &[&str]) -> Result<Output> {
    let mut args = vec!["monitor", "once", "--kubeconfig", kubeconfig.to_str().context("a path")?];
    args.extend(more);
    aro(folder, &args).await
}

fn report(output: &Output) -> Result<Value> {
    serde_json::from_str(&output.stdout).with_context(|| format!("{output:?}"))
}

/// Every number but durations: metric, value, dimensions without those of the cluster.
fn numbers(report: &Value) -> Result<Vec<String>> {
    let of_the_cluster = ["resourceId", "subscriptionId", "resourceGroup", "resourceName"];
    let mut lines = Vec::new();
    for line in report["metrics"].as_array().context("metrics")? {
        let dims: BTreeMap<String, String> = serde_json::from_value(line["dims"].clone())?;
        let dims = dims.iter().filter(|(name, _)| !of_the_cluster.contains(&name.as_str()));
        let dims: Vec<String> = dims.map(|(name, text)| format!(" {name}={text}")).collect();
        lines.push(format!(
            "{} {}{}",
            line["metric"].as_str().unwrap_or_default(),
            line["value"],
            dims.concat()
        ));
    }
    lines.retain(|line| !line.contains("duration"));
    lines.sort();
    Ok(lines)
}

fn errors(report: &Value) -> BTreeMap<String, String> {
    let collectors = report["collectors"].as_array().cloned().unwrap_or_default();
    let of = |it: &Value| Some((it["name"].as_str()?.to_owned(), it["error"].as_str()?.to_owned()));
    collectors.iter().filter_map(of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_look_by_kubeconfig_needs_nothing_else() -> Result<()> {
    let plane = openshift().await?;
    let folder = Folder::new("monitor-once")?;
    let service = plane.service_kubeconfig()?;
    let json = once(folder.path(), &service, &["-o", "json", "--page", "1", "--hourly"]).await?;
    let told = report(&json)?;
    ensure!(json.status == 0, "{:?} {}", errors(&told), json.stderr);
    ensure!(
        told["healthz"] == 200 && told["cluster"].as_str().is_some_and(|id| id.contains("/imported/")),
        "{told}"
    );
    let lines = numbers(&told)?;
    for expected in [
        "apiserver.healthz.code 1.0 code=200",
        "clusteroperator.conditions 1.0 name=etcd status=True type=Degraded",
        "clusteroperator.count 3.0",
        "clusteroperator.versions 1.0 name=dns version=4.18.8",
        "node.count 2.0 role=master",
        "node.count 1.0 role=worker",
    ] {
        ensure!(lines.iter().any(|line| line == expected), "no {expected} in {lines:#?}");
    }
    ensure!(
        told["metrics"][0]["metric"] == "cluster.provisioning"
            || told["metrics"][0]["metric"] == "apiserver.healthz.code"
    );
    let first = told["collectors"].as_array().context("collectors")?;
    ensure!(first.len() > 20 && first.iter().all(|it| it["took_ms"].is_number()), "{first:?}");
    // The lists were read object by object, as the cluster's own audit log says.
    plane
        .audited("a second page", |entry| {
            entry["requestURI"].as_str().is_some_and(|uri| {
                uri.contains("/clusteroperators?") && uri.contains("limit=1") && uri.contains("continue=")
            })
        })
        .await?;
    let whole = once(folder.path(), &service, &["-o", "json", "--hourly"]).await?;
    ensure!(numbers(&report(&whole)?)? == lines, "pages of one and of 500 tell the same");
    let yaml = once(folder.path(), &service, &["-o", "yaml", "--collector", "emitNodeConditions"]).await?;
    ensure!(yaml.status == 0 && yaml.stdout.contains("name: emitNodeConditions"), "{yaml:?}");
    ensure!(!yaml.stdout.contains("emitPodConditions"), "{yaml:?}");
    let table = once(folder.path(), &service, &[]).await?;
    ensure!(table.status == 0, "{table:?}");
    for expected in
        ["METRIC", "COLLECTOR", "name=etcd type=Degraded status=True", "emitNodeConditions", "0 failed"]
    {
        ensure!(
            table.stdout.contains(expected)
                || expected.contains("name=etcd") && table.stdout.contains("name=etcd"),
            "no {expected} in {}",
            table.stdout
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_look_says_what_it_may_not_and_cannot() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let folder = Folder::new("monitor-once")?;
    // A user who may read nodes but no namespaced objects.
    let rules = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "nodes-only"},
         "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}, {"nonResourceURLs": ["*"], "verbs": ["get"]}]},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "nodes-only"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "nodes-only"},
         "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "nodes-only"}]},
    ]});
    plane.admin()?.with_input(rules.to_string().as_bytes(), &["apply", "-f", "-"]).await?.ok()?;
    let limited = plane.user_kubeconfig("nodes-only", &[])?;
    let output = once(folder.path(), &limited, &["-o", "json"]).await?;
    let told = report(&output)?;
    let errors = errors(&told);
    // A cluster without OpenShift's kinds, whose credential may not even ask for them: 403 stops the look.
    ensure!(output.status == 1 && told["healthz"] == 200, "{output:?}");
    ensure!(errors.values().any(|error| error.contains("403")), "{errors:?}");
    // Plain Kubernetes with a credential that may: what is not there is no error.
    let plain = once(folder.path(), &plane.service_kubeconfig()?, &["-o", "json"]).await?;
    let told = report(&plain)?;
    ensure!(plain.status == 0, "{told}");
    ensure!(numbers(&told)?.iter().any(|line| line.starts_with("node.count 0.0 role=master")), "{told}");
    // Nothing listens there.
    let text =
        std::fs::read_to_string(plane.service_kubeconfig()?)?.replace(&plane.url(), "https://127.0.0.1:1");
    let away = folder.write("away.kubeconfig", text)?;
    let output = once(folder.path(), &away, &["-o", "json"]).await?;
    ensure!(output.status == 6 && report(&output)?["healthz"] == 0, "{output:?}");
    // Words that are wrong.
    let service = plane.service_kubeconfig()?;
    let unknown = once(folder.path(), &service, &["--collector", "emitNothing"]).await?;
    ensure!(unknown.status == 2 && unknown.stderr.contains("emitNodeConditions"), "{unknown:?}");
    let nobody = aro(folder.path(), &["monitor", "once"]).await?;
    ensure!(nobody.status == 2, "{nobody:?}");
    let broken = folder.write("broken.kubeconfig", "{}")?;
    let output = once(folder.path(), &broken, &[]).await?;
    ensure!(output.status == 1 && output.stdout.is_empty() && !output.stderr.is_empty(), "{output:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn one_look_by_name_goes_through_the_running_process() -> Result<()> {
    let mut system = Aro::start(AroOptions { clusters: 2, ..AroOptions::default() }).await?;
    let control = system.data().join("control.sock").display().to_string();
    system.restart_with(&[("ARO_LISTEN__CONTROL", &control)]).await?;
    let plane = ControlPlane::shared().await?;
    system.import(&plane.service_kubeconfig()?, "Real", &[]).await?;
    let folder = Folder::new("monitor-once")?;
    let settings = folder.write("aro.toml", format!("[listen]\ncontrol = {control:?}\n"))?;
    let config = settings.to_str().context("a path")?;
    let named = async |name: &str| {
        aro(folder.path(), &["monitor", "once", name, "-o", "json", "--config", config]).await
    };
    let output = named("real").await?;
    let told = report(&output)?;
    ensure!(
        output.status == 0 && told["cluster"].as_str().is_some_and(|id| id.ends_with("/real")),
        "{output:?}"
    );
    ensure!(numbers(&told)?.iter().any(|line| line.starts_with("node.kubelet.version")), "{told}");
    let output = named("nobody").await?;
    ensure!(output.status == 5 && output.stderr.contains("no cluster is called nobody"), "{output:?}");
    // A simulated one, by its whole id.
    let session = system.session("sre").await?;
    let listed = session.get("/api/v1/clusters").await?.ok()?.json()?;
    let id = listed["items"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|item| item["source"] == "aro")
        .and_then(|item| item["resourceId"].as_str())
        .with_context(|| listed.to_string())?
        .to_owned();
    let output = named(&id).await?;
    let told = report(&output)?;
    ensure!(
        told["healthz"] == 200
            && numbers(&told)?.iter().any(|line| line.starts_with("clusteroperator.count 3")),
        "{output:?}"
    );
    Ok(())
}
