//! The two deployments (`contract/operator.md` §5.3).

use serde_json::{Value, json};

use super::{Identity, Settings, metadata};

/// The secret with the credentials of Azure.
pub(super) const CREDENTIALS: &str = "azure-cloud-credentials";
/// The token of a managed identity.
pub(super) const TOKEN_FILE: &str = "/var/run/secrets/openshift/serviceaccount/token";
const TOKEN_FOLDER: &str = "/var/run/secrets/openshift/serviceaccount";

/// All controllers, on a node of the control plane.
pub(super) fn master(settings: &Settings) -> Value {
    let selector = json!({ "node-role.kubernetes.io/master": "" });
    let mut container = container(settings, "master", "250Mi");
    container["env"] = env(settings);
    let mut pod = pod(settings, "aro-operator-master", &selector);
    if let Identity::Managed(_) = settings.identity {
        container["volumeMounts"] =
            json!([{ "name": "bound-sa-token", "mountPath": TOKEN_FOLDER, "readOnly": true }]);
        let token = json!({ "audience": "openshift", "expirationSeconds": 3600, "path": "token" });
        pod["volumes"] = json!([{
            "name": "bound-sa-token",
            "projected": { "sources": [{ "serviceAccountToken": token }] },
        }]);
    }
    pod["containers"] = json!([container]);
    deployment(settings, "aro-operator-master", &pod)
}

/// The internet checker, on a worker node.
pub(super) fn worker(settings: &Settings) -> Value {
    let selector = json!({ "node-role.kubernetes.io/worker": "", "kubernetes.io/arch": "amd64" });
    let mut container = container(settings, "worker", "100Mi");
    container["env"] = json!(mode(settings));
    let mut pod = pod(settings, "aro-operator-worker", &selector);
    pod["containers"] = json!([container]);
    deployment(settings, "aro-operator-worker", &pod)
}

fn deployment(settings: &Settings, name: &str, pod: &Value) -> Value {
    let labels = json!({ "app": name, "version": settings.version });
    let mut metadata = metadata(name);
    metadata["labels"] = labels.clone();
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": { "labels": labels }, "spec": pod },
        },
    })
}

fn pod(settings: &Settings, account: &str, selector: &Value) -> Value {
    let mut pod = json!({
        "serviceAccountName": account,
        "nodeSelector": selector,
        "priorityClassName": "system-cluster-critical",
        "tolerations": [
            { "effect": "NoExecute", "operator": "Exists" },
            { "effect": "NoSchedule", "operator": "Exists" },
        ],
    });
    if settings.restricted {
        pod["securityContext"] =
            json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } });
    }
    pod
}

fn container(settings: &Settings, role: &str, memory: &str) -> Value {
    let probe = |path: &str| json!({ "httpGet": { "path": path, "port": 8080 } });
    let mut container = json!({
        "name": "aro-operator",
        "image": settings.image,
        "command": ["aro-operator"],
        "args": ["operator", role],
        "resources": { "requests": { "cpu": "10m", "memory": memory } },
        "ports": [
            { "name": "http", "containerPort": 8080, "protocol": "TCP" },
            { "name": "http-metrics", "containerPort": 8888, "protocol": "TCP" },
        ],
        "livenessProbe": probe("/healthz/ready"),
        "readinessProbe": probe("/readyz/ready"),
    });
    if settings.restricted {
        container["securityContext"] =
            json!({ "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } });
    }
    container
}

fn mode(settings: &Settings) -> Vec<Value> {
    settings.development.then(|| json!({ "name": "RP_MODE", "value": "development" })).into_iter().collect()
}

fn env(settings: &Settings) -> Value {
    let secret = |name: &str, key: &str| json!({ "name": name, "valueFrom": { "secretKeyRef": { "name": CREDENTIALS, "key": key } } });
    let plain = |name: &str, value: &str| json!({ "name": name, "value": value });
    let mut out =
        vec![secret("AZURE_CLIENT_ID", "azure_client_id"), secret("AZURE_TENANT_ID", "azure_tenant_id")];
    match settings.identity {
        Identity::ServicePrincipal => {
            out.push(secret("AZURE_CLIENT_SECRET", "azure_client_secret"));
            out.push(plain("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential"));
        }
        Identity::Managed(_) => {
            out.push(plain("AZURE_FEDERATED_TOKEN_FILE", TOKEN_FILE));
            out.push(plain("AZURE_TOKEN_CREDENTIALS", "WorkloadIdentityCredential"));
        }
    }
    out.extend(mode(settings));
    json!(out)
}
