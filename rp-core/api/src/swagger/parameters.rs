//! Parameters that operations share, as ARM's common types have them.

use serde_json::{Map, Value, json};

use super::SwaggerContext;

/// A parameter of the table below, by its definition's name.
pub(super) const VERSION: &str = "ApiVersionParameter";
pub(super) const SUBSCRIPTION: &str = "SubscriptionIdParameter";
pub(super) const GROUP: &str = "ResourceGroupNameParameter";
pub(super) const LOCATION: &str = "LocationParameter";

pub(super) fn all(context: SwaggerContext<'_>) -> Map<String, Value> {
    let subscription = json!({
        "name": "subscriptionId", "in": "path", "required": true, "type": "string", "format": "uuid",
        "description": "The id of the subscription.",
    });
    let group = json!({
        "name": "resourceGroupName", "in": "path", "required": true, "type": "string",
        "minLength": 1, "maxLength": 90, "x-ms-parameter-location": "method",
        "description": "The name of the resource group. Upper and lower case are the same.",
    });
    let version = json!({
        "name": "api-version", "in": "query", "required": true, "type": "string", "minLength": 1,
        "description": "The version of the API.",
    });
    let location = json!({
        "name": "location", "in": "path", "required": true, "type": "string",
        "minLength": 1, "x-ms-parameter-location": "method",
        "description": "The name of the Azure region.",
    });
    let mut all = Map::new();
    all.insert(VERSION.to_owned(), version);
    all.insert(SUBSCRIPTION.to_owned(), subscription);
    all.insert(GROUP.to_owned(), group);
    if context.version.openshift_versions {
        all.insert(LOCATION.to_owned(), location);
    }
    all
}

pub(super) fn shared(name: &str) -> Value {
    json!({"$ref": format!("#/parameters/{name}")})
}

/// The name of a cluster in a path.
pub(super) fn cluster() -> Value {
    json!({
        "name": "resourceName", "in": "path", "required": true, "type": "string",
        "description": "The name of the OpenShift cluster.",
    })
}

/// A version of OpenShift in a path.
pub(super) fn openshift(name: &str, pattern: &str, says: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "type": "string",
        "minLength": 1, "maxLength": 63, "pattern": pattern, "description": says,
    })
}

pub(super) fn body(definition: &str) -> Value {
    json!({
        "name": "parameters", "in": "body", "required": true, "schema": super::reference(definition),
        "description": "The OpenShift cluster.",
    })
}
