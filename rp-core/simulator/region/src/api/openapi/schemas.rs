//! Schemas of the kinds, out of the types of `k8s-openapi`, and reading of objects by them.

use std::collections::HashMap;
use std::sync::LazyLock;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Node, Pod, Secret, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use rp_simulator::objects::{KINDS, Kind};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Makes the schema of a type.
type Make = fn(&mut SchemaGenerator) -> Schema;

/// The built-in kinds that are served: name of the kind, its type.
const BUILT_IN: [(&str, &str, Make); 18] = [
    ("", "ConfigMap", schema::<ConfigMap>),
    ("", "Event", schema::<Event>),
    ("", "Namespace", schema::<Namespace>),
    ("", "Node", schema::<Node>),
    ("", "Pod", schema::<Pod>),
    ("", "Secret", schema::<Secret>),
    ("", "Service", schema::<Service>),
    ("", "ServiceAccount", schema::<ServiceAccount>),
    ("apps", "DaemonSet", schema::<DaemonSet>),
    ("apps", "Deployment", schema::<Deployment>),
    ("apps", "StatefulSet", schema::<StatefulSet>),
    ("batch", "CronJob", schema::<CronJob>),
    ("batch", "Job", schema::<Job>),
    ("rbac.authorization.k8s.io", "ClusterRole", schema::<ClusterRole>),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", schema::<ClusterRoleBinding>),
    ("rbac.authorization.k8s.io", "Role", schema::<Role>),
    ("rbac.authorization.k8s.io", "RoleBinding", schema::<RoleBinding>),
    ("storage.k8s.io", "StorageClass", schema::<StorageClass>),
];

/// The schemas by which objects are read.
static SCHEMAS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let kinds: Vec<&Kind> = KINDS.iter().collect();
    of_kinds(&kinds, "/components/schemas")
});

/// The name of the schema of each built-in kind, by group and kind.
static NAMES: LazyLock<HashMap<(&'static str, &'static str), String>> = LazyLock::new(|| {
    let mut generator = generator("/components/schemas");
    let named = BUILT_IN.iter().map(|(group, kind, make)| ((*group, *kind), referred(&make(&mut generator))));
    named.collect()
});

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn generator(definitions: &'static str) -> SchemaGenerator {
    SchemaSettings::openapi3()
        .with(|settings| settings.definitions_path = definitions.into())
        .into_generator()
}

/// The name that a schema's reference leads to.
fn referred(schema: &Schema) -> String {
    name_of(schema.as_value()).unwrap_or_default().to_owned()
}

fn name_of(schema: &Value) -> Option<&str> {
    let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str())?;
    reference.rsplit('/').next()
}

/// Group, version and kind as OpenAPI names them.
pub(super) fn identity(kind: &Kind) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
}

fn built_in(kind: &Kind) -> Option<Make> {
    BUILT_IN
        .iter()
        .find(|(group, name, _)| *group == kind.group && *name == kind.kind)
        .map(|(.., make)| *make)
}

/// Whether a kind is one of Kubernetes itself: its fields are known, and strategic merge patches are taken.
pub(in super::super) fn is_built_in(kind: &Kind) -> bool {
    built_in(kind).is_some()
}

/// The schemas of kinds and of what they refer to, by name.
pub(super) fn of_kinds(kinds: &[&Kind], definitions: &'static str) -> Map<String, Value> {
    let mut generator = generator(definitions);
    let mut named = Vec::new();
    for kind in kinds {
        let name = match built_in(kind) {
            Some(make) => referred(&make(&mut generator)),
            None => open_name(kind),
        };
        named.push((*kind, name));
    }
    let metadata = generator.subschema_for::<ObjectMeta>().to_value();
    let mut all = generator.take_definitions(true);
    for (kind, name) in named {
        let schema = all.entry(name).or_insert_with(|| open(kind, &metadata));
        schema["x-kubernetes-group-version-kind"] = json!([identity(kind)]);
        // Objects that a client sends may be without it.
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name != "metadata");
        }
    }
    all
}

/// `io.openshift.config.v1.ClusterVersion`.
fn open_name(kind: &Kind) -> String {
    let group: Vec<&str> = kind.group.split('.').rev().collect();
    format!("{}.{}.{}", group.join("."), kind.version, kind.kind)
}

/// A kind whose fields are not described.
fn open(kind: &Kind, metadata: &Value) -> Value {
    json!({"type": "object", "description": format!("{} of a simulated cluster; its fields are not described.", kind.kind),
        "properties": {"apiVersion": {"type": "string", "description": "The version of the schema."},
            "kind": {"type": "string", "description": "The kind of the object."}, "metadata": metadata},
        "x-kubernetes-preserve-unknown-fields": true})
}

/// What an object is after it was read by its schema.
#[derive(Debug, Default)]
pub(in super::super) struct Decoded {
    /// Paths of members that the schema does not have; they were taken out.
    pub unknown: Vec<String>,
    /// The first value of a wrong type, as the API server words it.
    pub mistake: Option<String>,
}

/// Most unknown members that an answer names.
const MOST_NAMED: usize = 32;

/// Reads an object by the schema of its kind and takes out what the schema does not have.
pub(in super::super) fn decode(kind: &Kind, object: &mut Value) -> Decoded {
    let mut decoded = Decoded::default();
    let Some(name) = NAMES.get(&(kind.group, kind.kind)) else { return decoded };
    if let Some(schema) = SCHEMAS.get(name) {
        decoded.read(kind.kind, schema, object, "");
    }
    decoded
}

impl Decoded {
    fn read(&mut self, kind: &str, schema: &Value, value: &mut Value, path: &str) {
        if let Some((name, schema)) = name_of(schema).and_then(|name| SCHEMAS.get_key_value(name)) {
            // Quantities are written as numbers too.
            if name.ends_with(".Quantity") && value.is_number() {
                *value = json!(value.to_string());
            }
            return self.read(kind, schema, value, path);
        }
        if value.is_null() {
            return;
        }
        if let Some(wanted) = schema["type"].as_str().filter(|wanted| !fits(wanted, value)) {
            self.mistake.get_or_insert_with(|| {
                let field = format!("{kind}.{}", path.trim_start_matches('.'));
                format!(
                    "json: cannot unmarshal {} into Go struct field {field} of type {wanted}",
                    named(value)
                )
            });
            return;
        }
        match value {
            Value::Object(members) => self.members(kind, schema, members, path),
            Value::Array(elements) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    self.read(kind, &schema["items"], element, &format!("{path}[{index}]"));
                }
            }
            _ => {}
        }
    }

    fn members(&mut self, kind: &str, schema: &Value, members: &mut Map<String, Value>, path: &str) {
        let described = schema["properties"].as_object();
        let additional = &schema["additionalProperties"];
        let open = described.is_none() || schema["x-kubernetes-preserve-unknown-fields"] == true;
        members.retain(|name, value| {
            let path = format!("{path}.{name}");
            if let Some(schema) = described.and_then(|described| described.get(name)) {
                self.read(kind, schema, value, &path);
            } else if additional.is_object() {
                self.read(kind, additional, value, &path);
            } else if !open {
                if self.unknown.len() < MOST_NAMED {
                    self.unknown.push(rp_base::text::clean(path.trim_start_matches('.'), 500));
                }
                return false;
            }
            true
        });
    }
}

/// Whether a value is of a type of JSON schema.
fn fits(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    }
}

/// The type of a value as Go names it.
const fn named(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> &'static Kind {
        KINDS.iter().find(|kind| kind.kind == name).unwrap()
    }

    #[test]
    fn members_that_a_kind_does_not_have_are_named_and_taken_out() {
        let mut deployment = json!({"metadata": {"name": "a", "labels": {"any": "label"}}, "spec": {"replica": 1,
            "template": {"spec": {"containers": [{"name": "a", "imagePull": "x"}]}}}});
        let decoded = decode(kind("Deployment"), &mut deployment);
        let mut unknown = decoded.unknown;
        unknown.sort();
        assert_eq!(unknown, ["spec.replica", "spec.template.spec.containers[0].imagePull"]);
        assert_eq!(decoded.mistake, None);
        assert_eq!(deployment["spec"], json!({"template": {"spec": {"containers": [{"name": "a"}]}}}));
        // A port may be a number or a name.
        let mut service =
            json!({"spec": {"ports": [{"port": 1, "targetPort": 1}, {"port": 2, "targetPort": "web"}]}});
        let decoded = decode(kind("Service"), &mut service);
        assert!(decoded.unknown.is_empty() && decoded.mistake.is_none(), "{decoded:?}");
    }

    #[test]
    fn a_value_of_a_wrong_type_is_named() {
        let decoded = decode(kind("ConfigMap"), &mut json!({"data": {"a": 1}}));
        let wanted = "json: cannot unmarshal number into Go struct field ConfigMap.data.a of type string";
        assert_eq!(decoded.mistake.as_deref(), Some(wanted));
        let mut open = json!({"spec": {"whatever": 1}});
        assert!(decode(kind("ClusterVersion"), &mut open).unknown.is_empty());
        assert_eq!(open["spec"]["whatever"], 1);
    }

    #[test]
    fn every_generated_object_fits_its_schema() {
        let now = rp_base::Timestamp::from_seconds(1_795_000_000);
        let fleet = rp_simulator::fleet::Fleet::new(3, 51, Vec::new(), now);
        for cluster in fleet.clusters() {
            let view = rp_simulator::objects::View { cluster: &cluster, now };
            for kind in KINDS {
                for mut object in rp_simulator::objects::all(kind, &view) {
                    let decoded = decode(kind, &mut object);
                    assert!(decoded.unknown.is_empty() && decoded.mistake.is_none(), "{decoded:?}: {object}");
                }
            }
        }
    }
}
