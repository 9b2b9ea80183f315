//! A cluster for the operator, and the operator as a process.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use rp_operator_api::deployment::{self, Identity, Settings};
use serde_json::{Value, json};
use tests_kit::{Folder, GENEROUS, OpenShift, Process, free_port, part, until};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

/// A debug build on two busy cores, and a lease that must run out first.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// The cluster of this test process. One story at a time: there is one `Cluster` in it.
pub(crate) struct World {
    pub(crate) openshift: OpenShift,
    turn: Mutex<()>,
}

impl World {
    pub(crate) async fn enter() -> Result<(&'static Self, MutexGuard<'static, ()>)> {
        static WORLD: OnceCell<World> = OnceCell::const_new();
        let world = WORLD.get_or_try_init(Self::start).await?;
        let turn = world.turn.lock().await;
        Ok((world, turn))
    }

    async fn start() -> Result<Self> {
        let openshift = OpenShift::start().await?;
        let kinds = part("openshift-crds")?.join("operator");
        let kinds = kinds.to_str().context("a path")?;
        openshift.admin().ok(&["create", "-f", kinds]).await?;
        let deployed = deployed();
        openshift.apply(&["PrometheusRule", "PodMonitor"].map(monitoring)).await?;
        openshift.apply(&deployed).await?;
        let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=10s"];
        until("kinds are served", GENEROUS, || openshift.admin().ok(&established)).await?;
        let objects = platform();
        until("objects are taken", GENEROUS, || openshift.apply(&objects)).await?;
        Ok(Self { openshift, turn: Mutex::new(()) })
    }

    /// Sets the specification of the `Cluster` as a whole.
    pub(crate) async fn set_cluster(&self, spec: &Value) -> Result<()> {
        self.delete("clusters.aro.openshift.io", "", "cluster").await?;
        let cluster = json!({ "apiVersion": "aro.openshift.io/v1alpha1", "kind": "Cluster", "metadata": { "name": "cluster" }, "spec": spec });
        self.openshift.apply(&[cluster]).await
    }

    /// Changes the specification.
    pub(crate) async fn patch_cluster(&self, spec: &Value) -> Result<()> {
        self.patch("clusters.aro.openshift.io", "", "cluster", &json!({ "spec": spec })).await
    }

    pub(crate) async fn patch(&self, kind: &str, namespace: &str, name: &str, patch: &Value) -> Result<()> {
        let patch = patch.to_string();
        let mut args = vec!["patch", kind, name, "--type=merge", "-p", patch.as_str()];
        if !namespace.is_empty() {
            args.extend(["-n", namespace]);
        }
        self.openshift.admin().ok(&args).await.map(drop)
    }

    pub(crate) async fn delete(&self, kind: &str, namespace: &str, name: &str) -> Result<()> {
        let mut args = vec!["delete", kind, name, "--ignore-not-found", "--wait=true"];
        if !namespace.is_empty() {
            args.extend(["-n", namespace]);
        }
        self.openshift.admin().ok(&args).await.map(drop)
    }

    /// The object; null: it is not there.
    pub(crate) async fn get(&self, kind: &str, namespace: &str, name: &str) -> Result<Value> {
        let mut args = vec!["get", kind, name, "--ignore-not-found", "-o", "json"];
        if !namespace.is_empty() {
            args.extend(["-n", namespace]);
        }
        let text = self.openshift.admin().ok(&args).await?;
        if text.trim().is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_str(&text)?) }
    }

    /// Deletes an object and waits until there is another one in its place.
    pub(crate) async fn comes_back(&self, kind: &str, namespace: &str, name: &str) -> Result<()> {
        let id = async || {
            let object = self.get(kind, namespace, name).await?;
            let id = object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
            id.ok_or_else(|| anyhow!("there is no {kind} {name}"))
        };
        let old = until(&format!("there is {kind} {name}"), PATIENCE, &id).await?;
        self.delete(kind, namespace, name).await?;
        until(&format!("{kind} {name} comes back"), PATIENCE, || async {
            let new = id().await?;
            ensure!(new != old, "it is still the old one");
            Ok(())
        })
        .await
    }

    /// Waits until the object has that value at that place.
    pub(crate) async fn reads(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        at: &str,
        value: &Value,
    ) -> Result<()> {
        until(&format!("{kind} {name} has {value} at {at}"), PATIENCE, || async {
            let object = self.get(kind, namespace, name).await?;
            let seen = object.pointer(at).cloned().unwrap_or_default();
            ensure!(seen == *value, "{seen}");
            Ok(())
        })
        .await
    }

    /// Waits until a condition of the `Cluster` has that status; gives it.
    pub(crate) async fn condition(&self, kind: &str, status: &str) -> Result<Value> {
        until(&format!("condition {kind} is {status}"), PATIENCE, || async {
            let cluster = self.get("clusters.aro.openshift.io", "", "cluster").await?;
            let all =
                cluster.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
            let found = all.iter().find(|one| one["type"] == kind && one["status"] == status);
            found.cloned().ok_or_else(|| anyhow!("{}", Value::Array(all.clone())))
        })
        .await
    }
}

/// The service's own objects as far as an API server alone can take them, with the rights of the pods for two users.
fn deployed() -> Vec<Value> {
    let settings = Settings {
        image: "registry.example/aro-operator:test".to_owned(),
        identity: Identity::ServicePrincipal,
        development: false,
        restricted: true,
        pull_secret: "{\"auths\":{}}".to_owned().into(),
    };
    let wanted = ["CustomResourceDefinition", "Namespace", "ClusterRole", "Role"];
    let is_wanted = |object: &Value| object["kind"].as_str().is_some_and(|kind| wanted.contains(&kind));
    let mut objects: Vec<_> = deployment::objects(&settings).into_iter().filter(is_wanted).collect();
    objects.sort_by_key(|object| object["kind"] != "Namespace");
    let rbac = "rbac.authorization.k8s.io";
    for role in ["aro-operator-master", "aro-operator-worker"] {
        let subjects = json!([{ "kind": "User", "apiGroup": rbac, "name": role }]);
        objects.push(json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": role },
            "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": role }, "subjects": subjects,
        }));
    }
    objects.push(json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
        "metadata": { "name": "aro-operator-master", "namespace": "openshift-azure-operator" },
        "roleRef": { "apiGroup": rbac, "kind": "Role", "name": "aro-operator-master" },
        "subjects": [{ "kind": "User", "apiGroup": rbac, "name": "aro-operator-master" }],
    }));
    objects
}

/// A kind of Prometheus' operator: the definitions are those of another project, and nothing here looks into a specification.
fn monitoring(kind: &str) -> Value {
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let singular = kind.to_ascii_lowercase();
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.monitoring.coreos.com") },
        "spec": {
            "group": "monitoring.coreos.com", "scope": "Namespaced",
            "names": { "kind": kind, "plural": plural, "singular": singular },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": any },
            } } }],
        },
    })
}

/// What the platform has before the operator comes.
fn platform() -> Vec<Value> {
    let namespace =
        |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let mut all: Vec<_> =
        ["openshift-config", "openshift-monitoring", "openshift-ingress-operator"].map(namespace).into();
    all.push(json!({ "apiVersion": "operator.openshift.io/v1", "kind": "DNS", "metadata": { "name": "default" }, "spec": {} }));
    all.push(json!({
        "apiVersion": "operator.openshift.io/v1", "kind": "IngressController",
        "metadata": { "name": "default", "namespace": "openshift-ingress-operator" },
        "spec": { "replicas": 2, "defaultCertificate": { "name": "11111111-2222-4333-8444-555555555555-ingress" } },
    }));
    all.push(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "cloud-provider-config", "namespace": "openshift-config" },
        "data": { "config": "{\"cloud\":\"AzurePublicCloud\",\"theirs\":{\"x\":1}}" },
    }));
    all
}

/// The operator.
pub(crate) struct Operator {
    pub(crate) process: Process,
    health: u16,
    pub(crate) metrics: u16,
    _folder: Folder,
}

impl Operator {
    /// Starts a role; its lease is valid for three seconds, and its metrics are plain HTTP.
    pub(crate) fn start(world: &World, role: &str) -> Result<Self> {
        Self::start_with(world, role, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn start_with(world: &World, role: &str, variables: &[(&str, &str)]) -> Result<Self> {
        let folder = Folder::new("operator")?;
        let kubeconfig = world.openshift.plane.user_kubeconfig(&format!("aro-operator-{role}"), &[])?;
        let (health, metrics) = (free_port()?, free_port()?);
        let mut command = Command::new(env!("CARGO_BIN_EXE_aro-operator"));
        command.args(["operator", role, "--lease-seconds", "3"]).arg("--kubeconfig").arg(kubeconfig);
        command.arg(format!("--health=127.0.0.1:{health}")).arg(format!("--metrics=127.0.0.1:{metrics}"));
        command.envs(variables.iter().copied());
        let process = Process::start(&folder, "aro-operator", &mut command)?;
        Ok(Self { process, health, metrics, _folder: folder })
    }

    /// Status and text of a path of the health listener.
    pub(crate) async fn health(&self, method: reqwest::Method, path: &str) -> Result<(u16, String)> {
        rp_net::tls::install_provider();
        let client = rp_net::http::client(None, GENEROUS)?;
        let answer = client.request(method, format!("http://127.0.0.1:{}{path}", self.health)).send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// Waits until it is ready.
    pub(crate) async fn ready(&self) -> Result<()> {
        self.process
            .ready(PATIENCE, || async {
                let (status, text) = self.health(reqwest::Method::GET, "/readyz/ready").await?;
                ensure!(status == 200, "{status} {text}");
                Ok(())
            })
            .await
    }

    /// The metrics page.
    pub(crate) async fn metrics(&self) -> Result<String> {
        rp_net::tls::install_provider();
        let client = rp_net::http::client(None, GENEROUS)?;
        let answer = client.get(format!("http://127.0.0.1:{}/metrics", self.metrics)).send().await?;
        Ok(answer.error_for_status()?.text().await?)
    }

    /// An error while it does not hold the lease.
    pub(crate) async fn holds_lease(&self) -> Result<()> {
        ensure!(self.leads().await?, "it does not hold the lease");
        Ok(())
    }

    /// Whether it holds the lease.
    pub(crate) async fn leads(&self) -> Result<bool> {
        Ok(self.metrics().await?.lines().any(|line| line == "aro_operator_leader 1"))
    }
}

impl Drop for Operator {
    /// It gives its lease back, for which the next operator would have to wait.
    fn drop(&mut self) {
        self.process.stop(Duration::from_secs(5));
    }
}

/// A `Cluster` that the service would write, but with these URLs to reach.
pub(crate) fn spec(urls: &[String]) -> Value {
    json!({
        "resourceId": "/subscriptions/s/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/c",
        "domain": "c.eastus.aroapp.io",
        "acrDomain": "arosvc.azurecr.io",
        "location": "eastus",
        "azEnvironment": "AzurePublicCloud",
        "infraId": "c-abcde",
        "apiIntIP": "10.0.0.4",
        "ingressIP": "10.0.0.5",
        "internetChecker": { "urls": urls },
        "operatorflags": {},
    })
}
