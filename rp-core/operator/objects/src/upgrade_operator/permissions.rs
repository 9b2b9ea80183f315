//! What the managed upgrade operator may do.

use serde_json::{Value, json};

use super::{NAME, NAMESPACE};

const GROUP: &str = "rbac.authorization.k8s.io";
const API: &str = "rbac.authorization.k8s.io/v1";
const MONITORING: &str = "openshift-monitoring";
const READ: &[&str] = &["get", "list", "watch"];

/// Roles and their bindings.
pub(super) fn objects() -> Vec<Value> {
    let mut out = vec![
        json!({
            "apiVersion": API,
            "kind": "ClusterRole",
            "metadata": { "name": NAME },
            "rules": cluster_rules(),
        }),
        json!({
            "apiVersion": API,
            "kind": "ClusterRoleBinding",
            "metadata": { "name": NAME },
            "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": NAME },
            "subjects": [account(NAME, NAMESPACE)],
        }),
    ];
    let own = account(NAME, NAMESPACE);
    let reads = rule("", &["configmaps", "serviceaccounts", "secrets", "services"], READ);
    let routes = rule("route.openshift.io", &["routes"], READ);
    let tokens = rule("", &["serviceaccounts/token"], &["create"]);
    let scrape = rule("", &["services", "endpoints", "pods"], READ);
    out.extend(role(NAME, NAMESPACE, &own_rules(), &own));
    out.extend(role("muo-monitoring-reader", MONITORING, &[reads.clone(), routes.clone()], &own));
    out.extend(role("muo-monitoring-interactor", MONITORING, &[reads, routes, tokens], &own));
    out.extend(role("muo-pullsecret-reader", "openshift-config", &[rule("", &["secrets"], READ)], &own));
    out.extend(role("prometheus-k8s", NAMESPACE, &[scrape], &account("prometheus-k8s", MONITORING)));
    out
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
}

fn account(name: &str, namespace: &str) -> Value {
    json!({ "kind": "ServiceAccount", "name": name, "namespace": namespace })
}

fn role(name: &str, namespace: &str, rules: &[Value], subject: &Value) -> [Value; 2] {
    let metadata = json!({ "name": name, "namespace": namespace });
    [
        json!({ "apiVersion": API, "kind": "Role", "metadata": metadata, "rules": rules }),
        json!({
            "apiVersion": API,
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": { "apiGroup": GROUP, "kind": "Role", "name": name },
            "subjects": [subject],
        }),
    ]
}

fn cluster_rules() -> Vec<Value> {
    let config = "config.openshift.io";
    let machine = "machine.openshift.io";
    let upgrade = ["upgradeconfigs", "upgradeconfigs/status", "upgrade"];
    vec![
        rule("", &["pods", "pods/finalizers"], &["*"]),
        rule("", &["events", "nodes"], READ),
        rule("upgrade.managed.openshift.io", &upgrade, &["*"]),
        rule(config, &["clusterversions", "clusteroperators"], &["get", "list", "watch", "patch", "update"]),
        rule(config, &["infrastructures"], &["get", "list"]),
        rule(machine, &["machines", "machinesets"], &["create", "delete", "get", "list"]),
        rule("machineconfiguration.openshift.io", &["machineconfigpools"], READ),
        rule("operators.coreos.com", &["subscriptions"], &["*"]),
        rule("monitoring.coreos.com", &["servicemonitors"], &["create", "update", "get", "list", "patch"]),
        rule("policy", &["poddisruptionbudgets"], READ),
        rule("fileintegrity.openshift.io", &["fileintegrities"], &["get", "update"]),
    ]
}

fn own_rules() -> [Value; 4] {
    let objects = ["configmaps", "secrets", "services", "services/finalizers"];
    let workloads = ["deployments", "deployments/finalizers", "replicasets"];
    [
        rule("", &objects, &["create", "delete", "get", "list", "update", "watch"]),
        rule("apps", &workloads, &["get", "list", "update", "watch"]),
        rule("", &["events"], &["create", "patch"]),
        rule("coordination.k8s.io", &["leases"], &["*"]),
    ]
}
