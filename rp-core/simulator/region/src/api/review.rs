//! Reviews: `kubectl auth can-i` and `auth whoami`.

mod protobuf;

use hyper::body::Incoming;
use hyper::{Method, Response, StatusCode};
use rp_simulator::body::{self, Body};
use serde_json::{Map, Value, json};

use super::path::Resource;
use super::status::Failure;
use super::{Call, json_answer};

/// Largest review.
const MOST: usize = 64 * 1024;

/// Which review a request is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Review {
    Access,
    Rules,
    Whoami,
}

/// The review that a request asks for.
pub(super) fn answer(_call: &Call<'_>, method: &Method, at: &Resource) -> Option<Review> {
    if method != Method::POST || at.name.is_some() {
        return None;
    }
    match (at.group.as_str(), at.plural.as_str()) {
        ("authorization.k8s.io", "selfsubjectaccessreviews") => Some(Review::Access),
        ("authorization.k8s.io", "selfsubjectrulesreviews") => Some(Review::Rules),
        ("authentication.k8s.io", "selfsubjectreviews") => Some(Review::Whoami),
        _ => None,
    }
}

impl Review {
    /// Answers it.
    pub(super) async fn review(self, call: &Call<'_>, body: Incoming) -> Result<Response<Body>, Failure> {
        let bytes = body::read(body, MOST).await.ok_or_else(Failure::too_large)?;
        let asked = protobuf::read(&bytes).or_else(|| serde_json::from_slice(&bytes).ok());
        let asked: Value = asked.ok_or_else(|| Failure::bad("the body is no review"))?;
        let mut answer = json!({"kind": asked["kind"], "apiVersion": asked["apiVersion"],
            "metadata": {"creationTimestamp": null}, "spec": asked["spec"]});
        answer["status"] = match self {
            Self::Access => access(call, &asked["spec"]),
            Self::Rules => rules(call),
            Self::Whoami => {
                let extra: Map<String, Value> =
                    call.identity.extra.iter().map(|(key, values)| (key.clone(), json!(values))).collect();
                json!({"userInfo": {"username": call.identity.user, "groups": call.identity.groups, "extra": extra}})
            }
        };
        Ok(json_answer(StatusCode::CREATED, &answer))
    }
}

fn access(call: &Call<'_>, spec: &Value) -> Value {
    let attributes = &spec["resourceAttributes"];
    let allowed = if attributes.is_object() {
        let text = |name: &str| attributes[name].as_str().unwrap_or_default();
        let resource = match text("subresource") {
            "" => text("resource").to_owned(),
            sub => format!("{}/{sub}", text("resource")),
        };
        let name = Some(text("name")).filter(|name| !name.is_empty());
        call.identity.may(text("verb"), text("group"), &resource, name)
    } else {
        call.identity.is_master() || spec["nonResourceAttributes"]["verb"] == "get"
    };
    json!({"allowed": allowed, "reason": if allowed { "simulated: allowed by the identity" } else { "" }})
}

fn rules(call: &Call<'_>) -> Value {
    let reviews = json!({"verbs": ["create"], "apiGroups": ["authorization.k8s.io", "authentication.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"]});
    let (resources, paths) = if call.identity.is_master() {
        (
            json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]),
            json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]),
        )
    } else {
        let mut kinds: Vec<&str> = rp_simulator::objects::KINDS.iter().map(|kind| kind.plural).collect();
        kinds.retain(|plural| *plural != "secrets");
        kinds.push("pods/log");
        (
            json!([{"verbs": ["get", "list", "watch"], "apiGroups": ["*"], "resources": kinds}, reviews]),
            json!([{"verbs": ["get"], "nonResourceURLs": ["*"]}]),
        )
    };
    json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false})
}
