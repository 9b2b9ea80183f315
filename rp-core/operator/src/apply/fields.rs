//! Whether an apply would change something: the members of the object that should be, against the live object and the
//! members that the operator owns of it (`metadata.managedFields`).

use rp_operator_api::FIELD_MANAGER;
use serde_json::{Map, Value};

/// Paths that a log line names.
const MOST_PATHS: usize = 10;

/// Whether the live object lacks a member of `object`, or has one that the operator owns and `object` has no longer.
pub(super) fn differs(live: &Value, object: &Value) -> bool {
    !covers(live, object) || owned(live).is_none_or(|owned| !states(object, owned))
}

/// The paths of the members that differ, for a log line; no values.
pub(super) fn changed(live: &Value, object: &Value) -> String {
    let mut paths = Vec::new();
    collect(live, object, "", &mut paths);
    paths.truncate(MOST_PATHS);
    paths.join(" ")
}

fn collect(live: &Value, object: &Value, path: &str, out: &mut Vec<String>) {
    match (live, object) {
        (Value::Object(live), Value::Object(object)) => {
            for (name, value) in object {
                let path = format!("{path}.{name}");
                collect(live.get(name).unwrap_or(&Value::Null), value, &path, out);
            }
        }
        (live, object) if !covers(live, object) => out.push(path.trim_start_matches('.').to_owned()),
        _ => {}
    }
}

/// Whether every member of `object` is in `live` with the same value; members of lists in the same order. The API server
/// leaves out what is empty.
pub(crate) fn covers(live: &Value, object: &Value) -> bool {
    match (live, object) {
        (Value::Object(live), Value::Object(object)) => {
            object.iter().all(|(name, value)| match live.get(name) {
                Some(live) => covers(live, value),
                None => is_empty(value),
            })
        }
        (Value::Array(live), Value::Array(object)) => {
            live.len() == object.len() && live.iter().zip(object).all(|(live, value)| covers(live, value))
        }
        (Value::Null, value) => is_empty(value),
        (live, value) => live == value,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// What the operator applied, as a tree of fields (`fieldsV1`).
fn owned(live: &Value) -> Option<&Map<String, Value>> {
    let managers = live.pointer("/metadata/managedFields")?.as_array()?;
    let ours = managers.iter().find(|entry| {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        text("manager") == FIELD_MANAGER && text("operation") == "Apply" && text("subresource").is_empty()
    })?;
    ours.get("fieldsV1")?.as_object()
}

/// Whether `object` states every field of the tree.
fn states(object: &Value, fields: &Map<String, Value>) -> bool {
    fields.iter().all(|(key, below)| {
        let found = match key.split_once(':') {
            Some(("f", name)) => object.get(name),
            Some(("k", keys)) => element(object, keys),
            Some(("v", value)) => list_value(object, value),
            // "." is the item itself; indexes are not used.
            _ => return true,
        };
        found.is_some_and(|value| below.as_object().is_none_or(|below| states(value, below)))
    })
}

/// The element of a list with these keys. A key that the object leaves out has a default.
fn element<'a>(object: &'a Value, keys: &str) -> Option<&'a Value> {
    let keys: Map<String, Value> = serde_json::from_str(keys).ok()?;
    let fits = |item: &&Value| keys.iter().all(|(name, value)| item.get(name).is_none_or(|own| own == value));
    object.as_array()?.iter().find(fits)
}

fn list_value<'a>(object: &'a Value, value: &str) -> Option<&'a Value> {
    let value: Value = serde_json::from_str(value).ok()?;
    object.as_array()?.iter().find(|item| **item == value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live(fields: &Value) -> Value {
        json!({
            "metadata": {
                "name": "a", "labels": { "theirs": "x", "ours": "y" },
                "managedFields": [
                    { "manager": "kubectl", "operation": "Update", "fieldsV1": { "f:metadata": { "f:labels": { "f:theirs": {} } } } },
                    { "manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields },
                ],
            },
            "spec": { "replicas": 2, "ports": [{ "port": 80, "protocol": "TCP", "name": "http" }] },
        })
    }

    fn object() -> Value {
        json!({
            "metadata": { "name": "a", "labels": { "ours": "y" } },
            "spec": { "replicas": 2, "ports": [{ "port": 80, "name": "http" }], "nothing": {} },
        })
    }

    fn fields() -> Value {
        json!({
            "f:metadata": { "f:labels": { ".": {}, "f:ours": {} } },
            "f:spec": { "f:replicas": {}, "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:name": {} } } },
        })
    }

    #[test]
    fn members_of_others_are_no_difference() {
        assert!(!differs(&live(&fields()), &object()));
    }

    #[test]
    fn a_changed_member_differs_and_is_named() {
        let mut wanted = object();
        wanted["spec"]["replicas"] = json!(3);
        assert!(differs(&live(&fields()), &wanted));
        assert_eq!(changed(&live(&fields()), &wanted), "spec.replicas");
    }

    #[test]
    fn a_member_that_is_given_up_differs() {
        let mut wanted = object();
        wanted["metadata"]["labels"] = json!({});
        assert!(differs(&live(&fields()), &wanted));
    }

    #[test]
    fn an_object_of_another_manager_differs() {
        let mut other = live(&fields());
        other["metadata"]["managedFields"] = json!([]);
        assert!(differs(&other, &object()));
    }
}
