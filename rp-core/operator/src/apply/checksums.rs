//! Checksums of what pods mount (`contract/operator.md` §6 "Prepare"): pods restart when a Secret or a ConfigMap of their set
//! changes. The order of application is that of the plan.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::sha256;
use serde_json::{Value, json};

/// `secret-NAME` and `configmap-NAME` of a namespace, with the digest of its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksums(BTreeMap<(String, String), String>);

impl Checksums {
    /// Those of the Secrets and ConfigMaps of a set.
    pub fn of<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut sums = BTreeMap::new();
        for object in objects {
            let word = match text(object, "/kind") {
                "Secret" => "secret",
                "ConfigMap" => "configmap",
                _ => continue,
            };
            let key = format!("{word}-{}", text(object, "/metadata/name"));
            sums.insert((text(object, "/metadata/namespace").to_owned(), key), sum(object));
        }
        Self(sums)
    }

    /// The object, in whose pods what they mount of the set is an annotation.
    pub fn annotated(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if !matches!(text(&object, "/kind"), "DaemonSet" | "Deployment" | "StatefulSet") {
            return object;
        }
        for (key, sum) in self.mounted(&object) {
            object["spec"]["template"]["metadata"]["annotations"][key] = json!(sum);
        }
        object
    }

    fn mounted(&self, object: &Value) -> Vec<(String, String)> {
        let namespace = text(object, "/metadata/namespace").to_owned();
        let volumes = object.pointer("/spec/template/spec/volumes").and_then(Value::as_array);
        let mut found = Vec::new();
        for volume in volumes.into_iter().flatten() {
            let secret = volume.pointer("/secret/secretName").and_then(Value::as_str);
            let map = volume.pointer("/configMap/name").and_then(Value::as_str);
            let keys =
                [secret.map(|name| format!("secret-{name}")), map.map(|name| format!("configmap-{name}"))];
            for key in keys.into_iter().flatten() {
                if let Some(sum) = self.0.get(&(namespace.clone(), key.clone())) {
                    found.push((format!("checksum/{key}"), sum.clone()));
                }
            }
        }
        found
    }
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

/// SHA-256 over sorted `key: value` lines.
fn sum(object: &Value) -> String {
    let is_map = text(object, "/kind") == "ConfigMap";
    let mut lines = BTreeMap::new();
    for member in ["binaryData", "data", "stringData"] {
        for (key, value) in object.get(member).and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let is_plain = member == "stringData" || (is_map && member == "data");
            let value =
                if is_plain { value.as_bytes().to_vec() } else { STANDARD.decode(value).unwrap_or_default() };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_carry_the_sums_of_what_they_mount() {
        let map = json!({ "kind": "ConfigMap", "metadata": { "name": "m", "namespace": "n" }, "data": { "b": "2", "a": "1" } });
        let pods = json!({
            "kind": "DaemonSet", "metadata": { "name": "d", "namespace": "n" },
            "spec": { "template": { "metadata": { "labels": { "app": "d" } }, "spec": { "volumes": [
                { "name": "m", "configMap": { "name": "m" } }, { "name": "s", "secret": { "secretName": "elsewhere" } },
            ] } } },
        });
        let sums = Checksums::of([&map]);
        let annotations = &sums.annotated(&pods)["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(annotations, &json!({ "checksum/configmap-m": sha256(b"a: 1\nb: 2\n").to_string() }));
        assert_eq!(sums.annotated(&map), map);
    }
}
