//! A control plane with OpenShift's kinds and objects.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tests_kit::{ControlPlane, GENEROUS, Kubectl, Monitoring, part, until};

use super::objects::{self, Certificates};

/// The cluster and what runs in it.
pub(super) struct OpenShift {
    plane: ControlPlane,
    admin: Kubectl,
    pub(super) certificates: Certificates,
    _monitoring: Monitoring,
}

/// For kinds to be served.
const SERVED: Duration = Duration::from_secs(120);

impl OpenShift {
    pub(super) async fn start() -> Result<Self> {
        let plane = ControlPlane::start().await?;
        let admin = plane.admin()?;
        let crds = part("openshift-crds")?;
        let crds = crds.to_str().context("a path")?;
        // OpenShift's own kinds, and the one of the ARO operator.
        admin.ok(&["create", "-f", crds]).await?;
        create(&admin, &[objects::aro_kind()]).await?;
        let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=10s"];
        until("kinds are served", SERVED, || admin.ok(&established)).await?;
        let certificates = Certificates::new(plane.authority())?;
        create(&admin, &objects::namespaces()).await?;
        let all = objects::all(&certificates);
        until("objects are taken", SERVED, || create(&admin, &all)).await?;
        for object in all.iter().filter(|object| object.get("status").is_some()) {
            status(&admin, object).await?;
        }
        let ready = ["wait", "--for=condition=Ready", "node", "--all", "--timeout=10s"];
        until("the nodes are ready", SERVED, || admin.ok(&ready)).await?;
        // Beside the conditions that nodes have of themselves.
        let sick = json!({"status": {"conditions": [{"type": "KernelDeadlock", "status": "True", "reason": "Story"}]}});
        admin
            .ok(&[
                "patch",
                "node",
                "node-w",
                "--subresource=status",
                "--type=strategic",
                "-p",
                &sick.to_string(),
            ])
            .await?;
        let monitoring = Monitoring::start(&plane).await?;
        Ok(Self { plane, admin, certificates, _monitoring: monitoring })
    }

    pub(super) fn url(&self) -> String {
        self.plane.url()
    }

    pub(super) fn ca(&self) -> &str {
        self.plane.authority().pem()
    }

    /// What the nodes say of their kubelets.
    pub(super) async fn kubelet(&self) -> Result<String> {
        self.admin.ok(&["get", "node", "node-w", "-o", "jsonpath={.status.nodeInfo.kubeletVersion}"]).await
    }

    /// The token of the administrator.
    pub(super) fn admin_token(&self) -> Result<String> {
        let file = std::fs::read_to_string(self.plane.admin_kubeconfig()?)?;
        let config: Value = serde_json::from_str(&file)?;
        Ok(config["users"][0]["user"]["token"].as_str().context("a token")?.to_owned())
    }

    /// Takes away a kind that the monitor reads.
    pub(super) async fn without_pools(&self) -> Result<()> {
        self.admin.ok(&["delete", "crd", "machineconfigpools.machineconfiguration.openshift.io"]).await?;
        until("the kind is gone", GENEROUS, || async {
            let answer = self
                .admin
                .run(&["get", "--raw=/apis/machineconfiguration.openshift.io/v1/machineconfigpools"])
                .await?;
            ensure!(answer.status != 0, "it is still served");
            Ok(())
        })
        .await
    }
}

async fn create(admin: &Kubectl, items: &[Value]) -> Result<()> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    admin
        .with_input(list.to_string().as_bytes(), &["apply", "--server-side", "--force-conflicts", "-f", "-"])
        .await?
        .ok()?;
    Ok(())
}

/// A status is written apart from its object; some kinds have no such door.
async fn status(admin: &Kubectl, object: &Value) -> Result<()> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let (group, _) = version.split_once('/').unwrap_or_default();
    let resource = if group.is_empty() {
        kind
    } else {
        format!("{kind}.{}.{group}", version.rsplit('/').next().unwrap_or_default())
    };
    let namespace = text("/metadata/namespace");
    let patch = json!([{"op": "add", "path": "/status", "value": object["status"]}]).to_string();
    let mut args = vec!["patch", resource.as_str(), name.as_str(), "--type=json", "-p", patch.as_str()];
    if !namespace.is_empty() {
        args.extend(["-n", namespace.as_str()]);
    }
    let mut apart = args.clone();
    apart.push("--subresource=status");
    let first = admin.run(&apart).await?;
    if first.status != 0 {
        ensure!(first.stderr.contains("not found"), "{resource} {name}: {}", first.stderr);
        admin.ok(&args).await?;
    }
    Ok(())
}
