//! What there is: `/api`, `/apis` and their members, plain or aggregated (`apidiscovery.k8s.io/v2`).

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use rp_simulator::body::Body;
use rp_simulator::objects::{KINDS, Kind};
use serde_json::{Value, json};

use super::json_answer;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Resources that exist only to be created: group, version, plural, kind.
const REVIEWS: [(&str, &str, &str, &str); 4] = [
    ("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview"),
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    ("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    ("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"),
];

/// Every group but the core, with its one version.
fn groups() -> Vec<(&'static str, &'static str)> {
    let mut found: Vec<(&str, &str)> = KINDS
        .iter()
        .map(|kind| (kind.group, kind.version))
        .chain(REVIEWS.iter().map(|review| (review.0, review.1)))
        .filter(|(group, _)| !group.is_empty())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The paths that `/` names.
pub(super) fn paths() -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, version) in groups() {
        paths.push(format!("/apis/{group}"));
        paths.push(format!("/apis/{group}/{version}"));
    }
    paths.extend(
        ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned),
    );
    paths
}

/// The answer for a discovery path.
pub(super) fn answer(path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let aggregated = accept.split(',').any(|form| {
        let parameters: Vec<&str> = form.split(';').map(str::trim).collect();
        parameters.contains(&"as=APIGroupDiscoveryList") && parameters.contains(&"v=v2")
    });
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let value = match parts.as_slice() {
        ["api"] if aggregated => return Some(aggregate(&[("", "v1")])),
        ["apis"] if aggregated => return Some(aggregate(&groups())),
        ["api"] => json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
        ["apis"] => {
            let groups: Vec<Value> =
                groups().iter().map(|(group, version)| self_group(group, version)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        ["api", "v1"] => resources("", "v1")?,
        ["apis", group] => {
            let (group, version) = groups().into_iter().find(|(found, _)| found == group)?;
            let mut value = self_group(group, version);
            value["kind"] = json!("APIGroup");
            value["apiVersion"] = json!("v1");
            value
        }
        ["apis", group, version] => resources(group, version)?,
        _ => return None,
    };
    Some(json_answer(StatusCode::OK, &value))
}

fn self_group(group: &str, version: &str) -> Value {
    let version = json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({"name": group, "versions": [version], "preferredVersion": version})
}

/// What can be done with the objects of a kind, in the order of the API server; everything else is refused.
pub(super) fn verbs(kind: &Kind) -> &'static [&'static str] {
    match kind.plural {
        // A project is made by its namespace.
        "projects" => &["delete", "get", "list", "patch", "update", "watch"],
        _ if kind.group == "metrics.k8s.io" => &["get", "list"],
        _ => &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    }
}

fn resources(group: &str, version: &str) -> Option<Value> {
    let mut found = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.group == group && kind.version == version) {
        found.push(json!({"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": verbs(kind), "shortNames": kind.short, "categories": kind.categories}));
        if kind.group.is_empty() && kind.plural == "pods" {
            found.push(json!({"name": "pods/log", "singularName": "", "namespaced": true, "kind": "Pod", "verbs": ["get"]}));
            found.push(
                json!({"name": "pods/exec", "singularName": "", "namespaced": true, "kind": "PodExecOptions",
                "verbs": ["create", "get"]}),
            );
            found.push(json!({"name": "pods/attach", "singularName": "", "namespaced": true, "kind": "PodAttachOptions",
                "verbs": ["create", "get"]}));
            found.push(json!({"name": "pods/portforward", "singularName": "", "namespaced": true,
                "kind": "PodPortForwardOptions", "verbs": ["create", "get"]}));
        }
    }
    for review in REVIEWS.iter().filter(|review| review.0 == group && review.1 == version) {
        found.push(json!({"name": review.2, "singularName": review.3.to_lowercase(), "namespaced": false,
            "kind": review.3, "verbs": ["create"]}));
    }
    if found.is_empty() {
        return None;
    }
    let full = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Some(json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": full, "resources": found}))
}

fn aggregate(groups: &[(&str, &str)]) -> Response<Body> {
    let items: Vec<Value> = groups
        .iter()
        .map(|(group, version)| {
            let scope = |namespaced: bool| if namespaced { "Namespaced" } else { "Cluster" };
            let kinds = KINDS.iter().filter(|kind| kind.group == *group && kind.version == *version).map(|kind| {
                let mut value = json!({
                    "resource": kind.plural, "singularResource": kind.singular, "scope": scope(kind.namespaced),
                    "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
                    "verbs": verbs(kind), "shortNames": kind.short, "categories": kind.categories});
                if kind.group.is_empty() && kind.plural == "pods" {
                    value["subresources"] = json!([
                        {"subresource": "log", "responseKind": {"group": "", "version": "v1", "kind": "Pod"}, "verbs": ["get"]},
                        {"subresource": "exec", "responseKind": {"group": "", "version": "v1", "kind": "PodExecOptions"},
                            "verbs": ["create", "get"]},
                        {"subresource": "attach", "responseKind": {"group": "", "version": "v1", "kind": "PodAttachOptions"},
                            "verbs": ["create", "get"]},
                        {"subresource": "portforward",
                            "responseKind": {"group": "", "version": "v1", "kind": "PodPortForwardOptions"},
                            "verbs": ["create", "get"]}]);
                }
                value
            });
            let reviews = REVIEWS.iter().filter(|review| review.0 == *group).map(|review| {
                json!({"resource": review.2, "singularResource": review.3.to_lowercase(), "scope": "Cluster",
                    "responseKind": {"group": review.0, "version": review.1, "kind": review.3}, "verbs": ["create"]})
            });
            let all: Vec<Value> = kinds.chain(reviews).collect();
            let name = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            json!({"metadata": name, "versions": [{"version": version, "freshness": "Current", "resources": all}]})
        })
        .collect();
    let value = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let mut response = json_answer(StatusCode::OK, &value);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(AGGREGATED));
    response
}
