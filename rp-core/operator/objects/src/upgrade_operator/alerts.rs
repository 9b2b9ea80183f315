//! Alerts on upgrades.

use serde_json::{Value, json};

use super::NAMESPACE;

/// Alert, metric and message of each.
const ALERTS: [(&str, &str, &str); 4] = [
    (
        "UpgradeConfigValidationFailedSRE",
        "upgradeoperator_upgradeconfig_validation_failed",
        "The UpgradeConfig is not valid",
    ),
    (
        "UpgradeControlPlaneUpgradeTimeoutSRE",
        "upgradeoperator_controlplane_timeout",
        "The upgrade of the control plane takes longer than its window",
    ),
    (
        "UpgradeNodeUpgradeTimeoutSRE",
        "upgradeoperator_worker_timeout",
        "The upgrade of worker nodes takes longer than its window",
    ),
    (
        "UpgradeNodeDrainFailedSRE",
        "upgradeoperator_node_drain_timeout",
        "A node could not be drained in its time",
    ),
];

/// The PrometheusRule, in the namespace of cluster monitoring.
pub(super) fn rules() -> Value {
    let rule = |(alert, metric, message): (&str, &str, &str)| {
        json!({
            "alert": alert,
            "expr": format!("{metric} == 1"),
            "for": "10m",
            "labels": { "severity": "critical", "namespace": NAMESPACE },
            "annotations": { "message": message },
        })
    };
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": { "name": "sre-managed-upgrade-operator-alerts", "namespace": "openshift-monitoring" },
        "spec": { "groups": [{ "name": "sre-managed-upgrade-operator-alerts", "rules": ALERTS.map(rule) }] },
    })
}
