//! What a cluster has in Azure, as data: ARM templates and bodies (`contract/cluster.md` §8). Pure.

pub(crate) mod addresses;
pub(crate) mod balancers;
pub(crate) mod base;
pub(crate) mod machines;
pub(crate) mod network;
mod service_environment;
pub(crate) mod storage;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod versions;

pub(crate) use machines::{Machines, machines};
pub(crate) use service_environment::ServiceEnvironment;

use serde_json::{Map, Value, json};

const SCHEMA: &str = "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#";

/// A template of those resources.
pub(crate) fn template(parameters: Map<String, Value>, resources: Vec<Value>) -> Value {
    let mut whole = Map::new();
    whole.insert("$schema".to_owned(), Value::from(SCHEMA));
    whole.insert("contentVersion".to_owned(), Value::from("1.0.0.0"));
    whole.insert("resources".to_owned(), Value::Array(resources));
    if !parameters.is_empty() {
        whole.insert("parameters".to_owned(), Value::Object(parameters));
    }
    Value::Object(whole)
}

/// A resource of a template; its API version is the table's.
pub(crate) fn resource(kind: &str, name: &str, location: Option<&str>, properties: Value) -> Value {
    // A role assignment on another resource has that resource's type in front.
    let of = if kind.ends_with("/providers/roleAssignments") { "microsoft.authorization" } else { kind };
    let mut body = json!({
        "type": kind,
        "name": name,
        "apiVersion": versions::of_type(of).unwrap_or_default(),
    });
    body["properties"] = properties;
    if let Some(location) = location {
        body["location"] = json!(location);
    }
    body
}

/// Adds what must be there first.
pub(crate) fn after(mut resource: Value, ids: &[String]) -> Value {
    resource["dependsOn"] = json!(ids);
    resource
}

/// Id of a resource below a group.
pub(crate) fn id(group: &str, kind: &str, name: &str) -> String {
    format!("{group}/providers/{kind}/{name}")
}

/// `{"id": …}`
pub(crate) fn reference(id: &str) -> Value {
    json!({ "id": id })
}
