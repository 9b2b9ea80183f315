//! Answers are of the shape that the OpenAPI document says.

use rp_documents::Role;
use serde_json::Value;

use super::kit::{Kit, RES};

/// What is wrong with a value, by the keywords that the document uses.
fn wrong(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        return wrong(document, document.pointer(&reference[1..]).unwrap(), value, at);
    }
    let is = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("{at}: the type {other}"),
    };
    let sound = match &schema["type"] {
        Value::String(kind) => is(kind),
        Value::Array(kinds) => kinds.iter().any(|kind| is(kind.as_str().unwrap())),
        _ => true,
    };
    if !sound {
        return Some(format!("{at}: {value} is not {}", schema["type"]));
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(value)
    {
        return Some(format!("{at}: {value} is none of {values:?}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            return Some(format!("{at}: {name} is missing"));
        }
    }
    let known = schema["properties"].as_object();
    for (name, inner) in known.into_iter().flatten() {
        let found =
            value.get(name).and_then(|inside| wrong(document, inner, inside, &format!("{at}/{name}")));
        if found.is_some() {
            return found;
        }
    }
    if let (Some(known), Some(members)) = (known, value.as_object())
        && let Some(name) = members.keys().find(|name| !known.contains_key(*name))
    {
        return Some(format!("{at}: {name} is not described"));
    }
    let items = value.as_array().into_iter().flatten().enumerate();
    items.filter_map(|(i, item)| wrong(document, &schema["items"], item, &format!("{at}[{i}]"))).next()
}

#[tokio::test]
async fn answers_are_as_the_document_says() {
    let kit = Kit::new().await;
    let document = kit.page(Role::Viewer, "/api/v1/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let detail = "/api/0000aaaa-0000-0000-0000-00000000000f/my.rg/harbor-01";
    for (path, pattern) in [
        ("/api/v1/clusters?limit=1".to_owned(), "/api/v1/clusters".to_owned()),
        ("/api/v1/clusters?q=nobody-is-called-so".to_owned(), "/api/v1/clusters".to_owned()),
        (format!("/api/v1/clusters{RES}"), one()),
        ("/api/clusters".to_owned(), "/api/clusters".to_owned()),
        (detail.to_owned(), "/api/{sub}/{group}/{name}".to_owned()),
        ("/api/info".to_owned(), "/api/info".to_owned()),
        ("/api/regions".to_owned(), "/api/regions".to_owned()),
        ("/api/v1/views".to_owned(), "/api/v1/views".to_owned()),
        ("/api/v1/jump?q=harbor".to_owned(), "/api/v1/jump".to_owned()),
        ("/api/v1/queries".to_owned(), "/api/v1/queries".to_owned()),
        ("/api/v1/grants".to_owned(), "/api/v1/grants".to_owned()),
        ("/api/v1/elevations".to_owned(), "/api/v1/elevations".to_owned()),
        ("/api/v1/audit".to_owned(), "/api/v1/audit".to_owned()),
        ("/api/v1/robots".to_owned(), "/api/v1/robots".to_owned()),
        ("/api/v1/imports".to_owned(), "/api/v1/imports".to_owned()),
    ] {
        let answer = kit.page(Role::Admin, &path).await;
        let role = if answer.status == 403 { Role::Auditor } else { Role::Admin };
        let answer = kit.page(role, &path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let schema =
            &document["paths"][&pattern]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{pattern} is not described");
        assert_eq!(wrong(&document, schema, &answer.json(), &path), None, "{}", answer.body);
    }
    // Errors of any route are one shape.
    let error = &document["components"]["schemas"]["Error"];
    for path in [
        "/api/v1/clusters?version=..",
        "/api/v1/clusters?continue=x",
        "/api/v1/grants/nobody",
        "/api/v1/nothing",
        "/api/x/y/z",
    ] {
        let answer = kit.page(Role::Admin, path).await;
        assert!(answer.status.is_client_error(), "{path}: {answer:?}");
        assert_eq!(wrong(&document, error, &answer.json(), path), None, "{}", answer.body);
    }
}

fn one() -> String {
    "/api/v1/clusters/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}".to_owned()
}
