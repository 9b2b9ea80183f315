//! AppLens: diagnoses of clusters; requests are described by headers (`contract/frontend.md` §8.3).

use std::collections::BTreeMap;

use hyper::header::HeaderMap;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::id::Id;
use super::response::{ArmResponse, failure};
use super::routes;
use super::token::IssuedToken;
use super::world::World;

/// The path of its endpoint.
pub const DIAGNOSES: &str = "/applens/api/invoke";
/// The directory whose tokens it accepts, independent of the cluster's directory.
pub const DIAGNOSIS_TENANT: &str = "00000000-0000-4000-8000-0000000000a9";

const CLUSTER: &str = "microsoft.redhatopenshift/openshiftclusters";
/// Id, name and what it found of each detector that every cluster has.
const DETECTORS: [(&str, &str, &str); 3] = [
    ("ClusterCreation", "Failures of creation", "No operation of this cluster has failed."),
    ("ClusterNetwork", "Network and outbound access", "Subnets and security groups are as they have to be."),
    ("ClusterNodes", "Health of nodes", "All machines of this cluster are running."),
];

/// Responses set by tests, which replace generated ones; by lower-case path query.
#[derive(Debug, Default)]
pub(super) struct ScriptedDiagnoses(BTreeMap<String, Value>);

impl ScriptedDiagnoses {
    pub(super) fn set_response(&mut self, question: &str, told: Value) {
        self.0.insert(question.to_ascii_lowercase(), told);
    }
}

/// `{cluster}/detectors[/{id}]`; empty when the header is missing.
pub(super) fn question(headers: &HeaderMap) -> &str {
    text(headers, "x-ms-path-query")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Answers a request.
pub(super) fn answer(
    world: &World,
    told: &ScriptedDiagnoses,
    method: &Method,
    headers: &HeaderMap,
    issued: &IssuedToken,
) -> ArmResponse {
    if *method != Method::POST {
        return routes::not_allowed();
    }
    if issued.tenant.as_deref() != Some(DIAGNOSIS_TENANT) {
        let message = "The access token is of another directory.";
        return failure(StatusCode::UNAUTHORIZED, "InvalidAuthenticationTokenTenant", message);
    }
    if let Some(wrong) = wrong_header(headers) {
        return failure(StatusCode::BAD_REQUEST, "InvalidHeader", &format!("The header {wrong} is invalid."));
    }
    let missing = || failure(StatusCode::NOT_FOUND, "NotFound", "There is no such detector or resource.");
    let asked = question(headers).to_ascii_lowercase();
    if let Some(told) = told.0.get(&asked) {
        return ArmResponse::ok(told.clone());
    }
    let Some((cluster, detector)) = asked.split_once("/detectors") else { return missing() };
    let known = Id::parse(cluster).filter(|id| id.kind == CLUSTER).is_some_and(|id| {
        let subscription = id.key.split('/').nth(2).unwrap_or_default();
        world.tree.tenant(subscription).is_some()
    });
    let found = match detector.strip_prefix('/') {
        _ if !known => None,
        None => detector.is_empty().then(|| DETECTORS.map(|one| described(one, false)).into()),
        Some(id) => {
            let one = DETECTORS.into_iter().find(|(known, ..)| known.eq_ignore_ascii_case(id));
            one.map(|one| described(one, true))
        }
    };
    found.map_or_else(missing, ArmResponse::ok)
}

/// The first required header that is missing or invalid.
fn wrong_header(headers: &HeaderMap) -> Option<&'static str> {
    let uuid = |text: &str| text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    // RFC 9110 §5.6.7: always as long as that.
    let date = |text: &str| text.len() == 29 && text.ends_with(" GMT");
    let of = |name| text(headers, name);
    let good = [
        ("x-ms-path-query", of("x-ms-path-query").starts_with('/')),
        ("x-ms-verb", of("x-ms-verb") == "POST"),
        ("x-ms-date", date(of("x-ms-date"))),
        ("x-ms-request-id", uuid(of("x-ms-request-id"))),
        ("x-ms-client-request-id", uuid(of("x-ms-client-request-id"))),
    ];
    good.into_iter().find(|(_, good)| !good).map(|(name, _)| name)
}

/// A detector in the service's format; `ran`: with its findings.
fn described((id, name, found): (&str, &str, &str), ran: bool) -> Value {
    let metadata = json!({"id": id, "name": name, "type": "Detector", "category": "Cluster", "author": "simulated",
        "description": name, "supportTopicList": []});
    let column = |name: &str| json!({"columnName": name, "dataType": "String", "columnType": null});
    let table = json!({"tableName": "Insights", "columns": [column("Status"), column("Message")],
        "rows": [["Success", found]]});
    let data = json!([{"table": table, "renderingProperties": {"type": 7, "title": name}}]);
    json!({"metadata": metadata, "status": {"message": null, "statusId": 3},
        "dataset": if ran { data } else { json!([]) }})
}
