//! An object as key-values: what every object has, its conditions, and the rest as a tree.

use rp_base::Timestamp;
use serde_json::Value;
use web::{Badge, Condition, EventLine, Link, Node, ObjectDescription, Tone};

use super::kinds::Kinds;
use super::names::{ObjectName, page_of};

/// Labels, annotations, conditions and elements of a list that are shown.
const MOST_PAIRS: usize = 200;
const MOST_CONDITIONS: usize = 200;
/// Values of a tree.
const MOST_LEAVES: usize = 3_000;
/// Characters of a value before it is cut where it is shown: enough to tell its size.
const LONGEST: usize = 2 * 1024 * 1024;

/// Reads an object. `base` is the path of the cluster's pages.
pub fn describe(object: &Value, kinds: Option<&Kinds>, base: &str) -> ObjectDescription {
    let text = |at: &str| object.pointer(at).map(plain).unwrap_or_default();
    let mut left_out = 0;
    let mut budget = MOST_LEAVES;
    let conditions = conditions(object, &mut left_out);
    let mut members = Vec::new();
    let rest = object.as_object().into_iter().flatten();
    let known = ["apiVersion", "kind", "metadata"];
    let mut all: Vec<(&String, &Value)> = rest.filter(|(name, _)| !known.contains(&name.as_str())).collect();
    all.sort_by_key(|(name, _)| match name.as_str() {
        "spec" => 0,
        "status" => 1,
        _ => 2,
    });
    for (name, value) in all {
        let mut value = value.clone();
        if name == "status"
            && !conditions.is_empty()
            && let Some(status) = value.as_object_mut()
        {
            status.remove("conditions");
        }
        members.push((name.clone(), node(&value, &mut budget)));
    }
    ObjectDescription {
        created: time(object.pointer("/metadata/creationTimestamp")),
        deleting: time(object.pointer("/metadata/deletionTimestamp")),
        resource_version: text("/metadata/resourceVersion"),
        uid: text("/metadata/uid"),
        generation: text("/metadata/generation"),
        owners: owners(object, kinds, base),
        finalizers: strings(object.pointer("/metadata/finalizers")),
        labels: pairs(object.pointer("/metadata/labels"), &mut left_out),
        annotations: pairs(object.pointer("/metadata/annotations"), &mut left_out),
        conditions,
        members,
        left_out,
        ..ObjectDescription::default()
    }
}

/// A scalar as text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.chars().take(LONGEST).collect(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

pub fn time(value: Option<&Value>) -> Option<i64> {
    value.and_then(Value::as_str).and_then(|text| Timestamp::parse(text).ok()).map(Timestamp::seconds)
}

fn strings(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(50)
        .map(str::to_owned)
        .collect()
}

fn pairs(value: Option<&Value>, left_out: &mut u64) -> Vec<(String, String)> {
    let Some(members) = value.and_then(Value::as_object) else { return Vec::new() };
    *left_out += u64::try_from(members.len().saturating_sub(MOST_PAIRS)).unwrap_or(0);
    members.iter().take(MOST_PAIRS).map(|(name, value)| (name.clone(), plain(value))).collect()
}

fn owners(object: &Value, kinds: Option<&Kinds>, base: &str) -> Vec<Link> {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    let all = object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let link = |owner: &Value| {
        let at = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
        let (kind, name) = (at("kind"), at("name"));
        let known = kinds.and_then(|kinds| kinds.of_object(at("apiVersion"), kind));
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
    all.take(20).map(link).collect()
}

/// `status.conditions`, where they have the form that conditions have.
pub fn conditions(object: &Value, left_out: &mut u64) -> Vec<Condition> {
    let Some(all) = object.pointer("/status/conditions").and_then(Value::as_array) else { return Vec::new() };
    *left_out += u64::try_from(all.len().saturating_sub(MOST_CONDITIONS)).unwrap_or(0);
    let shown = all.iter().take(MOST_CONDITIONS).filter(|each| each.get("type").is_some());
    let condition = |each: &Value| {
        let at = |name: &str| each.get(name).map(plain).unwrap_or_default();
        let (kind, status) = (at("type"), at("status"));
        Condition {
            status: status_of(&kind, &status),
            reason: at("reason"),
            since: time(each.get("lastTransitionTime")),
            message: at("message"),
            kind,
        }
    };
    shown.map(condition).collect()
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
pub fn events(answer: &Value, base: &str, most: usize) -> Vec<EventLine> {
    let items = answer.get("items").and_then(Value::as_array).into_iter().flatten();
    let mut all: Vec<EventLine> = items
        .map(|event| {
            let at = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let seen = time(event.pointer("/series/lastObservedTime"))
                .or_else(|| time(event.get("lastTimestamp")))
                .or_else(|| time(event.get("eventTime")))
                .or_else(|| time(event.pointer("/metadata/creationTimestamp")));
            let first =
                time(event.get("firstTimestamp")).filter(|first| seen.is_some_and(|seen| *first < seen));
            let count = event.pointer("/series/count").or_else(|| event.get("count")).and_then(Value::as_u64);
            let (kind, namespace, name) =
                (at("/involvedObject/kind"), at("/involvedObject/namespace"), at("/involvedObject/name"));
            let page = page_of(kind, namespace, name).map(|page| format!("{base}/{page}"));
            let source = [at("/source/component"), at("/reportingComponent")];
            EventLine {
                at: seen,
                first,
                count: count.unwrap_or(1),
                warning: at("/type") == "Warning",
                kind: kind.to_owned(),
                object: Link::new(name, page.unwrap_or_default()),
                namespace: namespace.to_owned(),
                reason: at("/reason").to_owned(),
                message: at("/message").chars().take(2_000).collect(),
                source: source.into_iter().find(|text| !text.is_empty()).unwrap_or_default().to_owned(),
            }
        })
        .collect();
    all.sort_by_key(|event| std::cmp::Reverse(event.at));
    all.truncate(most);
    all
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
    fn conditions_are_judged_by_name() {
        assert_eq!(status_of("Degraded", "True").tone, Tone::Bad);
        assert_eq!(status_of("MemoryPressure", "False").tone, Tone::Ok);
        assert_eq!(status_of("Ready", "False").tone, Tone::Bad);
        assert_eq!(status_of("Progressing", "True").tone, Tone::Mute);
        assert_eq!(status_of("Ready", "Unknown").tone, Tone::Warn);
    }
}
