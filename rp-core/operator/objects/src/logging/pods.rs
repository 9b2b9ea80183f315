//! The exporters, and how they are watched.

use rp_base::sha256;
use serde_json::{Value, json};

use super::{ACCOUNT, Gateway, NAMESPACE, NodeRole, metadata};

/// Where the exporters keep their positions and queues.
pub(super) const STORAGE: &str = "/var/lib/otelcol/file_storage";
/// The port of the gateway's telemetry endpoint.
const PORT: u16 = 4317;

/// The exporter on the nodes of a role.
pub(super) fn daemon_set(role: NodeRole, image: &str, gateway: &Gateway, configuration: &str) -> Value {
    let name = role.daemon_set();
    let labels = json!({ "app": name });
    let annotations =
        json!({ "aro.openshift.io/otel-config-sha256": sha256(configuration.as_bytes()).to_string() });
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(&name),
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels, "annotations": annotations },
                "spec": pod(role, image, gateway),
            },
        },
    })
}

fn pod(role: NodeRole, image: &str, gateway: &Gateway) -> Value {
    let host = |name: &str, path: &str, kind: &str| json!({ "name": name, "hostPath": { "path": path, "type": kind } });
    json!({
        "serviceAccountName": ACCOUNT,
        "automountServiceAccountToken": false,
        "priorityClassName": "system-cluster-critical",
        "tolerations": [
            { "effect": "NoExecute", "operator": "Exists" },
            { "effect": "NoSchedule", "operator": "Exists" },
        ],
        "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": terms(role),
        } } },
        "hostAliases": [{ "ip": gateway.address.to_string(), "hostnames": [gateway.domain.as_str()] }],
        "containers": [container(role, image, gateway)],
        "volumes": [
            host("log", "/var/log", "Directory"),
            host("machine-id", "/etc/machine-id", "File"),
            host("storage", STORAGE, "DirectoryOrCreate"),
            { "name": "config", "configMap": { "name": role.config_map() } },
        ],
    })
}

/// Terms are alternatives; the expressions of a term hold together.
fn terms(role: NodeRole) -> Value {
    let labels = ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"];
    let one = |label: &str, operator: &str| json!({ "key": label, "operator": operator });
    match role {
        NodeRole::Master => json!(labels.map(|label| json!({ "matchExpressions": [one(label, "Exists")] }))),
        NodeRole::Worker => {
            json!([{ "matchExpressions": labels.map(|label| one(label, "DoesNotExist")) }])
        }
    }
}

fn container(role: NodeRole, image: &str, gateway: &Gateway) -> Value {
    let probe = |delay: u32| {
        json!({
            "httpGet": { "path": "/healthz", "port": 13133 },
            "initialDelaySeconds": delay,
            "periodSeconds": 10,
            "failureThreshold": 3,
        })
    };
    let mount = |name: &str, path: &str, read_only: bool| json!({ "name": name, "mountPath": path, "readOnly": read_only });
    let cpu = match role {
        NodeRole::Master => "2",
        NodeRole::Worker => "200m",
    };
    json!({
        "name": "otel-exporter",
        "image": image,
        "args": ["--config", "/etc/otel/config.yaml"],
        "env": [
            { "name": "GENEVA_GATEWAY_ENDPOINT", "value": format!("{}:{PORT}", gateway.domain) },
            { "name": "MONITORING_ROLE_INSTANCE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
        ],
        "ports": [
            { "name": "health", "containerPort": 13133, "protocol": "TCP" },
            { "name": "metrics", "containerPort": 8888, "protocol": "TCP" },
        ],
        "livenessProbe": probe(10),
        "readinessProbe": probe(5),
        "resources": {
            "limits": { "cpu": cpu, "memory": "1000Mi" },
            "requests": { "cpu": "10m", "memory": "250Mi" },
        },
        "securityContext": {
            "runAsUser": 0,
            "allowPrivilegeEscalation": false,
            "capabilities": { "drop": ["ALL"] },
            "seccompProfile": { "type": "RuntimeDefault" },
            "seLinuxOptions": { "type": "spc_t" },
        },
        "volumeMounts": [
            mount("log", "/var/log", true),
            mount("machine-id", "/etc/machine-id", true),
            mount("storage", STORAGE, false),
            mount("config", "/etc/otel", true),
        ],
    })
}

/// Prometheus reads the exporters.
pub(super) fn pod_monitor() -> Value {
    let names = NodeRole::ALL.map(NodeRole::daemon_set);
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": metadata("otel-exporter"),
        "spec": {
            "selector": { "matchExpressions": [{ "key": "app", "operator": "In", "values": names }] },
            "podMetricsEndpoints": [{
                "port": "metrics",
                "relabelings": [{ "sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node" }],
            }],
        },
    })
}

/// A pod that exists, and is not both up and shipping.
pub(super) fn alerts() -> Value {
    let pods = format!(
        "kube_pod_info{{namespace=\"{NAMESPACE}\",created_by_kind=\"DaemonSet\",created_by_name=~\"otel-exporter-(master|worker)\"}}"
    );
    let shipping = format!(
        "(max by (pod) (up{{namespace=\"{NAMESPACE}\"}}) == 1) and on (pod) (sum by (pod) (rate(otelcol_exporter_sent_log_records{{namespace=\"{NAMESPACE}\"}}[1h])) > 0)"
    );
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": metadata("otel-exporter-alerts"),
        "spec": { "groups": [{
            "name": "sre-otel-exporter-alerts",
            "rules": [{
                "alert": "OTelExporterNoLogsShippedSRE",
                "expr": format!("{pods} unless on (pod) ({shipping})"),
                "for": "10m",
                "labels": { "severity": "critical", "namespace": NAMESPACE },
                "annotations": { "message": "A log exporter is down or ships no log records" },
            }],
        }] },
    })
}
