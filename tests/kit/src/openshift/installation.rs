//! What the service's operator and the steps of an installation find in a cluster and write into it.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{OpenShift, SERVED, machine, node};
use crate::{part, until};

impl OpenShift {
    /// Makes kinds and namespaces that the service's operator writes to and that others own.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn take_operator(&self) -> Result<()> {
        let kinds = [
            kind("cloudcredential.openshift.io", "CredentialsRequest"),
            kind("monitoring.coreos.com", "ServiceMonitor"),
        ];
        self.apply(&kinds).await?;
        self.apply(&namespaces(&["openshift-cloud-credential-operator", "openshift-monitoring"])).await?;
        self.kinds_are_served().await
    }

    /// Makes the kinds that only tasks of maintenance read and write.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn take_maintenance(&self) -> Result<()> {
        let folder = part("openshift-crds")?.join("maintenance");
        self.admin.ok(&["create", "-f", folder.to_str().context("a path")?]).await?;
        self.kinds_are_served().await
    }

    /// Makes everything that an installation by the service waits for and changes: the kinds of its manifests, the
    /// operators that it waits for, two more workers, the console and the sources of the operator
    /// hub, and the rights of `system:admin`.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn take_installation(&self) -> Result<()> {
        let kinds = part("openshift-crds")?;
        for folder in ["installation", "operator"] {
            let folder = kinds.join(folder);
            self.admin.ok(&["create", "-f", folder.to_str().context("a path")?]).await?;
        }
        self.take_operator().await?;
        self.apply(&namespaces(&["openshift-machine-config-operator"])).await?;
        for name in ["authentication", "console", "kube-controller-manager", "kube-scheduler"] {
            self.operator(name, "").await?;
        }
        for name in ["worker-1", "worker-2"] {
            let machine = machine(name, "worker");
            self.apply(&[node(name, "worker"), machine.clone()]).await?;
            self.status(&machine).await?;
        }
        let rbac = "rbac.authorization.k8s.io";
        self.apply(&[
            // As OpenShift's own.
            json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "cluster-admins"},
                "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"apiGroup": rbac, "kind": "User", "name": "system:admin"}]}),
            json!({"apiVersion": "operator.openshift.io/v1", "kind": "Console", "metadata": {"name": "cluster"},
                "spec": {"managementState": "Managed"}}),
            json!({"apiVersion": "config.openshift.io/v1", "kind": "OperatorHub", "metadata": {"name": "cluster"},
                "spec": {}}),
        ])
        .await
    }

    async fn kinds_are_served(&self) -> Result<()> {
        let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=10s"];
        until("kinds are served", SERVED, || self.admin.ok(&established)).await.map(drop)
    }

    /// Does what the controller of deployments and the machines do: every pod of the deployment runs.
    ///
    /// # Errors
    /// There is no such deployment.
    pub async fn roll_out(&self, namespace: &str, name: &str) -> Result<()> {
        let found = self.admin.ok(&["get", "deployment", name, "-n", namespace, "-o", "json"]).await?;
        let found: Value = serde_json::from_str(&found)?;
        let pods = &found["spec"]["replicas"];
        let status = json!({"observedGeneration": found["metadata"]["generation"], "replicas": pods,
            "updatedReplicas": pods, "readyReplicas": pods, "availableReplicas": pods});
        self.status(&json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace}, "status": status}))
            .await
    }
}

fn namespaces(names: &[&str]) -> Vec<Value> {
    let namespace =
        |name: &&str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    names.iter().map(namespace).collect()
}

/// A kind that takes anything.
fn kind(group: &str, kind: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}
