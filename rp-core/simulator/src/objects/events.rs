//! Events: a few warnings where something is wrong, and ordinary ones.

use std::time::Duration;

use serde_json::{Value, json};

use super::nodes::nodes;
use super::{Cell, Kind, View, column, instant, metadata};
use crate::fleet::ClusterShape;

pub(super) const EVENTS: Kind = Kind {
    group: "",
    version: "v1",
    plural: "events",
    singular: "event",
    kind: "Event",
    namespaced: true,
    short: &["ev"],
    categories: &[],
    list,
    columns: &[
        column("Last Seen", Cell::Age("/lastTimestamp")),
        column("Type", Cell::At("/type")),
        column("Reason", Cell::At("/reason")),
        column("Object", Cell::Of(about)),
        column("Message", Cell::At("/message")),
    ],
};

/// The same events in the group that replaced those of the core.
pub(super) const NEW_EVENTS: Kind = Kind {
    group: "events.k8s.io",
    version: "v1",
    plural: "events",
    singular: "event",
    kind: "Event",
    namespaced: true,
    short: &["ev"],
    categories: &[],
    list: |view| list(view).iter().map(renewed).collect(),
    columns: &[
        column("Last Seen", Cell::Age("/deprecatedLastTimestamp")),
        column("Type", Cell::At("/type")),
        column("Reason", Cell::At("/reason")),
        column("Object", Cell::Of(about)),
        column("Message", Cell::At("/note")),
    ],
};

/// An event of the core in the form of `events.k8s.io/v1`.
fn renewed(event: &Value) -> Value {
    json!({
        "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": event["metadata"],
        "regarding": event["involvedObject"], "reason": event["reason"], "note": event["message"],
        "type": event["type"], "eventTime": null, "action": event["reason"],
        "reportingController": event["reportingComponent"], "reportingInstance": event["reportingInstance"],
        "deprecatedCount": event["count"], "deprecatedFirstTimestamp": event["firstTimestamp"],
        "deprecatedLastTimestamp": event["lastTimestamp"], "deprecatedSource": event["source"],
    })
}

fn about(event: &Value) -> Value {
    let object = if event["regarding"].is_object() { &event["regarding"] } else { &event["involvedObject"] };
    let of = |name: &str| object[name].as_str().unwrap_or_default();
    json!(format!("{}/{}", of("kind").to_lowercase(), of("name")))
}

/// The content of an event.
struct EventSummary {
    namespace: &'static str,
    kind: &'static str,
    name: String,
    warning: bool,
    reason: &'static str,
    message: String,
    count: usize,
}

fn list(view: &View<'_>) -> Vec<Value> {
    let mut told = Vec::new();
    for node in nodes(view) {
        if !node.ready {
            told.push(EventSummary {
                namespace: "default",
                kind: "Node",
                name: node.name.clone(),
                warning: true,
                reason: "NodeNotReady",
                message: format!("Node {} status is now: NodeNotReady", node.name),
                count: 1,
            });
        }
    }
    for trouble in view.cluster.troubles() {
        told.push(EventSummary {
            namespace: "openshift-cluster-version",
            kind: "ClusterOperator",
            name: trouble.operator.to_owned(),
            warning: true,
            reason: "OperatorStatusChanged",
            message: trouble.message.chars().take(1024).collect(),
            count: 38,
        });
    }
    if view.cluster.shape == ClusterShape::Upgrading {
        told.push(EventSummary {
            namespace: "openshift-cluster-version",
            kind: "ClusterVersion",
            name: "version".to_owned(),
            warning: false,
            reason: "PayloadLoaded",
            message: format!("Payload loaded version=\"{}\"", view.cluster.wanted),
            count: 1,
        });
    }
    told.push(EventSummary {
        namespace: "openshift-azure-operator",
        kind: "Deployment",
        name: "aro-operator-master".to_owned(),
        warning: false,
        reason: "Simulated",
        message: "This cluster is simulated; so is this event.".to_owned(),
        count: 3,
    });
    let mut events: Vec<Value> =
        told.iter().enumerate().map(|(number, told)| object(view, number, told)).collect();
    events.sort_by(|a, b| a["metadata"]["namespace"].as_str().cmp(&b["metadata"]["namespace"].as_str()));
    events
}

fn object(view: &View<'_>, number: usize, told: &EventSummary) -> Value {
    let mut dice = view.cluster.dice(&format!("event/{number}"));
    let name = format!("{}.{:016x}", told.name, dice.next());
    let last = view.now - Duration::from_secs(20 + dice.below(1800) as u64);
    let mut metadata = metadata(view, "events", Some(told.namespace), &name, &json!({}));
    metadata["creationTimestamp"] = instant(last);
    json!({
        "kind": "Event", "apiVersion": "v1", "metadata": metadata,
        "involvedObject": {"kind": told.kind, "name": told.name, "namespace": told.namespace},
        "reason": told.reason, "message": told.message, "type": if told.warning { "Warning" } else { "Normal" },
        "count": told.count, "firstTimestamp": instant(view.cluster.since), "lastTimestamp": instant(last),
        "source": {"component": "simulated"}, "reportingComponent": "simulated", "reportingInstance": "",
    })
}
