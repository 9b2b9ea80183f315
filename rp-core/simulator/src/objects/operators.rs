//! Cluster operators, the cluster version, the infrastructure.

use serde_json::{Value, json};

use super::{AGE, Cell, Column, Kind, NAME, View, column, condition, instant, metadata, status_of};
use crate::fleet::{ClusterShape, TransientFault};

/// The operators of a cluster of this product.
pub const OPERATORS: [&str; 34] = [
    "aro",
    "authentication",
    "cloud-controller-manager",
    "cloud-credential",
    "cluster-autoscaler",
    "config-operator",
    "console",
    "control-plane-machine-set",
    "csi-snapshot-controller",
    "dns",
    "etcd",
    "image-registry",
    "ingress",
    "insights",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-storage-version-migrator",
    "machine-api",
    "machine-approver",
    "machine-config",
    "marketplace",
    "monitoring",
    "network",
    "node-tuning",
    "openshift-apiserver",
    "openshift-controller-manager",
    "openshift-samples",
    "operator-lifecycle-manager",
    "operator-lifecycle-manager-catalog",
    "operator-lifecycle-manager-packageserver",
    "service-ca",
    "storage",
    "olm",
];

pub(super) const CLUSTEROPERATORS: Kind = Kind {
    group: "config.openshift.io",
    version: "v1",
    plural: "clusteroperators",
    singular: "clusteroperator",
    kind: "ClusterOperator",
    namespaced: false,
    short: &["co"],
    categories: &[],
    list: operators,
    columns: &[
        NAME,
        column("Version", Cell::Of(version)),
        column("Available", Cell::Of(|object| status_of(object, "Available"))),
        column("Progressing", Cell::Of(|object| status_of(object, "Progressing"))),
        column("Degraded", Cell::Of(|object| status_of(object, "Degraded"))),
        column("Since", Cell::Age("/status/conditions/0/lastTransitionTime")),
        column("Message", Cell::Of(message)),
    ],
};

pub(super) const CLUSTERVERSIONS: Kind = Kind {
    group: "config.openshift.io",
    version: "v1",
    plural: "clusterversions",
    singular: "clusterversion",
    kind: "ClusterVersion",
    namespaced: false,
    short: &[],
    categories: &[],
    list: versions,
    columns: VERSION_COLUMNS,
};

const VERSION_COLUMNS: &[Column] = &[
    NAME,
    column("Version", Cell::Of(completed)),
    column("Available", Cell::Of(|object| status_of(object, "Available"))),
    column("Progressing", Cell::Of(|object| status_of(object, "Progressing"))),
    column("Since", Cell::Age("/status/conditions/0/lastTransitionTime")),
    column("Status", Cell::At("/status/conditions/1/message")),
];

pub(super) const INFRASTRUCTURES: Kind = Kind {
    group: "config.openshift.io",
    version: "v1",
    plural: "infrastructures",
    singular: "infrastructure",
    kind: "Infrastructure",
    namespaced: false,
    short: &[],
    categories: &[],
    list: infrastructures,
    columns: &[NAME, AGE],
};

fn version(object: &Value) -> Value {
    let versions = object["status"]["versions"].as_array();
    let found = versions.into_iter().flatten().find(|version| version["name"] == "operator");
    found.map_or_else(|| json!(""), |version| version["version"].clone())
}

fn message(object: &Value) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    let wrong = |condition: &&Value| match condition["type"].as_str() {
        Some("Available") => condition["status"] == "False",
        Some("Degraded" | "Progressing") => condition["status"] == "True",
        _ => false,
    };
    let found = conditions.into_iter().flatten().find(wrong);
    let text = found.and_then(|condition| condition["message"].as_str()).unwrap_or_default();
    json!(text.chars().take(200).collect::<String>())
}

fn completed(object: &Value) -> Value {
    let history = object["status"]["history"].as_array();
    let found = history.into_iter().flatten().find(|update| update["state"] == "Completed");
    found.map_or_else(|| json!(""), |update| update["version"].clone())
}

fn operators(view: &View<'_>) -> Vec<Value> {
    let cluster = view.cluster;
    let troubles = cluster.troubles();
    let mut dice = cluster.dice("operators");
    let mut names = OPERATORS;
    names.sort_unstable();
    let ready = match cluster.shape {
        _ if cluster.installed.is_some() => cluster.operators_ready().unwrap_or(0),
        ClusterShape::Finishing => 12 + dice.below(18),
        ClusterShape::FailedCreate => 9,
        _ => names.len(),
    };
    let moved = if cluster.shape == ClusterShape::Upgrading { 10 + dice.below(20) } else { names.len() };
    let object = |(number, name): (usize, &&'static str)| {
        let trouble = troubles.iter().find(|trouble| trouble.operator == *name);
        let version = if number < moved { &cluster.wanted } else { &cluster.version };
        let began = cluster.began(name);
        let available = number < ready;
        let progressing = !available || cluster.shape == ClusterShape::Upgrading && number == moved;
        let stuck = cluster.stuck_operator().filter(|(stuck, _)| stuck == name && cluster.rolled > 50);
        let (degraded_reason, degraded_message) =
            trouble.map_or(("AsExpected", ""), |t| (t.reason, t.message.as_str()));
        let (degraded_reason, degraded_message) =
            stuck.map_or((degraded_reason, degraded_message), |(_, words)| ("ImagePullBackOff", words));
        let healed = cluster.healed(TransientFault::Operators).filter(|_| cluster.was_troubled(name));
        let since = if trouble.is_some() { cluster.troubled_since() } else { healed.unwrap_or(began) };
        let conditions = json!([
            condition(
                "Available",
                available,
                if available { "AsExpected" } else { "Installing" },
                if available {
                    "All is well"
                } else {
                    "Waiting for the operator's workload to become available"
                },
                since
            ),
            condition(
                "Progressing",
                progressing,
                if progressing { "Rollout" } else { "AsExpected" },
                &if progressing { format!("Working towards {}", cluster.wanted) } else { String::new() },
                since
            ),
            condition(
                "Degraded",
                trouble.is_some() || stuck.is_some(),
                degraded_reason,
                degraded_message,
                since
            ),
            condition("Upgradeable", true, "AsExpected", "", began),
        ]);
        json!({
            "kind": "ClusterOperator", "apiVersion": "config.openshift.io/v1",
            "metadata": metadata(view, "clusteroperators", None, name, &json!({})), "spec": {},
            "status": {"conditions": conditions, "extension": null, "relatedObjects": [],
                "versions": [{"name": "operator", "version": version}]},
        })
    };
    names.iter().enumerate().map(object).collect()
}

fn versions(view: &View<'_>) -> Vec<Value> {
    let cluster = view.cluster;
    let busy = matches!(cluster.shape, ClusterShape::Upgrading | ClusterShape::Finishing);
    let image = |version: &str| format!("quay.invalid/simulated/ocp-release:{version}-x86_64");
    let update = |version: &str, state: &str, at| {
        json!({"state": state, "version": version, "image": image(version), "startedTime": instant(at),
            "completionTime": if state == "Completed" { instant(at) } else { Value::Null }, "verified": true})
    };
    let mut history = vec![update(
        &cluster.version,
        if cluster.shape == ClusterShape::Finishing { "Partial" } else { "Completed" },
        cluster.created,
    )];
    if cluster.shape == ClusterShape::Upgrading {
        history.insert(0, update(&cluster.wanted, "Partial", cluster.since));
    }
    let progress = if busy {
        format!("Working towards {}: 640 of 903 done (70% complete)", cluster.wanted)
    } else {
        format!("Cluster version is {}", cluster.version)
    };
    let troubles = cluster.troubles();
    let failing =
        troubles.first().map(|trouble| format!("Cluster operator {} is degraded", trouble.operator));
    let conditions = json!([
        condition(
            "Available",
            cluster.shape != ClusterShape::Finishing,
            "",
            &format!("Done applying {}", cluster.version),
            cluster.created
        ),
        condition("Progressing", busy, "", &progress, if busy { cluster.since } else { cluster.created }),
        condition(
            "Failing",
            failing.is_some(),
            "ClusterOperatorDegraded",
            failing.as_deref().unwrap_or_default(),
            cluster.troubled_since()
        ),
        condition("RetrievedUpdates", true, "", "", cluster.created),
    ]);
    vec![json!({
        "kind": "ClusterVersion", "apiVersion": "config.openshift.io/v1",
        "metadata": metadata(view, "clusterversions", None, "version", &json!({})),
        "spec": {"channel": "stable-simulated", "clusterID": cluster.dice("clusterID").uuid()},
        "status": {"desired": {"version": cluster.wanted, "image": image(&cluster.wanted)}, "history": history,
            "conditions": conditions, "availableUpdates": null, "observedGeneration": 2, "versionHash": "simulated"},
    })]
}

fn infrastructures(view: &View<'_>) -> Vec<Value> {
    let cluster = view.cluster;
    vec![json!({
        "kind": "Infrastructure", "apiVersion": "config.openshift.io/v1",
        "metadata": metadata(view, "infrastructures", None, "cluster", &json!({})),
        "spec": {"platformSpec": {"type": "Azure"}},
        "status": {"infrastructureName": cluster.infra_id, "platform": "Azure",
            "platformStatus": {"type": "Azure", "azure": {"cloudName": "AzurePublicCloud"}},
            "apiServerURL": format!("https://api.{}:6443", cluster.domain),
            "apiServerInternalURI": format!("https://api-int.{}:6443", cluster.domain),
            "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable"},
    })]
}
