//! Answers are of the shape that the OpenAPI document says.

use rp_documents::Role;
use serde_json::Value;

use super::kit::{Kit, RES};

/// What is wrong with a value, by the keywords that the document uses.
fn wrong(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        return wrong(document, document.pointer(&reference[1..]).unwrap(), value, at);
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(choices) = schema[keyword].as_array() else { continue };
        let found: Vec<_> = choices.iter().map(|choice| wrong(document, choice, value, at)).collect();
        if found.iter().all(Option::is_some) {
            return Some(format!("{at}: {value} is none of the choices: {found:?}"));
        }
    }
    wrong_type(schema, value, at).or_else(|| wrong_members(document, schema, value, at)).or_else(|| {
        let items = value.as_array().into_iter().flatten().enumerate();
        let listed = schema["prefixItems"].as_array();
        items
            .filter_map(|(i, item)| {
                let schema = listed.and_then(|listed| listed.get(i)).unwrap_or(&schema["items"]);
                wrong(document, schema, item, &format!("{at}[{i}]"))
            })
            .next()
    })
}

fn wrong_type(schema: &Value, value: &Value, at: &str) -> Option<String> {
    let is = |kind: &str| match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
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
    let values = schema["enum"].as_array();
    let stated = schema.get("const").is_none_or(|only| only == value);
    if !stated || values.is_some_and(|values| !values.contains(value)) {
        return Some(format!("{at}: {value} is not {} {}", schema["enum"], schema["const"]));
    }
    None
}

fn wrong_members(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            return Some(format!("{at}: {name} is missing"));
        }
    }
    let (known, more) = (schema["properties"].as_object(), &schema["additionalProperties"]);
    for (name, inner) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        match known.and_then(|known| known.get(name)) {
            Some(schema) => {
                if let Some(found) = wrong(document, schema, inner, &at) {
                    return Some(found);
                }
            }
            None if more.is_object() => {
                if let Some(found) = wrong(document, more, inner, &at) {
                    return Some(found);
                }
            }
            None if known.is_some() && *more != true => return Some(format!("{at} is not described")),
            None => {}
        }
    }
    None
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
        ("/api/v1/audit/report".to_owned(), "/api/v1/audit/report".to_owned()),
        ("/api/v1/audit/proof".to_owned(), "/api/v1/audit/proof".to_owned()),
        ("/api/v1/prom/explain?query=rate%28up%5B5m%5D%29".to_owned(), "/api/v1/prom/explain".to_owned()),
        (format!("/api/v1/clusters{RES}/operations"), format!("{}/operations", one())),
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
        "/api/v1/clusters?sort=bogus",
        "/api/v1/clusters?view=bogus",
        "/api/v1/clusters?limit=many",
        "/api/v1/grants?limit=many",
        "/api/v1/grants/nobody",
        "/api/v1/nothing",
        "/api/x/y/z",
    ] {
        let answer = kit.page(Role::Admin, path).await;
        assert!(answer.status.is_client_error(), "{path}: {answer:?}");
        assert_eq!(wrong(&document, error, &answer.json(), path), None, "{}", answer.body);
    }
}

#[tokio::test]
async fn a_query_that_cannot_be_read_says_what_is_wrong() {
    let kit = Kit::new().await;
    for (path, needle) in [
        ("/api/v1/clusters?sort=bogus", "certificate"),
        ("/api/v1/clusters?view=bogus", "not-healthy"),
        ("/api/v1/clusters?limit=many", "limit"),
        ("/api/v1/grants?all=perhaps", "all"),
    ] {
        let answer = kit.page(Role::Admin, path).await;
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        let told = answer.json();
        assert_eq!(
            (told["code"].as_str(), told["side"].as_str()),
            (Some("bad_request"), Some("you")),
            "{path}"
        );
        assert!(told["message"].as_str().unwrap().contains(needle), "{path}: {told}");
    }
    // The page shows the whole list.
    assert_eq!(kit.page(Role::Viewer, "/?sort=bogus").await.status, 200);
    assert_eq!(kit.page(Role::Viewer, "/api/v1/clusters?sort=version&view=all").await.status, 200);
}

/// The status that the document declares for a call that succeeds.
fn declared(document: &Value, method: &str, pattern: &str) -> String {
    let responses = document["paths"][pattern][method]["responses"].as_object();
    let mut statuses = responses.into_iter().flatten().map(|(status, _)| status);
    statuses.find(|status| status.as_str() != "default").cloned().unwrap_or_default()
}

#[tokio::test]
async fn calls_that_change_something_answer_with_the_declared_status() {
    let kit = Kit::new().await;
    let document = kit.page(Role::Viewer, "/api/v1/openapi.json").await.json();
    let call = async |role: Role, method: &str, pattern: &str, id: &str, body: &str| -> String {
        let path = pattern.replace("{id}", id).replace("{name}", id);
        let described = &document["paths"][pattern][method];
        let sent = &described["requestBody"]["content"]["application/json"]["schema"];
        if let Ok(body) = serde_json::from_str::<Value>(body) {
            assert_eq!(wrong(&document, sent, &body, pattern), None, "{method} {pattern}: {body}");
        }
        let answer = kit.unsafe_call(role, &method.to_ascii_uppercase(), &path, body).await;
        let status = declared(&document, method, pattern);
        assert_eq!(answer.status.as_u16().to_string(), status, "{method} {pattern}: {answer:?}");
        let told: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let schema = &described["responses"][&status]["content"]["application/json"]["schema"];
        assert_eq!(wrong(&document, schema, &told, pattern), None, "{method} {pattern}: {told}");
        let id = told["grant"]["id"].as_str().or(told["id"].as_str()).unwrap_or_default();
        id.to_owned()
    };
    let body =
        format!(r#"{{"target": "{RES}", "kind": "kubeconfig", "reason": "for this test", "life": 3600}}"#);
    let grant = call(Role::Sre, "post", "/api/v1/grants", "", &body).await;
    call(Role::Sre, "post", "/api/v1/grants/{id}/extend", &grant, r#"{"life": 7200}"#).await;
    call(Role::Sre, "post", "/api/v1/grants/{id}/token", &grant, "").await;
    call(Role::Sre, "delete", "/api/v1/grants/{id}", &grant, "").await;
    call(Role::Sre, "post", "/api/v1/grants/revoke", "", r#"{"person": "sub-sre"}"#).await;
    let body =
        format!(r#"{{"target": "{RES}", "rights": "write", "reason": "for this test", "life": 1800}}"#);
    let elevation = call(Role::Elevated, "post", "/api/v1/elevations", "", &body).await;
    call(Role::Approver, "post", "/api/v1/elevations/{id}/approve", &elevation, "").await;
    call(Role::Elevated, "post", "/api/v1/elevations/{id}/end", &elevation, "").await;
    let view = call(Role::Sre, "post", "/api/v1/views", "", r#"{"name": "mine", "query": "q=x"}"#).await;
    call(Role::Sre, "delete", "/api/v1/views/{id}", &view, "").await;
    let query = call(Role::Sre, "post", "/api/v1/queries", "", r#"{"name": "up", "query": "up"}"#).await;
    call(Role::Sre, "delete", "/api/v1/queries/{id}", &query, "").await;
    let body =
        r#"{"name": "nightly", "clusters": "all", "kinds": ["kubeconfig"], "reason": "for this test"}"#;
    call(Role::Admin, "post", "/api/v1/robots", "", body).await;
    call(Role::Admin, "post", "/api/v1/robots/{name}/rotate", "nightly", "").await;
    call(Role::Admin, "delete", "/api/v1/robots/{name}", "nightly", "").await;
}

fn one() -> String {
    "/api/v1/clusters/subscriptions/{sub}/resourcegroups/{group}/providers/microsoft.redhatopenshift/openshiftclusters/{name}".to_owned()
}
