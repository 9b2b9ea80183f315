//! The OpenAPI 3.1 document of the JSON API, made from the route table: no route is missing, and none is invented
//! (`contract/portal.md` §8 and "Do better" 28).

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};
use portal_api::schemas;
use serde_json::{Map, Value, json};
use web::{Column, ListQuery, filter_words};

use crate::route::{AllowedCaller, Method, Route, RouteAnswer, RouteDoc};

const TAGS: [(&str, &str); 10] = [
    ("clusters", "The fleet, and one cluster"),
    ("objects", "What a cluster is made of"),
    ("metrics", "Prometheus and alerts of clusters"),
    ("grants", "Access that was given out"),
    ("elevations", "More rights for a while"),
    ("robots", "Identities of scripts"),
    ("recordings", "Recorded sessions of shells"),
    ("audit", "Who did what"),
    ("imports", "Clusters of one's own"),
    ("service", "Sign-in, and what this portal is"),
];

/// The document as JSON, indented, with a newline at its end.
pub fn document(routes: impl Iterator<Item = &'static Route>) -> String {
    let mut text = serde_json::to_string_pretty(&value(routes)).unwrap_or_default();
    text.push('\n');
    text
}

/// The document as an answer.
pub(crate) fn response(routes: impl Iterator<Item = &'static Route>) -> Response {
    let mut response = Response::new(Body::from(document(routes)));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn value(routes: impl Iterator<Item = &'static Route>) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for (route, doc) in routes.filter_map(|route| Some((route, route.doc?))) {
        // OpenAPI has no pattern for "the rest of the path"; the parameter's description says so.
        let path = route.path.replace("{*", "{");
        let operations = paths.entry(path).or_insert_with(|| json!({}));
        operations[route.method.name().to_ascii_lowercase()] = operation(route, doc);
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
        "tags": TAGS.iter().map(|(name, what)| json!({ "name": name, "description": what })).collect::<Vec<_>>(),
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

fn operation(route: &Route, doc: RouteDoc) -> Value {
    let mut parameters: Vec<Value> = in_path(route.path);
    parameters.extend(route.query.iter().map(|(name, what)| {
        json!({ "name": name, "in": "query", "required": false, "description": what, "schema": { "type": "string" } })
    }));
    if route.answer.schema == "ClusterPage" {
        parameters.extend(list_filters());
    }
    let mut operation = json!({
        "operationId": route.method.name().to_ascii_lowercase() + doc.operation + &tail(route.path),
        "summary": doc.summary,
        "tags": [doc.tag],
        "parameters": parameters,
        "responses": { route.answer.status.to_string(): answer(route.answer), "default": { "$ref": "#/components/responses/Error" } },
        "x-aro-who": route.who.name(),
    });
    if matches!(route.who, AllowedCaller::Public) {
        operation["security"] = json!([]);
    }
    if route.method == Method::Post {
        operation["requestBody"] = json!({
            "required": false,
            "content": { "application/json": { "schema": { "type": "object" } } },
        });
    }
    operation
}

fn answer(answer: RouteAnswer) -> Value {
    if answer.status == 204 {
        return json!({ "description": "Done" });
    }
    let schema = match answer.schema {
        "" => json!({}),
        name => json!({ "$ref": format!("#/components/schemas/{name}") }),
    };
    json!({ "description": "The answer", "content": { answer.kind: { "schema": schema } } })
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

/// The filters of the list, as parameters.
fn list_filters() -> Vec<Value> {
    let text = |name: &str, what: String, schema: Value| json!({ "name": name, "in": "query", "required": false, "description": what, "schema": schema });
    let plain = || json!({ "type": "string" });
    let mut all = vec![
        text(
            "q",
            "Words; each is somewhere in name, ids, state, version, error, operators or alerts".to_owned(),
            plain(),
        ),
        text(
            "view",
            "A view that everybody has".to_owned(),
            json!({ "type": "string", "enum": ["not-healthy", "in-progress", "failed", "imported"] }),
        ),
    ];
    for (field, _) in ListQuery::default().fields() {
        let form = match field {
            "state" => ": one or several with commas between them",
            "version" => ": 4.18, <4.16, or a range such as 4.14..4.16 with both ends",
            "expires" => " within so many days",
            "age" => " for at least 30m, 12h or 7d",
            "unseen" => " for so many minutes",
            "operator" | "alert" | "collector" => ": its name, or any",
            "names" => ": names or resource ids with commas between them",
            _ => "",
        };
        all.push(text(field, format!("{}{form}", filter_words(field)), plain()));
    }
    let orders: Vec<&str> = std::iter::once(Column::Name).chain(Column::EVERY).map(Column::name).collect();
    all.push(text("sort", "Order; state without".to_owned(), json!({ "type": "string", "enum": orders })));
    all.push(text("reverse", "The order turned round".to_owned(), json!({ "type": "boolean" })));
    all
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::routes::table;

    /// What a browser's forms and the sign-in's redirects use is no part of the JSON API.
    fn is_of_the_api(path: &str) -> bool {
        path.starts_with("/api/") && !matches!(path, "/api/login" | "/api/logout" | "/api/cli/login")
            || path.ends_with("/prometheus/api/v1/{*tail}")
    }

    #[test]
    fn every_route_of_the_api_is_described() {
        for route in table() {
            let described = route.doc.is_some_and(|doc| !doc.summary.is_empty());
            assert_eq!(
                described,
                is_of_the_api(route.path),
                "{} {}: a row of the JSON API says what it does, others do not",
                route.method.name(),
                route.path
            );
        }
    }

    #[test]
    fn each_tag_is_described_and_used() {
        let used: HashSet<&str> = table().filter_map(|route| Some(route.doc?.tag)).collect();
        assert_eq!(used, TAGS.iter().map(|(name, _)| *name).collect());
    }

    #[test]
    fn ids_are_unique_and_references_are_there() {
        let value = value(table());
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
