//! Objects that clients wrote into a cluster; they override the generated ones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use serde_json::{Value, json};

/// Most written objects per cluster.
const MOST: usize = 2_000;

/// Plural with group, namespace, name.
pub type Key = (String, String, String);

/// The objects; `None`: one that was deleted.
#[derive(Debug, Default)]
pub struct WrittenObjects {
    objects: RwLock<BTreeMap<Key, Option<Value>>>,
    writes: AtomicU64,
}

impl WrittenObjects {
    /// Applies the written objects of a kind to the generated ones.
    pub fn over(&self, plural: &str, all: &mut Vec<Value>) {
        let objects = self.objects.read();
        let of_kind = objects.iter().filter(|((kind, ..), _)| kind == plural);
        for ((_, namespace, name), object) in of_kind {
            all.retain(|one| {
                one["metadata"]["name"] != name.as_str()
                    || one["metadata"]["namespace"].as_str().unwrap_or_default() != namespace
            });
            all.extend(object.clone());
        }
        if objects.keys().any(|(kind, ..)| kind == plural) {
            let place = |one: &Value| {
                let text = |name: &str| one["metadata"][name].as_str().unwrap_or_default().to_owned();
                (text("namespace"), text("name"))
            };
            all.sort_by_cached_key(place);
        }
    }

    /// Writes an object or its deletion; returns whether there was room.
    pub fn put(&self, key: Key, object: Option<Value>, version: i64) -> Option<Value> {
        let mut objects = self.objects.write();
        if objects.len() >= MOST && !objects.contains_key(&key) {
            return None;
        }
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        let object = object.map(|mut object| {
            let version = version.unsigned_abs().saturating_mul(1_000).saturating_add(number);
            object["metadata"]["resourceVersion"] = json!(version.to_string());
            object
        });
        let answer = object.clone().unwrap_or(Value::Null);
        objects.insert(key, object);
        Some(answer)
    }
}

/// A merge patch (RFC 7396).
pub fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            if let Some(members) = into.as_object_mut() {
                members.remove(name);
            }
        } else {
            merge(&mut into[name.as_str()], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_stands_over_what_there_is() {
        let kept = WrittenObjects::default();
        let object = |name: &str, spec: u8| json!({"metadata": {"name": name}, "spec": spec});
        let key = |name: &str| ("secrets".to_owned(), String::new(), name.to_owned());
        kept.put(key("b"), Some(object("b", 2)), 1).unwrap();
        kept.put(key("c"), None, 1).unwrap();
        let mut all = vec![object("c", 1), object("b", 1), object("a", 1)];
        kept.over("secrets", &mut all);
        let told: Vec<_> =
            all.iter().map(|one| (one["metadata"]["name"].clone(), one["spec"].clone())).collect();
        assert_eq!(told, [(json!("a"), json!(1)), (json!("b"), json!(2))]);
    }

    #[test]
    fn patches_merge() {
        let mut value = json!({"a": {"b": 1, "c": 2}});
        merge(&mut value, &json!({"a": {"b": null, "d": {"e": 3}}}));
        assert_eq!(value, json!({"a": {"c": 2, "d": {"e": 3}}}));
    }
}
