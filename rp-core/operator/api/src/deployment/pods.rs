//! The two deployments (`contract/operator.md` §5.3).

use serde_json::{Value, json};

use super::{Identity, METRICS_TLS, PROGRAM, Settings, metadata, monitoring, version_label};

/// The secret with the credentials of Azure.
pub(super) const CREDENTIALS: &str = "azure-cloud-credentials";
/// The token of a managed identity.
pub(super) const TOKEN_FILE: &str = "/var/run/secrets/openshift/serviceaccount/token";
const TOKEN_FOLDER: &str = "/var/run/secrets/openshift/serviceaccount";

/// Where the certificate of the metrics is mounted.
const CERTIFICATE_FOLDER: &str = "/etc/aro-metrics";

/// All controllers, on a node of the control plane.
pub(super) fn master(settings: &Settings) -> Value {
    let name = "aro-operator-master";
    let selector = json!({ "node-role.kubernetes.io/master": "" });
    let mut container = container(settings, "master", "250Mi");
    container["env"] = env(settings);
    let (mut mounts, mut volumes) = (vec![certificate_mount()], vec![certificate(name)]);
    if let Identity::Managed(_) = settings.identity {
        mounts.push(json!({ "name": "bound-sa-token", "mountPath": TOKEN_FOLDER, "readOnly": true }));
        let token = json!({ "audience": "openshift", "expirationSeconds": 3600, "path": "token" });
        volumes.push(json!({
            "name": "bound-sa-token",
            "projected": { "sources": [{ "serviceAccountToken": token }] },
        }));
    }
    container["volumeMounts"] = json!(mounts);
    let mut pod = pod(settings, name, &selector);
    pod["volumes"] = json!(volumes);
    pod["containers"] = json!([container]);
    deployment(settings, name, &pod)
}

/// The internet checker, on a worker node.
pub(super) fn worker(settings: &Settings) -> Value {
    let name = "aro-operator-worker";
    let selector = json!({ "node-role.kubernetes.io/worker": "", "kubernetes.io/arch": "amd64" });
    let mut container = container(settings, "worker", "100Mi");
    container["env"] = json!(common_env(settings));
    container["volumeMounts"] = json!([certificate_mount()]);
    let mut pod = pod(settings, name, &selector);
    pod["volumes"] = json!([certificate(name)]);
    pod["containers"] = json!([container]);
    deployment(settings, name, &pod)
}

fn certificate_mount() -> Value {
    json!({ "name": "metrics-certificate", "mountPath": CERTIFICATE_FOLDER, "readOnly": true })
}

/// Optional: in an installation the operator starts before the platform signs certificates.
fn certificate(deployment: &str) -> Value {
    let secret = monitoring::certificate(deployment);
    json!({ "name": "metrics-certificate", "secret": { "secretName": secret, "optional": true } })
}

fn deployment(settings: &Settings, name: &str, pod: &Value) -> Value {
    let labels = json!({ "app": name, "version": version_label(&settings.image) });
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
        "name": PROGRAM,
        "image": settings.image,
        "command": [PROGRAM],
        "args": ["operator", role],
        "resources": { "requests": { "cpu": "10m", "memory": memory } },
        "ports": [
            { "name": "http", "containerPort": 8080, "protocol": "TCP" },
            { "name": "http-metrics", "containerPort": 8888, "protocol": "TCP" },
        ],
        "livenessProbe": probe("/healthz/ready"),
        "readinessProbe": probe("/readyz/ready"),
    });
    // The operator writes no file.
    let mut security = json!({ "readOnlyRootFilesystem": true });
    if settings.restricted {
        security["allowPrivilegeEscalation"] = json!(false);
        security["capabilities"] = json!({ "drop": ["ALL"] });
    }
    container["securityContext"] = security;
    container
}

/// What both roles are told.
fn common_env(settings: &Settings) -> Vec<Value> {
    let mut out = vec![json!({ "name": METRICS_TLS, "value": CERTIFICATE_FOLDER })];
    if settings.development {
        out.push(json!({ "name": "RP_MODE", "value": "development" }));
    }
    out
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
    out.extend(common_env(settings));
    json!(out)
}
