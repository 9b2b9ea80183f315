//! What runs in a cluster of this product: deployments, daemon sets and stateful sets of the platform.

use serde_json::{Value, json};

use super::nodes::nodes;
use super::{AGE, Cell, Column, Kind, NAME, View, column, metadata};

/// The kind of a workload and the number of its replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkloadKind {
    /// On any nodes, that many.
    Deployment(usize),
    /// With stable names, that many.
    StatefulSet(usize),
    /// On every node.
    DaemonSet,
    /// A static pod on every master, named after it.
    Static,
}

/// One workload: namespace, name, form, the operator that manages it.
#[derive(Debug)]
pub(super) struct Workload {
    pub namespace: &'static str,
    pub name: &'static str,
    pub form: WorkloadKind,
    pub operator: &'static str,
}

const fn workload(
    namespace: &'static str,
    name: &'static str,
    form: WorkloadKind,
    operator: &'static str,
) -> Workload {
    Workload { namespace, name, form, operator }
}

/// In order of namespace.
pub(super) const WORKLOADS: [Workload; 39] = [
    workload("openshift-apiserver", "apiserver", WorkloadKind::Deployment(3), "openshift-apiserver"),
    workload(
        "openshift-apiserver-operator",
        "openshift-apiserver-operator",
        WorkloadKind::Deployment(1),
        "openshift-apiserver",
    ),
    workload("openshift-authentication", "oauth-openshift", WorkloadKind::Deployment(3), "authentication"),
    workload(
        "openshift-authentication-operator",
        "authentication-operator",
        WorkloadKind::Deployment(1),
        "authentication",
    ),
    workload("openshift-azure-operator", "aro-operator-master", WorkloadKind::Deployment(1), "aro"),
    workload("openshift-azure-operator", "aro-operator-worker", WorkloadKind::Deployment(1), "aro"),
    workload(
        "openshift-cloud-controller-manager",
        "azure-cloud-controller-manager",
        WorkloadKind::Deployment(2),
        "cloud-controller-manager",
    ),
    workload(
        "openshift-cluster-csi-drivers",
        "azure-disk-csi-driver-node",
        WorkloadKind::DaemonSet,
        "storage",
    ),
    workload("openshift-cluster-node-tuning-operator", "tuned", WorkloadKind::DaemonSet, "node-tuning"),
    workload(
        "openshift-cluster-version",
        "cluster-version-operator",
        WorkloadKind::Deployment(1),
        "config-operator",
    ),
    workload("openshift-console", "console", WorkloadKind::Deployment(2), "console"),
    workload("openshift-console", "downloads", WorkloadKind::Deployment(2), "console"),
    workload(
        "openshift-controller-manager",
        "controller-manager",
        WorkloadKind::Deployment(3),
        "openshift-controller-manager",
    ),
    workload("openshift-dns", "dns-default", WorkloadKind::DaemonSet, "dns"),
    workload("openshift-dns-operator", "dns-operator", WorkloadKind::Deployment(1), "dns"),
    workload("openshift-etcd", "etcd", WorkloadKind::Static, "etcd"),
    workload("openshift-etcd-operator", "etcd-operator", WorkloadKind::Deployment(1), "etcd"),
    workload(
        "openshift-image-registry",
        "cluster-image-registry-operator",
        WorkloadKind::Deployment(1),
        "image-registry",
    ),
    workload("openshift-image-registry", "image-registry", WorkloadKind::Deployment(2), "image-registry"),
    workload("openshift-ingress", "router-default", WorkloadKind::Deployment(2), "ingress"),
    workload("openshift-ingress-canary", "ingress-canary", WorkloadKind::DaemonSet, "ingress"),
    workload("openshift-insights", "insights-operator", WorkloadKind::Deployment(1), "insights"),
    workload("openshift-kube-apiserver", "kube-apiserver", WorkloadKind::Static, "kube-apiserver"),
    workload(
        "openshift-kube-controller-manager",
        "kube-controller-manager",
        WorkloadKind::Static,
        "kube-controller-manager",
    ),
    workload("openshift-kube-scheduler", "openshift-kube-scheduler", WorkloadKind::Static, "kube-scheduler"),
    workload("openshift-machine-api", "machine-api-controllers", WorkloadKind::Deployment(1), "machine-api"),
    workload(
        "openshift-machine-config-operator",
        "machine-config-daemon",
        WorkloadKind::DaemonSet,
        "machine-config",
    ),
    workload(
        "openshift-machine-config-operator",
        "machine-config-operator",
        WorkloadKind::Deployment(1),
        "machine-config",
    ),
    workload("openshift-marketplace", "marketplace-operator", WorkloadKind::Deployment(1), "marketplace"),
    workload("openshift-monitoring", "alertmanager-main", WorkloadKind::StatefulSet(2), "monitoring"),
    workload(
        "openshift-monitoring",
        "cluster-monitoring-operator",
        WorkloadKind::Deployment(1),
        "monitoring",
    ),
    workload("openshift-monitoring", "node-exporter", WorkloadKind::DaemonSet, "monitoring"),
    workload("openshift-monitoring", "prometheus-k8s", WorkloadKind::StatefulSet(2), "monitoring"),
    workload("openshift-monitoring", "thanos-querier", WorkloadKind::Deployment(2), "monitoring"),
    workload("openshift-multus", "multus", WorkloadKind::DaemonSet, "network"),
    workload("openshift-network-operator", "network-operator", WorkloadKind::Deployment(1), "network"),
    workload("openshift-oauth-apiserver", "apiserver", WorkloadKind::Deployment(3), "authentication"),
    workload("openshift-ovn-kubernetes", "ovnkube-node", WorkloadKind::DaemonSet, "network"),
    workload("openshift-service-ca", "service-ca", WorkloadKind::Deployment(1), "service-ca"),
];

const REPLICAS: &[Column] = &[NAME, column("Ready", Cell::Of(ready)), AGE];

pub(super) const DEPLOYMENTS: Kind = Kind {
    group: "apps",
    version: "v1",
    plural: "deployments",
    singular: "deployment",
    kind: "Deployment",
    namespaced: true,
    short: &["deploy"],
    categories: &["all"],
    list: |view| list(view, "Deployment", "deployments", |form| matches!(form, WorkloadKind::Deployment(_))),
    columns: REPLICAS,
};

pub(super) const STATEFULSETS: Kind = Kind {
    group: "apps",
    version: "v1",
    plural: "statefulsets",
    singular: "statefulset",
    kind: "StatefulSet",
    namespaced: true,
    short: &["sts"],
    categories: &["all"],
    list: |view| {
        list(view, "StatefulSet", "statefulsets", |form| matches!(form, WorkloadKind::StatefulSet(_)))
    },
    columns: REPLICAS,
};

pub(super) const DAEMONSETS: Kind = Kind {
    group: "apps",
    version: "v1",
    plural: "daemonsets",
    singular: "daemonset",
    kind: "DaemonSet",
    namespaced: true,
    short: &["ds"],
    categories: &["all"],
    list: |view| list(view, "DaemonSet", "daemonsets", |form| form == WorkloadKind::DaemonSet),
    columns: &[
        NAME,
        column("Desired", Cell::Of(|set| number(&set["status"]["desiredNumberScheduled"]))),
        column("Ready", Cell::Of(|set| number(&set["status"]["numberReady"]))),
        AGE,
    ],
};

fn number(value: &Value) -> Value {
    json!(value.as_u64().map(|n| n.to_string()).unwrap_or_default())
}

fn ready(object: &Value) -> Value {
    let of = |name: &str| object["status"][name].as_u64().unwrap_or(0);
    json!(format!("{}/{}", of("readyReplicas"), of("replicas")))
}

fn list(view: &View<'_>, kind: &str, plural: &str, wanted: fn(WorkloadKind) -> bool) -> Vec<Value> {
    let nodes = nodes(view);
    let down = nodes.iter().filter(|node| !node.ready).count();
    let troubles = view.cluster.troubles();
    WORKLOADS
        .iter()
        .filter(|workload| wanted(workload.form))
        .map(|workload| {
            let troubled = usize::from(troubles.iter().any(|trouble| trouble.operator == workload.operator));
            let mut labels = json!({"app": workload.name});
            if workload.operator == "aro" {
                labels["version"] = json!("simulated");
            }
            let (spec, status) = match workload.form {
                WorkloadKind::Deployment(count) | WorkloadKind::StatefulSet(count) => {
                    let ready = count - troubled.min(count - 1);
                    (
                        json!({"replicas": count, "selector": {"matchLabels": {"app": workload.name}}}),
                        json!({"replicas": count, "readyReplicas": ready, "availableReplicas": ready,
                            "updatedReplicas": count, "observedGeneration": 1}),
                    )
                }
                WorkloadKind::DaemonSet | WorkloadKind::Static => (
                    json!({"selector": {"matchLabels": {"app": workload.name}}}),
                    json!({"desiredNumberScheduled": nodes.len(), "currentNumberScheduled": nodes.len(),
                        "numberReady": nodes.len() - down, "numberAvailable": nodes.len() - down,
                        "numberMisscheduled": 0, "observedGeneration": 1}),
                ),
            };
            let mut metadata = metadata(view, plural, Some(workload.namespace), workload.name, &labels);
            metadata["generation"] = json!(1);
            json!({
                "kind": kind, "apiVersion": "apps/v1", "metadata": metadata,
                "spec": spec, "status": status,
            })
        })
        .collect()
}
