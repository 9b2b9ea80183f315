//! The OpenAPI 3.1 document of the JSON API, made from the route table: no route is missing, and none is invented
//! (`contract/portal.md` §8 and "Do better" 28). Its schemas come from the types that rows name, which are those that
//! handlers read and write.

mod parameters;
pub(crate) mod refusals;
mod schemas;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};
use portal_session::session_store::COOKIE;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use self::parameters::in_path;
use self::schemas::Schemas;
use crate::failure::ErrorAnswer;
use crate::route::{AllowedCaller, Route, RouteAnswer, RouteBody, RouteDoc};

const TAGS: [(&str, &str); 13] = [
    ("clusters", "The fleet, and one cluster"),
    ("objects", "What a cluster is made of"),
    ("actions", "What people do with objects of a cluster"),
    ("maintenance", "Tasks on clusters: planned, ordered, run"),
    ("metrics", "Prometheus and alerts of clusters"),
    ("grants", "Access that was given out"),
    ("elevations", "More rights for a while"),
    ("robots", "Identities of scripts"),
    ("notifications", "Messages to receivers outside"),
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
    let mut schemas = Schemas::new();
    let error = schemas.answer(SchemaGenerator::subschema_for::<ErrorAnswer<'_>>);
    for (route, doc) in routes.filter_map(|route| Some((route, route.doc?))) {
        // OpenAPI has no pattern for "the rest of the path"; the parameter's description says so.
        let path = route.path.replace("{*", "{");
        let operations = paths.entry(path).or_insert_with(|| json!({}));
        operations[route.method.name().to_ascii_lowercase()] = operation(route, doc, &mut schemas, &error);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "aro",
            "version": "v1",
            "summary": "Clusters, and access to them for a while",
            "description": "JSON API of the portal. Instants are RFC 3339 in UTC; lists are never null; an error of any route is an Error, with the codes that x-aro-codes lists by status. A HEAD is answered as its GET. Unsafe calls with a session's cookie carry the header X-CSRF-Token, which /api/info gives; calls with a bearer token carry none.",
        },
        "servers": [{ "url": "/", "description": "The portal of a region" }],
        "security": [{ "bearer": [] }, { "session": [] }],
        "tags": TAGS.iter().map(|(name, what)| json!({ "name": name, "description": what })).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "A token of aro login, of a robot, or of the provider's client credentials" },
                "session": { "type": "apiKey", "in": "cookie", "name": COOKIE, "description": "The session of a browser" },
                "csrf": { "type": "apiKey", "in": "header", "name": "X-CSRF-Token", "description": "Beside the session's cookie in unsafe calls: the token that /api/info gives" },
            },
            "headers": refusals::headers(),
            "responses": { "Error": {
                "description": "What failed, whose side it is on, what to do",
                "content": { "application/json": { "schema": error } },
            } },
            "schemas": schemas.definitions(),
        },
    })
}

fn operation(route: &Route, doc: RouteDoc, schemas: &mut Schemas, error: &Value) -> Value {
    let mut parameters: Vec<Value> = in_path(route);
    for shape in route.query.into_iter().flatten() {
        parameters.extend(schemas.parameters(shape));
    }
    let mut responses = refusals::answers(route, error);
    responses.insert(route.answer.status.to_string(), answer(route.answer, schemas));
    responses.insert("default".to_owned(), json!({ "$ref": "#/components/responses/Error" }));
    let mut operation = json!({
        "operationId": doc.operation,
        "summary": doc.summary,
        "tags": [doc.tag],
        "parameters": parameters,
        "responses": responses,
        "x-aro-who": route.who.name(),
    });
    if matches!(route.who, AllowedCaller::Public) {
        operation["security"] = json!([]);
    } else if route.csrf {
        operation["security"] = json!([{ "bearer": [] }, { "session": [], "csrf": [] }]);
    }
    if let Some(body) = request_body(route.takes, schemas) {
        operation["requestBody"] = body;
    }
    operation
}

fn request_body(takes: RouteBody, schemas: &mut Schemas) -> Option<Value> {
    let (kind, shape, example) = match takes {
        RouteBody::Undeclared | RouteBody::Empty => return None,
        // Examples stand in the schema.
        RouteBody::Json { shape, .. } => ("application/json", shape, None),
        RouteBody::Form { shape, example } => ("application/x-www-form-urlencoded", shape, Some(example)),
    };
    let schema = schemas.request(shape);
    // No body is read as `{}`.
    let required = schemas.has_required(&schema);
    let mut content = json!({ "schema": schema });
    if let Some(example) = example {
        content["example"] = example.iter().copied().collect();
    }
    Some(json!({ "required": required, "content": { kind: content } }))
}

fn answer(answer: RouteAnswer, schemas: &mut Schemas) -> Value {
    if answer.status == 204 {
        return json!({ "description": "Done" });
    }
    let mut content = Map::new();
    let schema = answer.schema.map_or_else(|| not_json(answer.kind), |shape| schemas.answer(shape));
    content.insert(answer.kind.to_owned(), json!({ "schema": schema }));
    for kind in answer.other_kinds.into_iter().flatten() {
        content.insert(kind.to_owned(), json!({ "schema": not_json(kind) }));
    }
    json!({ "description": "The answer", "content": content })
}

/// The schema of content that is no JSON: text or bytes.
fn not_json(kind: &str) -> Value {
    if kind.starts_with("image/") {
        json!({ "type": "string", "format": "binary" })
    } else {
        json!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::route::Method;
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
    fn bodies_and_answers_have_types() {
        for route in table().filter(|route| route.doc.is_some()) {
            let (method, path) = (route.method.name(), route.path);
            let undeclared = matches!(route.takes, RouteBody::Undeclared);
            assert_eq!(
                undeclared,
                route.method != Method::Post,
                "{method} {path}: a POST says what it takes"
            );
            let json = route.answer.kind == "application/json" && route.answer.status != 204;
            assert_eq!(route.answer.schema.is_some(), json, "{method} {path}: JSON has a type");
        }
    }

    #[test]
    fn every_body_has_examples_that_are_read() {
        let value = value(table());
        for route in table() {
            let RouteBody::Json { shape, read } = route.takes else { continue };
            let schema = Schemas::new().request(shape);
            let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
            let name = name.unwrap_or_else(|| panic!("{}: a body is a type with a name", route.path));
            let examples = value["components"]["schemas"][name]["examples"].as_array();
            let examples = examples.unwrap_or_else(|| panic!("{name} has no example"));
            assert!(!examples.is_empty(), "{name} has no example");
            for example in examples {
                assert_eq!(read(&example.to_string()), Ok(()), "{name}: {example}");
            }
            assert!(read("7").is_err(), "{name} is an object");
        }
    }

    #[test]
    fn a_name_is_one_schema() {
        let mut schemas = Schemas::new();
        for (route, doc) in table().filter_map(|route| Some((route, route.doc?))) {
            operation(route, doc, &mut schemas, &Value::Null);
        }
        let [requests, answers] = schemas.both();
        for (name, schema) in &requests {
            // `Name2` is what the second type of a name is called.
            assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}");
            assert!(answers.get(name).is_none_or(|answer| answer == schema), "{name} is two schemas");
        }
        for name in answers.keys() {
            assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}");
        }
    }

    #[test]
    fn numbers_of_a_query_are_numbers() {
        let value = value(table());
        let operations = value["paths"].as_object().unwrap().values().filter_map(Value::as_object);
        let parameters = operations.flat_map(Map::values).filter_map(|one| one["parameters"].as_array());
        let mut seen = 0;
        for parameter in parameters.flatten().filter(|parameter| parameter["in"] == "query") {
            let schema = &parameter["schema"];
            match parameter["name"].as_str().unwrap() {
                "limit" | "lines" | "tail" | "width" => assert_eq!(schema["type"], "integer", "{parameter}"),
                "download" | "follow" | "all" | "reverse" => {
                    assert_eq!(schema["type"], "boolean", "{parameter}");
                }
                "sort" => assert_eq!(schema["$ref"], "#/components/schemas/ClusterColumn"),
                _ => continue,
            }
            seen += 1;
        }
        assert!(seen > 12, "{seen}");
    }

    #[test]
    fn answers_have_every_content_type_that_a_caller_may_get() {
        let value = value(table());
        let operations = value["paths"].as_object().unwrap().values().filter_map(Value::as_object);
        let find = |id: &str| operations.clone().flat_map(Map::values).find(|one| one["operationId"] == id);
        let expected: [(&str, &[&str]); 6] = [
            ("exportAudit", &["application/x-ndjson"]),
            ("getObject", &["application/json", "application/yaml"]),
            ("getScreenshot", &["image/bmp", "image/jpeg", "image/png"]),
            ("getSerialConsole", &["application/json", "text/plain"]),
            ("queryFleet", &["text/event-stream"]),
            ("reportAccess", &["application/json", "text/csv"]),
        ];
        for (id, kinds) in expected {
            let operation = find(id).unwrap_or_else(|| panic!("no {id}"));
            let content = operation["responses"]["200"]["content"].as_object().unwrap();
            assert_eq!(content.keys().map(String::as_str).collect::<Vec<_>>(), kinds, "{id}");
        }
        let unsafe_call = find("createGrant").unwrap();
        assert_eq!(unsafe_call["security"], json!([{ "bearer": [] }, { "session": [], "csrf": [] }]));
        assert_eq!(find("beginDeviceSignIn").unwrap()["security"], json!([]));
    }

    #[test]
    fn ids_are_unique_and_references_are_there() {
        let value = value(table());
        let text = value.to_string();
        let mut ids = HashSet::new();
        for (path, operations) in value["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let id = operation["operationId"].as_str().unwrap().to_owned();
                let plain = id.chars().all(|c| c.is_ascii_alphanumeric());
                assert!(plain && id.starts_with(|c: char| c.is_ascii_lowercase()), "{id} names no method");
                assert!(ids.insert(id.clone()), "{method} {path}: {id} is there twice");
                let mut names = HashSet::new();
                for parameter in operation["parameters"].as_array().unwrap() {
                    let name = parameter["name"].as_str().unwrap();
                    assert!(names.insert((name, parameter["in"].as_str())), "{path}: {name} is there twice");
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
