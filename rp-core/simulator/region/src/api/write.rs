//! Writes of objects: only in installed clusters, where install steps write configuration. Others are read-only.

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Request, Response, StatusCode};
use rp_simulator::body::Body;
use rp_simulator::installed::{Key, merge};
use rp_simulator::objects::Kind;
use serde_json::{Value, json};

use super::path::Resource;
use super::status::Failure;
use super::{Call, json_answer};

/// The longest object.
const LONGEST: usize = 1024 * 1024;

/// Creates, replaces, patches or deletes one object.
pub(super) async fn answer(
    call: &Call<'_>,
    request: Request<Incoming>,
    verb: &str,
    kind: &'static Kind,
    at: &Resource,
) -> Result<Response<Body>, Failure> {
    let installed = call.view.cluster.installed.as_ref().ok_or_else(Failure::read_only)?;
    let patch = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    let body = Limited::new(request.into_body(), LONGEST).collect().await;
    let bytes = body.map_err(|_| Failure::too_large())?.to_bytes();
    let given = || serde_json::from_slice::<Value>(&bytes).map_err(|_| Failure::bad("the body is not JSON"));
    let namespace = at.namespace.as_deref();
    let (name, object, status) = match verb {
        "create" => {
            let object = given()?;
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if name.is_empty() || name.len() > 253 {
                return Err(Failure::bad("metadata.name is required"));
            }
            if call.find(kind, namespace, &name).is_ok() {
                return Err(Failure::exists(kind, &name));
            }
            (name, Some(object), StatusCode::CREATED)
        }
        "update" | "patch" | "delete" => {
            let name = at.name.clone().unwrap_or_default();
            let before = call.find(kind, namespace, &name);
            let object = match verb {
                "update" => {
                    before?;
                    Some(given()?)
                }
                "patch" => Some(patched(before, patch.as_deref().unwrap_or_default(), &given()?, &name)?),
                _ => before.map(|_| None)?,
            };
            (name, object, StatusCode::OK)
        }
        _ => return Err(Failure::read_only()),
    };
    let object = object.map(|object| whole(call, kind, namespace, &name, object));
    let key: Key = (kind.full(), namespace.unwrap_or_default().to_owned(), name);
    let gone = object.is_none();
    let kept = installed.kept.put(key, object, call.view.now.seconds()).ok_or_else(Failure::too_large)?;
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
    Ok(json_answer(status, if gone { &done } else { &kept }))
}

/// Merge patches and server-side apply, whose fields are put over the object's.
fn patched(before: Result<Value, Failure>, kind: &str, patch: &Value, name: &str) -> Result<Value, Failure> {
    let applies = kind.starts_with("application/apply-patch");
    if !applies
        && !kind.starts_with("application/merge-patch")
        && !kind.starts_with("application/strategic-merge")
    {
        return Err(Failure::bad("only merge patches and server-side apply are simulated"));
    }
    let mut object = match before {
        Ok(object) => object,
        Err(_) if applies => json!({"metadata": {"name": name}}),
        Err(missing) => return Err(missing),
    };
    merge(&mut object, patch);
    Ok(object)
}

/// With what the API server itself puts into it.
fn whole(call: &Call<'_>, kind: &Kind, namespace: Option<&str>, name: &str, mut object: Value) -> Value {
    object["kind"] = json!(kind.kind);
    object["apiVersion"] = json!(kind.api_version());
    object["metadata"]["name"] = json!(name);
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    let part = format!("{}/{}/{name}", kind.plural, namespace.unwrap_or_default());
    let metadata = &mut object["metadata"];
    if metadata["uid"].is_null() {
        metadata["uid"] = json!(call.view.cluster.dice(&part).uuid());
    }
    if metadata["creationTimestamp"].is_null() {
        metadata["creationTimestamp"] = json!(rp_base::Timestamp::from_seconds(call.view.now.seconds()));
    }
    object
}
