//! A set of objects before it is applied (`contract/operator.md` §6 "Prepare"): pods restart when a Secret or a ConfigMap
//! that they mount changes, and objects come in the order in which they need each other.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::sha256;
use serde_json::{Value, json};

/// Kinds that come first, in this order; all others after them as they are given.
const FIRST: [&str; 8] = [
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "SecurityContextConstraints",
    "Namespace",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
];

/// The set with checksums of what its pods mount, in the order of application.
pub fn prepare(mut objects: Vec<Value>) -> Vec<Value> {
    let sums = checksums(&objects);
    for object in &mut objects {
        if matches!(kind(object), "DaemonSet" | "Deployment" | "StatefulSet") {
            annotate(object, &sums);
        }
    }
    objects
        .sort_by_key(|object| FIRST.iter().position(|first| *first == kind(object)).unwrap_or(FIRST.len()));
    objects
}

fn kind(object: &Value) -> &str {
    text(object, "/kind")
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

/// `secret-NAME` and `configmap-NAME` of a namespace, with the digest of its data.
type Checksums = BTreeMap<(String, String), String>;

fn checksums(objects: &[Value]) -> Checksums {
    let mut sums = Checksums::new();
    for object in objects {
        let word = match kind(object) {
            "Secret" => "secret",
            "ConfigMap" => "configmap",
            _ => continue,
        };
        let key = format!("{word}-{}", text(object, "/metadata/name"));
        sums.insert((text(object, "/metadata/namespace").to_owned(), key), sum(object));
    }
    sums
}

/// SHA-256 over sorted `key: value` lines.
fn sum(object: &Value) -> String {
    let mut lines = BTreeMap::new();
    for member in ["binaryData", "data", "stringData"] {
        for (key, value) in object.get(member).and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let plain = kind(object) == "ConfigMap" && member == "data" || member == "stringData";
            let value =
                if plain { value.as_bytes().to_vec() } else { STANDARD.decode(value).unwrap_or_default() };
            lines.insert(key, value);
        }
    }
    let mut all = Vec::new();
    for (key, value) in lines {
        all.extend_from_slice(key.as_bytes());
        all.extend_from_slice(b": ");
        all.extend_from_slice(&value);
        all.push(b'\n');
    }
    sha256(&all).to_string()
}

fn annotate(object: &mut Value, sums: &Checksums) {
    let namespace = text(object, "/metadata/namespace").to_owned();
    let mut found = Vec::new();
    for volume in
        object.pointer("/spec/template/spec/volumes").and_then(Value::as_array).into_iter().flatten()
    {
        let secret = volume.pointer("/secret/secretName").and_then(Value::as_str);
        let map = volume.pointer("/configMap/name").and_then(Value::as_str);
        let keys = [secret.map(|name| format!("secret-{name}")), map.map(|name| format!("configmap-{name}"))];
        for key in keys.into_iter().flatten() {
            if let Some(sum) = sums.get(&(namespace.clone(), key.clone())) {
                found.push((format!("checksum/{key}"), sum.clone()));
            }
        }
    }
    for (key, sum) in found {
        object["spec"]["template"]["metadata"]["annotations"][key] = json!(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_carry_the_sums_of_what_they_mount_and_come_last() {
        let map = json!({ "kind": "ConfigMap", "metadata": { "name": "m", "namespace": "n" }, "data": { "b": "2", "a": "1" } });
        let pods = json!({
            "kind": "DaemonSet", "metadata": { "name": "d", "namespace": "n" },
            "spec": { "template": { "metadata": { "labels": { "app": "d" } }, "spec": { "volumes": [
                { "name": "m", "configMap": { "name": "m" } }, { "name": "s", "secret": { "secretName": "elsewhere" } },
            ] } } },
        });
        let set = prepare(vec![pods, map, json!({ "kind": "Namespace", "metadata": { "name": "n" } })]);
        let kinds: Vec<_> = set.iter().map(kind).collect();
        assert_eq!(kinds, ["Namespace", "ConfigMap", "DaemonSet"]);
        let annotations = &set[2]["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(annotations, &json!({ "checksum/configmap-m": sha256(b"a: 1\nb: 2\n").to_string() }));
    }
}
