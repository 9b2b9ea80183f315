//! The two CustomResourceDefinitions, generated from the types (`contract/operator.md` §2).

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::cluster::{self, ClusterSpec, ClusterStatus};
use crate::preview::{self, PreviewSpec, PreviewStatus};

/// `clusters.aro.openshift.io`.
pub fn cluster() -> Value {
    let columns = json!([
        { "name": "Version", "type": "string", "jsonPath": ".status.operatorVersion" },
        { "name": "Location", "type": "string", "jsonPath": ".spec.location" },
        { "name": "Domain", "type": "string", "jsonPath": ".spec.domain" },
        { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
    ]);
    let names = ("clusters", "cluster");
    definition(
        cluster::GROUP,
        cluster::KIND,
        names,
        &schema::<ClusterSpec>(),
        &schema::<ClusterStatus>(),
        &columns,
    )
}

/// `previewfeatures.preview.aro.openshift.io`.
pub fn preview_feature() -> Value {
    let columns = json!([
        { "name": "Flow logs", "type": "boolean", "jsonPath": ".spec.nsgFlowLogs.enabled" },
        { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
    ]);
    let names = ("previewfeatures", "previewfeature");
    definition(
        preview::GROUP,
        preview::KIND,
        names,
        &schema::<PreviewSpec>(),
        &schema::<PreviewStatus>(),
        &columns,
    )
}

fn definition(
    group: &str,
    kind: &str,
    (plural, singular): (&str, &str),
    spec: &Value,
    status: &Value,
    columns: &Value,
) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "names": { "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular },
            "scope": "Cluster",
            "versions": [{
                "name": cluster::VERSION,
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "apiVersion": { "type": "string" },
                        "kind": { "type": "string" },
                        "metadata": { "type": "object" },
                        "spec": spec,
                        "status": status,
                    },
                } },
            }],
        },
    })
}

/// The structural schema of a type: without references, and with those defaults only that the type declares as
/// `x-default`. A default of the API server is written into the object, and then it is nobody's.
fn schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    structural(&mut value);
    value
}

fn structural(value: &mut Value) {
    match value {
        Value::Object(members) => {
            clean(members);
            members.values_mut().for_each(structural);
        }
        Value::Array(items) => items.iter_mut().for_each(structural),
        _ => {}
    }
}

/// `properties` holds fields by name, everything else holds schemas: a field may be named `title`.
fn clean(members: &mut Map<String, Value>) {
    if !members.get("type").is_some_and(Value::is_string) {
        return;
    }
    for word in ["$schema", "title", "default", "components"] {
        members.remove(word);
    }
    if let Some(default) = members.remove("x-default") {
        members.insert("default".to_owned(), default);
    }
}
