//! How the metrics of the two roles are read (`contract/operator.md` §5.3, "Do better" 31): by TLS with a certificate that
//! the platform signs for the Service of the role, and with the token of the platform's Prometheus, which has the right to
//! the path `/metrics`.

use serde_json::{Value, json};

use super::metadata;

/// The roles, as their deployments, Services and monitors are named.
const ROLES: [&str; 2] = ["aro-operator-master", "aro-operator-worker"];
/// The certificates that the platform signs, and the token of Prometheus, where the Prometheus of the platform has them.
const AUTHORITIES: &str = "/etc/prometheus/configmaps/serving-certs-ca-bundle/service-ca.crt";
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// The Secret into which the platform puts the certificate of a role.
pub(super) fn certificate(role: &str) -> String {
    format!("{role}-metrics")
}

/// A Service and a ServiceMonitor for each role.
pub(super) fn objects() -> Vec<Value> {
    ROLES.map(service).into_iter().chain(ROLES.map(monitor)).collect()
}

fn service(role: &str) -> Value {
    let mut metadata = metadata(role);
    metadata["labels"] = json!({ "name": role });
    metadata["annotations"] =
        json!({ "service.beta.openshift.io/serving-cert-secret-name": certificate(role) });
    let port = |name: &str, port: u16| json!({ "name": name, "port": port, "protocol": "TCP" });
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "selector": { "app": role },
            "ports": [port("http", 8080), port("http-metrics", 8888)],
        },
    })
}

/// A monitor for each role, because the name in the certificate is that of its Service.
fn monitor(role: &str) -> Value {
    let namespace = crate::NAMESPACE;
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(role),
        "spec": {
            "selector": { "matchLabels": { "name": role } },
            "endpoints": [{
                "port": "http-metrics",
                "scheme": "https",
                "bearerTokenFile": TOKEN,
                "tlsConfig": { "caFile": AUTHORITIES, "serverName": format!("{role}.{namespace}.svc") },
            }],
        },
    })
}
