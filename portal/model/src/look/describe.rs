//! An object as key-values: what every object has, its conditions, and the rest as a tree.

use rp_base::Timestamp;
use rp_openshift::lenient::maybe;
use rp_openshift::{Event, Labels, LenientList, Object, OwnerReference, Whole, WholeText};
use serde_json::Value;
use web::{Badge, Condition, EventLine, Link, Node, ObjectDescription, Tone};

use crate::objects::kinds::Kinds;
use crate::objects::names::{ObjectName, page_of};

/// Labels, annotations, conditions and elements of a list that are shown.
const MOST_PAIRS: usize = 200;
const MOST_CONDITIONS: usize = 200;
const MOST_OWNERS: usize = 20;
const MOST_FINALIZERS: usize = 50;
/// Characters of an event's message.
const MOST_MESSAGE: usize = 2_000;
/// Values of a tree.
const MOST_LEAVES: usize = 3_000;
/// Characters of a value before it is cut where it is shown: enough to tell its size.
const LONGEST: usize = 2 * 1024 * 1024;

/// Reads an object. `base` is the path of the cluster's pages.
pub fn describe(object: &Value, kinds: Option<&Kinds>, base: &str) -> ObjectDescription {
    let read: Object<Whole> = maybe(object).ok().flatten().unwrap_or_default();
    let (meta, mut left_out) = (&read.metadata, 0);
    let conditions = conditions(&read, &mut left_out);
    ObjectDescription {
        created: meta.creation_timestamp.0.map(Timestamp::seconds),
        deleting: meta.deletion_timestamp.0.map(Timestamp::seconds),
        resource_version: shown(&meta.resource_version),
        uid: shown(&meta.uid),
        generation: meta.generation.0.map(|generation| generation.to_string()).unwrap_or_default(),
        owners: owners(&read, kinds, base),
        finalizers: meta.finalizers.iter().take(MOST_FINALIZERS).map(shown).collect(),
        labels: pairs(&meta.labels, &mut left_out),
        annotations: pairs(&meta.annotations, &mut left_out),
        members: members(object, !conditions.is_empty()),
        conditions,
        left_out,
        ..ObjectDescription::default()
    }
}

/// What is no metadata, as trees: the specification first, then the status. Conditions that are shown by themselves are
/// left out of it.
fn members(object: &Value, has_conditions: bool) -> Vec<(String, Node)> {
    let mut budget = MOST_LEAVES;
    let rest = object.as_object().into_iter().flatten();
    let known = ["apiVersion", "kind", "metadata"];
    let mut all: Vec<(&String, &Value)> = rest.filter(|(name, _)| !known.contains(&name.as_str())).collect();
    all.sort_by_key(|(name, _)| match name.as_str() {
        "spec" => 0,
        "status" => 1,
        _ => 2,
    });
    let tree = |(name, value): (&String, &Value)| {
        let mut value = value.clone();
        if name == "status"
            && has_conditions
            && let Some(status) = value.as_object_mut()
        {
            status.remove("conditions");
        }
        (name.clone(), node(&value, &mut budget))
    };
    all.into_iter().map(tree).collect()
}

/// A scalar as text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

fn shown(text: &WholeText) -> String {
    cut(text.as_str())
}

fn pairs(all: &Labels<Whole>, left_out: &mut u64) -> Vec<(String, String)> {
    *left_out += u64::try_from(all.iter().count().saturating_sub(MOST_PAIRS)).unwrap_or(0);
    all.iter().take(MOST_PAIRS).map(|(name, value)| (name.to_owned(), cut(value))).collect()
}

fn owners(object: &Object<Whole>, kinds: Option<&Kinds>, base: &str) -> Vec<Link> {
    let namespace = object.metadata.namespace.as_str();
    let link = |owner: &OwnerReference<Whole>| {
        let (kind, name) = (owner.kind.as_str(), owner.name.as_str());
        let known = kinds.and_then(|kinds| kinds.of_object(owner.api_version.as_str(), kind));
        let by_kind = || {
            let known = known?;
            let rest = if known.namespaced { format!("{namespace}/{name}") } else { name.to_owned() };
            let object = ObjectName::new(known.name.clone(), &rest).ok()?;
            Some(format!("resources/{}", object.path_segment()))
        };
        let page = page_of(kind, namespace, name).or_else(by_kind);
        Link::new(
            format!("{kind} {name}"),
            page.map_or_else(|| format!("{base}/resources"), |page| format!("{base}/{page}")),
        )
    };
    object.metadata.owner_references.iter().take(MOST_OWNERS).map(link).collect()
}

/// `status.conditions`, where they have the form that conditions have.
fn conditions(object: &Object<Whole>, left_out: &mut u64) -> Vec<Condition> {
    let all = object.status.conditions.as_deref().unwrap_or_default();
    *left_out += u64::try_from(all.len().saturating_sub(MOST_CONDITIONS)).unwrap_or(0);
    let named = all.iter().take(MOST_CONDITIONS).filter(|each| !each.kind.is_empty());
    let condition = |each: &rp_openshift::Condition<Whole>| Condition {
        status: status_of(each.kind.as_str(), each.status.as_str()),
        reason: shown(&each.reason),
        since: each.last_transition_time.0.map(Timestamp::seconds),
        message: shown(&each.message),
        kind: shown(&each.kind),
    };
    named.map(condition).collect()
}

/// Only a condition's name tells whether `True` is good; unknown names get no judgement.
pub fn status_of(kind: &str, status: &str) -> Badge {
    let good_true = [
        "Ready",
        "Available",
        "Upgradeable",
        "Initialized",
        "ContainersReady",
        "PodScheduled",
        "Established",
        "NamesAccepted",
        "Complete",
        "Admitted",
        "Succeeded",
        "Healthy",
    ];
    let bad_true = ["Degraded", "Failing", "Failed", "Pressure", "Unavailable", "Stalled", "ReplicaFailure"];
    let is = |words: &[&str]| words.iter().any(|word| kind.ends_with(word));
    match (status, is(&bad_true), is(&good_true)) {
        ("True", true, _) | ("False", false, true) => Badge::filled(Tone::Bad, "failed", status),
        ("False", true, _) | ("True", false, true) => Badge::quiet(Tone::Ok, "ok", status),
        ("Unknown", _, _) => Badge::filled(Tone::Warn, "unknown", status),
        (other, _, _) => Badge::quiet(Tone::Mute, "info", if other.is_empty() { "–" } else { other }),
    }
}

/// A value as a tree of at most so many leaves.
pub fn node(value: &Value, budget: &mut usize) -> Node {
    *budget = budget.saturating_sub(1);
    match value {
        _ if *budget == 0 => Node::Leaf("…".to_owned()),
        Value::Object(members) => {
            let mut shown = Vec::new();
            for (name, value) in members {
                if *budget == 0 {
                    shown.push(("…".to_owned(), Node::Leaf("the rest stands in the YAML".to_owned())));
                    break;
                }
                shown.push((name.clone(), node(value, budget)));
            }
            Node::Map(shown)
        }
        Value::Array(items) => {
            let mut shown = Vec::new();
            for value in items {
                if *budget == 0 {
                    break;
                }
                shown.push(node(value, budget));
            }
            Node::List(shown)
        }
        Value::Null => Node::Leaf("null".to_owned()),
        other => Node::Leaf(plain(other)),
    }
}

/// Events of the core, newest first. `base` is the path of the cluster's pages.
pub fn events(list: &LenientList<Event<Whole>>, base: &str, most: usize) -> Vec<EventLine> {
    let mut all: Vec<EventLine> = list.items.iter().map(|event| event_line(event, base)).collect();
    all.sort_by_key(|event| std::cmp::Reverse(event.at));
    all.truncate(most);
    all
}

fn event_line(event: &Event<Whole>, base: &str) -> EventLine {
    let seen = event.last().map(Timestamp::seconds);
    let first = event.first_timestamp.0.map(Timestamp::seconds);
    let about = &event.involved_object;
    let (kind, namespace, name) = (about.kind.as_str(), about.namespace.as_str(), about.name.as_str());
    let page = page_of(kind, namespace, name).map(|page| format!("{base}/{page}"));
    EventLine {
        at: seen,
        first: first.filter(|first| seen.is_some_and(|seen| *first < seen)),
        count: u64::try_from(event.times()).unwrap_or(1),
        warning: event.kind.as_str() == "Warning",
        kind: kind.to_owned(),
        object: Link::new(name, page.unwrap_or_default()),
        namespace: namespace.to_owned(),
        reason: event.reason.as_str().to_owned(),
        message: event.message.as_str().chars().take(MOST_MESSAGE).collect(),
        source: event.reporter().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn describes_and_bounds() {
        let conditions: Vec<Value> =
            (0..5_000).map(|n| json!({ "type": format!("Ready{n}"), "status": "False" })).collect();
        let labels: serde_json::Map<String, Value> =
            (0..300).map(|n| (format!("l{n:03}"), json!("x"))).collect();
        let object = json!({
            "apiVersion": "v1", "kind": "Thing",
            "metadata": { "name": "a", "namespace": "ns", "creationTimestamp": "2999-01-01T00:00:00Z", "labels": labels,
                "annotations": { "big": "x".repeat(1_048_576) },
                "ownerReferences": [{ "kind": "ReplicaSet", "name": "r", "apiVersion": "apps/v1" }, { "kind": "Odd", "name": "../x" }] },
            "status": { "conditions": conditions, "phase": "x" }, "spec": { "a": [1, 2] }, "data": { "k": "v" },
        });
        let it = describe(&object, None, "/base");
        assert_eq!(it.conditions.len(), 200);
        assert_eq!(it.left_out, 4_800 + 100);
        assert_eq!(it.owners[0].href, "/base/resources/apps/v1/replicasets/ns/r");
        assert_eq!(it.owners[1].href, "/base/resources");
        let names: Vec<&str> = it.members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["spec", "status", "data"]);
        assert_eq!(it.members[1].1, Node::Map(vec![("phase".into(), Node::Leaf("x".into()))]));
        let wide = json!((0..100_000).collect::<Vec<_>>());
        let mut budget = MOST_LEAVES;
        assert!(matches!(node(&wide, &mut budget), Node::List(items) if items.len() <= MOST_LEAVES));
        // A value of an unexpected form is no error.
        for odd in [
            json!(7),
            json!({ "metadata": 7, "status": { "conditions": { "a": 1 } } }),
            json!({ "metadata": { "labels": [1] } }),
        ] {
            let _ = describe(&odd, None, "/base");
        }
    }

    #[test]
    fn events_come_newest_first() {
        let list = json!({ "items": [
            { "type": "Normal", "reason": "Pulled", "count": 3, "source": { "component": "kubelet" },
                "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-02T00:00:00Z",
                "involvedObject": { "kind": "Pod", "namespace": "a", "name": "b" } },
            { "type": "Warning", "eventTime": "2026-01-03T00:00:00Z", "reportingComponent": "x" }, 7,
        ] });
        let all = events(&serde_json::from_value(list).unwrap(), "/base", 10);
        assert_eq!(all.len(), 2);
        assert!(all[0].warning && all[0].first.is_none());
        assert_eq!((all[0].source.as_str(), all[0].count), ("x", 1));
        assert!(!all[1].warning && all[1].first < all[1].at);
        assert_eq!((all[1].source.as_str(), all[1].count), ("kubelet", 3));
        assert_eq!(all[1].object.href, "/base/pods/a/b");
    }

    #[test]
    fn conditions_are_judged_by_name() {
        assert_eq!(status_of("Degraded", "True").tone, Tone::Bad);
        assert_eq!(status_of("MemoryPressure", "False").tone, Tone::Ok);
        assert_eq!(status_of("Ready", "False").tone, Tone::Bad);
        assert_eq!(status_of("Progressing", "True").tone, Tone::Mute);
        assert_eq!(status_of("Ready", "Unknown").tone, Tone::Warn);
    }
}
