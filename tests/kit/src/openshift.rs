//! A real Kubernetes with OpenShift's kinds and the objects of a small healthy cluster, which stories change.

mod installation;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{ControlPlane, GENEROUS, Kubectl, part, until};

/// For kinds to be served.
const SERVED: Duration = Duration::from_secs(120);
/// When everything of the cluster began.
const BEGAN: &str = "2026-01-02T03:04:05Z";

/// The cluster: version 4.18.3, operators `dns`, `etcd`, `ingress` and `kube-apiserver`, nodes `master-0` and
/// `worker-0` beside `node-1`, their machines, the machine set `workers`, pools, and pods of `openshift-dns`.
#[derive(Debug)]
pub struct OpenShift {
    pub plane: ControlPlane,
    admin: Kubectl,
}

impl OpenShift {
    /// The one of this test process, started at its first use. Stories that share it change objects of their own.
    ///
    /// # Errors
    /// A part is missing or does not come up.
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<OpenShift> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    /// Starts one.
    ///
    /// # Errors
    /// A part is missing or does not come up.
    pub async fn start() -> Result<Self> {
        let plane = ControlPlane::start().await?;
        let admin = plane.admin()?;
        let crds = part("openshift-crds")?;
        admin.ok(&["create", "-f", crds.to_str().context("a path")?]).await?;
        let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=10s"];
        until("kinds are served", SERVED, || admin.ok(&established)).await?;
        let this = Self { plane, admin };
        this.apply(&before()).await?;
        let all = objects();
        until("objects are taken", SERVED, || this.apply(&all)).await?;
        for object in all.iter().filter(|object| object.get("status").is_some()) {
            this.status(object).await?;
        }
        Ok(this)
    }

    /// kubectl as administrator, past our proxy.
    pub fn admin(&self) -> &Kubectl {
        &self.admin
    }

    /// A kubeconfig of somebody who reads everything but Secrets.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn reader(&self) -> Result<PathBuf> {
        self.plane.user_kubeconfig("observer", &["observers"])
    }

    /// A kubeconfig of somebody who reads nodes and machines, and nothing else.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn limited(&self) -> Result<PathBuf> {
        self.plane.user_kubeconfig("half-blind", &[])
    }

    /// Creates objects or changes them; not their status.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn apply(&self, items: &[Value]) -> Result<()> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        let args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
        self.admin.with_input(list.to_string().as_bytes(), &args).await?.ok()?;
        Ok(())
    }

    /// Writes the status that the object has.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn status(&self, object: &Value) -> Result<()> {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        let resource = match version.split_once('/') {
            Some((group, version)) => format!("{kind}.{version}.{group}"),
            None => kind,
        };
        let namespace = text("/metadata/namespace");
        let patch = json!([{"op": "add", "path": "/status", "value": object["status"]}]).to_string();
        let mut args = vec!["patch", resource.as_str(), name.as_str(), "--type=json", "-p", patch.as_str()];
        if !namespace.is_empty() {
            args.extend(["-n", namespace.as_str()]);
        }
        let mut apart = args.clone();
        apart.push("--subresource=status");
        let first = self.admin.run(&apart).await?;
        if first.status != 0 {
            // Some kinds have no door of their own for it.
            ensure!(first.stderr.contains("not find"), "{resource} {name}: {}", first.stderr);
            self.admin.ok(&args).await?;
        }
        Ok(())
    }

    /// Creates an operator, or changes what it says: degraded with that message, or well with an empty one.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn operator(&self, name: &str, degraded: &str) -> Result<()> {
        let object = operator(name, degraded);
        self.apply(std::slice::from_ref(&bare(&object))).await?;
        self.status(&object).await
    }

    /// Watches that were opened with our pages' user agent so far, and how many of them ended, by path of the list.
    ///
    /// # Errors
    /// The cluster's audit log cannot be read.
    pub fn watches(&self, path: &str) -> Result<(usize, usize)> {
        let log = self.plane.audit_log()?;
        let of = |stage: &str| {
            let is_it = |entry: &&Value| {
                entry["verb"] == "watch"
                    && entry["stage"] == stage
                    && entry["userAgent"].as_str().is_some_and(|agent| agent.starts_with("aro"))
                    && entry["requestURI"].as_str().is_some_and(|uri| uri.split('?').next() == Some(path))
            };
            log.iter().filter(is_it).count()
        };
        Ok((of("ResponseStarted"), of("ResponseComplete")))
    }

    /// Waits until a watch of that list has ended for each that was opened.
    ///
    /// # Errors
    /// One is still open.
    pub async fn unwatched(&self, path: &str) -> Result<()> {
        until(&format!("nobody watches {path}"), GENEROUS, || async {
            let (opened, ended) = self.watches(path)?;
            ensure!(opened == ended, "{opened} opened, {ended} ended");
            Ok(())
        })
        .await
    }
}

/// Without its status.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(members) = object.as_object_mut() {
        members.remove("status");
    }
    object
}

/// What others need: namespaces, and rights to read.
fn before() -> Vec<Value> {
    let rbac = "rbac.authorization.k8s.io";
    let role = |name: &str, groups: Value, resources: Value| {
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": groups, "resources": resources, "verbs": ["get", "list", "watch"]},
                {"nonResourceURLs": ["*"], "verbs": ["get"]}]})
    };
    let binding = |name: &str, kind: &str, subject: &str| {
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": rbac, "kind": kind, "name": subject}]})
    };
    let mut all = vec![
        role("observers", json!(["*"]), json!(["*"])),
        binding("observers", "Group", "observers"),
        role("half-blind", json!(["", "machine.openshift.io"]), json!(["nodes", "machines"])),
        binding("half-blind", "User", "half-blind"),
    ];
    let names = ["openshift-dns", "openshift-etcd", "openshift-ingress", "openshift-machine-api"];
    all.extend(
        names.map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})),
    );
    all
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": BEGAN})
}

fn operator(name: &str, degraded: &str) -> Value {
    let (status, reason) = if degraded.is_empty() { ("False", "AsExpected") } else { ("True", "Broken") };
    json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator", "metadata": {"name": name}, "spec": {},
        "status": {"versions": [{"name": "operator", "version": "4.18.3"}], "conditions": [
            condition("Available", "True", "AsExpected", "Everything runs."),
            condition("Progressing", "False", "AsExpected", ""),
            condition("Degraded", status, reason, degraded),
            condition("Upgradeable", "True", "AsExpected", ""),
        ], "relatedObjects": [{"group": "", "resource": "namespaces", "name": format!("openshift-{name}")}]}})
}

fn machine(name: &str, role: &str) -> Value {
    json!({"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name, "namespace": "openshift-machine-api", "labels": {
            "machine.openshift.io/cluster-api-machine-role": role, "machine.openshift.io/cluster-api-machine-type": role,
            "machine.openshift.io/instance-type": "Standard_D8s_v5", "machine.openshift.io/zone": "1"}},
        "spec": {"providerID": format!("azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/{name}"),
            "providerSpec": {"value": {"vmSize": "Standard_D8s_v5", "zone": "1"}}},
        "status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": name}, "lastUpdated": BEGAN,
            "lastOperation": {"description": "Update", "lastUpdated": BEGAN, "state": "Successful", "type": "Update"}}})
}

fn node(name: &str, role: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name,
        "labels": {format!("node-role.kubernetes.io/{role}"): "", "node.kubernetes.io/instance-type": "Standard_D8s_v5",
            "topology.kubernetes.io/zone": "1"},
        "annotations": {"machine.openshift.io/machine": format!("openshift-machine-api/{name}"),
            "machineconfiguration.openshift.io/state": "Done"}}})
}

fn pod(namespace: &str, name: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "registry.example/main:1"}]}})
}

fn pool(name: &str) -> Value {
    json!({"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": name},
        "spec": {"paused": false}, "status": {"machineCount": 1, "readyMachineCount": 1, "updatedMachineCount": 1,
            "unavailableMachineCount": 0, "degradedMachineCount": 0,
            "conditions": [condition("Updated", "True", "", "")]}})
}

fn objects() -> Vec<Value> {
    let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": "11111111-2222-4333-8444-555555555555", "channel": "stable-4.18"},
        "status": {"desired": {"version": "4.18.3", "image": "registry.example/release:4.18.3"}, "observedGeneration": 1,
            "versionHash": "x", "availableUpdates": null,
            "history": [{"state": "Completed", "version": "4.18.3", "image": "registry.example/release:4.18.3",
                "startedTime": BEGAN, "completionTime": BEGAN, "verified": true}],
            "conditions": [condition("Available", "True", "", "Done applying 4.18.3"),
                condition("Progressing", "False", "", "Cluster version is 4.18.3")]}});
    let set = json!({"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": {"name": "workers", "namespace": "openshift-machine-api",
            "labels": {"machine.openshift.io/cluster-api-machine-type": "worker"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"set": "workers"}}, "template": {"metadata": {"labels": {"set": "workers"}},
            "spec": {"providerSpec": {"value": {"vmSize": "Standard_D8s_v5", "vnet": "vnet", "subnet": "worker", "zone": "1",
                "publicLoadBalancer": "lb", "osDisk": {"diskSizeGB": 128, "managedDisk": {"storageAccountType": "Premium_LRS"}}}}}}},
        "status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1}});
    let mut all: Vec<_> =
        ["dns", "etcd", "ingress", "kube-apiserver"].iter().map(|name| operator(name, "")).collect();
    all.extend([version, set, pool("master"), pool("worker")]);
    all.extend([node("master-0", "master"), node("worker-0", "worker")]);
    all.extend([machine("master-0", "master"), machine("worker-0", "worker")]);
    all.extend([
        pod("openshift-dns", "dns-default-1", "worker-0"),
        pod("openshift-dns", "dns-default-2", "master-0"),
        pod("openshift-etcd", "etcd-master-0", "master-0"),
    ]);
    all
}
