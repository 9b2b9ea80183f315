//! The OpenAPI 3.1 document of the JSON API, made from the route table: no route is missing, and none is invented
//! (`contract/portal.md` §8 and "Do better" 28).

mod route_docs;

use portal_api::schemas;
use serde_json::{Map, Value, json};

use crate::routes::{AllowedCaller, Method, Route, table};

/// The document as JSON, indented, with a newline at its end.
pub fn document() -> String {
    let mut text = serde_json::to_string_pretty(&value()).unwrap_or_default();
    text.push('\n');
    text
}

/// Whether a route is part of the JSON API: what a browser's forms and the sign-in's redirects use is not.
pub(crate) fn documented(route: &Route) -> bool {
    route.path.starts_with("/api/") && !matches!(route.path, "/api/login" | "/api/logout" | "/api/cli/login")
        || route.path.ends_with("/prometheus/api/v1/{*tail}")
}

fn value() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in table().iter().filter(|route| documented(route)) {
        // OpenAPI has no pattern for "the rest of the path"; the parameter's description says so.
        let path = route.path.replace("{*", "{");
        let operations = paths.entry(path).or_insert_with(|| json!({}));
        operations[route.method.name().to_ascii_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "aro",
            "version": "v1",
            "summary": "Clusters, and access to them for a while",
            "description": "JSON API of the portal. Instants are RFC 3339 in UTC; lists are never null; an error of any route is an Error. Unsafe calls with a session's cookie carry the header X-CSRF-Token, which /api/info gives; calls with a bearer token carry none.",
        },
        "servers": [{ "url": "/", "description": "The portal of a region" }],
        "security": [{ "bearer": [] }, { "session": [] }],
        "tags": route_docs::TAGS.iter().map(|(name, what)| json!({ "name": name, "description": what })).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "A token of aro login, of a robot, or of the provider's client credentials" },
                "session": { "type": "apiKey", "in": "cookie", "name": "__Host-aro", "description": "The session of a browser" },
            },
            "responses": { "Error": {
                "description": "What failed, whose side it is on, what to do",
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
            } },
            "schemas": schemas::all(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let doc = route_docs::route_doc(route.handler);
    let mut parameters: Vec<Value> = in_path(route.path);
    parameters.extend(doc.query.iter().map(|(name, what)| {
        json!({ "name": name, "in": "query", "required": false, "description": what, "schema": { "type": "string" } })
    }));
    if doc.schema == "ClusterPage" {
        parameters.extend(route_docs::list_filters());
    }
    let mut operation = json!({
        "operationId": format!("{}{:?}", route.method.name().to_ascii_lowercase(), route.handler) + &tail(route.path),
        "summary": doc.summary,
        "tags": [doc.tag],
        "parameters": parameters,
        "responses": { doc.status.to_string(): answer(&doc), "default": { "$ref": "#/components/responses/Error" } },
        "x-aro-who": who(route.who),
    });
    if matches!(route.who, AllowedCaller::Public) {
        operation["security"] = json!([]);
    }
    if route.method == Method::Post {
        operation["requestBody"] = json!({
            "required": false,
            "content": { doc.body: { "schema": { "type": "object" } } },
        });
    }
    operation
}

fn answer(doc: &route_docs::RouteDoc) -> Value {
    if doc.status == 204 {
        return json!({ "description": "Done" });
    }
    let schema = match doc.schema {
        "" => json!({}),
        name => json!({ "$ref": format!("#/components/schemas/{name}") }),
    };
    json!({ "description": "The answer", "content": { doc.kind: { "schema": schema } } })
}

fn in_path(path: &str) -> Vec<Value> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            let rest = name.strip_prefix('*');
            let what = match (rest, name) {
                (Some(_), _) => "The rest of the path, with its slashes",
                (_, "sub") => "Subscription id",
                (_, "group") => "Resource group",
                (_, "name") => "Name",
                (_, "id") => "Id, as an answer gave it",
                _ => "As an answer or the guide names it",
            };
            let name = rest.unwrap_or(name);
            json!({ "name": name, "in": "path", "required": true, "description": what, "schema": { "type": "string" } })
        })
        .collect()
}

/// One handler serves several paths: what makes its id unique.
fn tail(path: &str) -> String {
    let last = path.rsplit('/').find(|part| !part.starts_with('{')).unwrap_or_default();
    let plain: String = last.chars().filter(char::is_ascii_alphanumeric).collect();
    let under = if path.starts_with("/api/v1/prom/") { "V1" } else { "" };
    format!("_{plain}{}{under}", path.matches("/{").count())
}

fn who(who: AllowedCaller) -> &'static str {
    match who {
        AllowedCaller::Public => "anybody",
        AllowedCaller::SignedIn => "signed in",
        AllowedCaller::Role(role) => role.name(),
    }
}

/// `GET /api/v1/openapi.json`.
pub(crate) async fn serve() -> axum::response::Response {
    let mut response = axum::response::Response::new(axum::body::Body::from(document()));
    let kind = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_route_of_the_api_is_described() {
        for route in table().iter().filter(|route| documented(route)) {
            let doc = route_docs::route_doc(route.handler);
            assert!(
                !doc.summary.is_empty(),
                "{} {}: say in openapi/route_docs.rs what it does",
                route.method.name(),
                route.path
            );
        }
    }

    #[test]
    fn ids_are_unique_and_references_are_there() {
        let value = value();
        let text = value.to_string();
        let mut ids = HashSet::new();
        for (path, operations) in value["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap().to_owned();
                assert!(ids.insert(id.clone()), "{method} {path}: {id} is there twice");
                for parameter in operation["parameters"].as_array().unwrap() {
                    let name = parameter["name"].as_str().unwrap();
                    let inside = path.contains(&format!("{{{name}}}"));
                    assert!(parameter["in"] == "query" || inside, "{path}: {name}");
                }
            }
        }
        for reference in text.split("\"$ref\":\"#/").skip(1) {
            let pointer = format!("/{}", reference.split('"').next().unwrap());
            assert!(value.pointer(&pointer).is_some(), "{pointer}");
        }
    }
}
