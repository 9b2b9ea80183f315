//! The definition of UpgradeConfigs.

use serde_json::{Value, json};

const GROUP: &str = "upgrade.managed.openshift.io";

/// `upgradeconfigs.upgrade.managed.openshift.io`. The status is the operator's own: members that are not listed stay.
pub(super) fn upgrade_configs() -> Value {
    let text = json!({ "type": "string" });
    let spec = json!({
        "type": "object",
        "required": ["desired"],
        "properties": {
            "PDBForceDrainTimeout": {
                "type": "integer",
                "format": "int32",
                "minimum": 0,
                "description": "Minutes after which pods are deleted although a disruption budget protects them.",
            },
            "type": { "type": "string", "enum": ["OSD", "ARO"], "description": "Which upgrader runs." },
            "upgradeAt": { "type": "string", "description": "When the upgrade begins, RFC 3339." },
            "desired": {
                "type": "object",
                "description": "The version to upgrade to.",
                "properties": { "channel": text, "image": text, "version": text },
            },
            "capacityReservation": {
                "type": "boolean",
                "description": "Whether a worker machine is added for the time of the upgrade.",
            },
        },
    });
    let phases = ["New", "Pending", "Upgrading", "Upgraded", "Failed"];
    let history = json!({
        "type": "array",
        "items": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": { "phase": { "type": "string", "enum": phases }, "version": text },
        },
    });
    let status = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": { "history": history },
    });
    let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("upgradeconfigs.{GROUP}") },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": "UpgradeConfig",
                "listKind": "UpgradeConfigList",
                "plural": "upgradeconfigs",
                "singular": "upgradeconfig",
                "shortNames": ["upgrade"],
            },
            "versions": [{
                "name": "v1alpha1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {} },
            }],
        },
    })
}
