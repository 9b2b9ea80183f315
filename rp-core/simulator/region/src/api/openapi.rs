//! OpenAPI: what `kubectl explain` and clients that check objects themselves read.
//!
//! The schemas are those of `k8s-openapi`. Kinds of OpenShift have an open schema: their fields are not described.

mod schemas;

use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::sync::LazyLock;

use bytes::Bytes;
use hyper::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use rp_simulator::body::{self, Body};
use rp_simulator::objects::{KINDS, Kind};
use serde_json::{Map, Value, json};

use super::json_answer;
use super::status::Failure;
pub(super) use schemas::{Decoded, decode, is_built_in};

/// The document of one group version.
struct Document {
    text: Bytes,
    /// A hash of the text: a client asks again when it changes.
    hash: String,
}

/// The documents by the path of their group version (`api/v1`, `apis/apps/v1`).
static DOCUMENTS: LazyLock<BTreeMap<String, Document>> = LazyLock::new(|| {
    let mut versions: BTreeMap<String, Vec<&Kind>> = BTreeMap::new();
    for kind in KINDS {
        versions.entry(root(kind)).or_default().push(kind);
    }
    versions.into_iter().map(|(path, kinds)| (path, document(&kinds))).collect()
});

/// Everything as one document of Swagger 2.0.
static SWAGGER: LazyLock<Bytes> = LazyLock::new(|| {
    let kinds: Vec<&Kind> = KINDS.iter().collect();
    let definitions = schemas::of_kinds(&kinds, "/definitions");
    let swagger =
        json!({"swagger": "2.0", "info": info(), "paths": paths(&kinds), "definitions": definitions});
    swagger.to_string().into()
});

/// Answers the paths below `/openapi`; `None`: there is nothing at that path.
pub(super) fn answer(path: &str, headers: &HeaderMap) -> Option<Result<Response<Body>, Failure>> {
    if path == "/openapi/v3" {
        return Some(Ok(json_answer(StatusCode::OK, &index())));
    }
    let (text, tag) = if path == "/openapi/v2" {
        (SWAGGER.clone(), None)
    } else {
        let document = DOCUMENTS.get(path.strip_prefix("/openapi/v3/")?)?;
        (document.text.clone(), Some(document.hash.as_str()))
    };
    if !accepts_json(headers) {
        return Some(Err(Failure::not_acceptable()));
    }
    let mut response = Response::new(body::full(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&format!("\"{tag}\"")).ok()) {
        headers.insert(ETAG, tag);
        // The address names the content by its hash.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    Some(Ok(response))
}

/// Whether JSON is among what a client accepts; kubectl asks for version 2 as protobuf only.
fn accepts_json(headers: &HeaderMap) -> bool {
    let Some(accept) = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()) else { return true };
    accept.split(',').any(|form| {
        let form = form.split(';').next().unwrap_or_default().trim();
        matches!(form, "application/json" | "application/*" | "*/*")
    })
}

fn index() -> Value {
    let paths: Map<String, Value> = DOCUMENTS
        .iter()
        .map(|(path, document)| {
            let url = format!("/openapi/v3/{path}?hash={}", document.hash);
            (path.clone(), json!({"serverRelativeURL": url}))
        })
        .collect();
    json!({"paths": paths})
}

/// `api/v1`, `apis/apps/v1`.
fn root(kind: &Kind) -> String {
    if kind.group.is_empty() {
        format!("api/{}", kind.version)
    } else {
        format!("apis/{}/{}", kind.group, kind.version)
    }
}

fn info() -> Value {
    json!({"title": "Kubernetes", "version": "simulated"})
}

fn document(kinds: &[&Kind]) -> Document {
    let schemas = schemas::of_kinds(kinds, "/components/schemas");
    let text = json!({"openapi": "3.0.0", "info": info(), "paths": paths(kinds), "components": {"schemas": schemas}})
        .to_string();
    // The same build gives the same hash; it protects nothing.
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    hasher.write(text.as_bytes());
    let hash = format!("{:016X}", hasher.finish());
    Document { text: text.into(), hash }
}

/// The operations, by path; clients look there for the kind of a resource and for what a patch takes.
fn paths(kinds: &[&Kind]) -> Map<String, Value> {
    let mut paths = Map::new();
    for kind in kinds {
        let scope = if kind.namespaced { "namespaces/{namespace}/" } else { "" };
        let all = format!("/{}/{scope}{}", root(kind), kind.plural);
        let one = format!("{all}/{{name}}");
        paths.insert(
            all,
            json!({"get": operation(kind, "list", &[]), "post": operation(kind, "post", &WRITING)}),
        );
        let mut patch = operation(kind, "patch", &WRITING);
        // Strategic merge patches are read, but the schemas do not name the keys of lists: clients then use their own
        // types, and would be wrong to build such a patch from here.
        let forms =
            ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
        let forms: Map<String, Value> = forms.iter().map(|form| ((*form).to_owned(), json!({}))).collect();
        patch["requestBody"] = json!({"content": forms});
        let item = json!({"get": operation(kind, "get", &[]), "put": operation(kind, "put", &WRITING),
            "patch": patch, "delete": operation(kind, "delete", &["dryRun"])});
        paths.insert(one, item);
    }
    paths
}

/// Parameters of operations that write.
const WRITING: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

fn operation(kind: &Kind, action: &str, parameters: &[&str]) -> Value {
    let parameters: Vec<Value> = parameters
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
        .collect();
    json!({"x-kubernetes-action": action, "x-kubernetes-group-version-kind": schemas::identity(kind),
        "parameters": parameters, "responses": {"200": {"description": "OK"}}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_schema_that_says_which_kind_it_is() {
        for kind in KINDS {
            let document: Value = serde_json::from_slice(&DOCUMENTS[&root(kind)].text).unwrap();
            let all = document["components"]["schemas"].as_object().unwrap();
            let is_it = |schema: &&Value| {
                schema["x-kubernetes-group-version-kind"]
                    .as_array()
                    .is_some_and(|kinds| kinds.contains(&schemas::identity(kind)))
            };
            assert_eq!(all.values().filter(is_it).count(), 1, "{}", kind.full());
        }
    }

    #[test]
    fn every_reference_leads_to_a_schema() {
        for document in DOCUMENTS.values() {
            let text = std::str::from_utf8(&document.text).unwrap();
            let parsed: Value = serde_json::from_str(text).unwrap();
            for reference in text.split("\"$ref\":\"#").skip(1) {
                let pointer = reference.split('"').next().unwrap();
                assert!(parsed.pointer(pointer).is_some(), "{pointer}");
            }
        }
    }
}
