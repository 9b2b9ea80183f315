//! Whether a node is being drained, and which of its pods can go.

use rp_openshift::{Node, Whole, status_of};
use serde_json::Value;

/// When the drain of a node was seen first, RFC 3339.
pub(super) const DRAIN_START: &str = "aro.openshift.io/drainStartTime";

/// Both labels mark the control plane (`contract/operator.md` "Do better" 30).
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"];

/// The drain of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Drain {
    /// The node belongs to the control plane: it is left alone.
    ControlPlane,
    None,
    /// The node gets another configuration, and is not cordoned yet.
    Announced,
    Running,
}

pub(super) fn drain_of(node: &Node<Whole>) -> Drain {
    if CONTROL_PLANE.iter().any(|label| node.metadata.labels.get(label).is_some()) {
        return Drain::ControlPlane;
    }
    let annotation = |name: &str| {
        let name = format!("machineconfiguration.openshift.io/{name}");
        node.metadata.annotations.get(&name).unwrap_or_default()
    };
    let (current, desired) = (annotation("currentConfig"), annotation("desiredConfig"));
    let failed =
        annotation("state") == "Degraded" && annotation("reason").starts_with("failed to drain node");
    let moves = !current.is_empty() && !desired.is_empty() && current != desired;
    if !moves || !(annotation("state") == "Working" || failed) {
        return Drain::None;
    }
    let ready = status_of(&node.status.conditions, "Ready").is_true();
    if ready && node.spec.unschedulable { Drain::Running } else { Drain::Announced }
}

/// Whether a pod is moved by a drain.
pub(super) fn is_movable(pod: &Value) -> bool {
    let mirror = pod
        .pointer("/metadata/annotations")
        .is_some_and(|all| all.get("kubernetes.io/config.mirror").is_some());
    let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let of_daemon_set =
        owners.into_iter().flatten().any(|owner| owner["kind"] == "DaemonSet" && owner["controller"] == true);
    !mirror && !of_daemon_set
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::json;

    use super::*;

    fn node(state: &str, reason: &str, unschedulable: bool, labels: &Value) -> Drain {
        let node = json!({
            "metadata": { "labels": labels, "annotations": {
                "machineconfiguration.openshift.io/currentConfig": "a",
                "machineconfiguration.openshift.io/desiredConfig": "b",
                "machineconfiguration.openshift.io/state": state,
                "machineconfiguration.openshift.io/reason": reason,
            } },
            "spec": { "unschedulable": unschedulable },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        drain_of(&Node::deserialize(node).unwrap())
    }

    #[test]
    fn a_cordoned_node_that_gets_a_configuration_is_drained() {
        assert_eq!(node("Working", "", true, &json!({})), Drain::Running);
        assert_eq!(node("Degraded", "failed to drain node: x", true, &json!({})), Drain::Running);
        assert_eq!(node("Degraded", "no disk", true, &json!({})), Drain::None);
        assert_eq!(node("Done", "", true, &json!({})), Drain::None);
        assert_eq!(node("Working", "", false, &json!({})), Drain::Announced);
        for label in CONTROL_PLANE {
            assert_eq!(node("Working", "", true, &json!({ label: "" })), Drain::ControlPlane);
        }
        assert_eq!(drain_of(&Node::default()), Drain::None);
    }

    #[test]
    fn pods_of_daemon_sets_and_static_pods_stay() {
        assert!(is_movable(
            &json!({ "metadata": { "ownerReferences": [{ "kind": "ReplicaSet", "controller": true }] } })
        ));
        assert!(is_movable(&json!({ "metadata": {} })));
        assert!(!is_movable(
            &json!({ "metadata": { "ownerReferences": [{ "kind": "DaemonSet", "controller": true }] } })
        ));
        assert!(!is_movable(
            &json!({ "metadata": { "annotations": { "kubernetes.io/config.mirror": "x" } } })
        ));
    }
}
