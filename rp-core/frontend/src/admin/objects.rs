//! Objects of a cluster, read live (`contract/frontend.md` §11.1).

use std::time::Duration;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use rp_access::credentials;
use rp_actions::Resource;
use rp_api::CloudError;
use serde::Deserialize;

use super::kubernetes;
use super::object_writes::flag;
use super::{failed, rules};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document;
use crate::fault::{Fault, internal};
use crate::path::ClusterPath;
use crate::response::HttpResponse;

/// Items of a list.
const MOST_ITEMS: usize = 1000;
/// Bytes of an answer.
const MOST_BYTES: usize = 32 << 20;
/// Time limit for all requests to the cluster.
const WITHIN: Duration = Duration::from_secs(60);

/// What is asked for.
struct ObjectQuery<'a> {
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    unrestricted: bool,
}

pub(super) async fn get(
    parts: &FrontendParts,
    call: &Call,
    path: &ClusterPath,
) -> Result<HttpResponse, Fault> {
    document::find(&parts.store, &path.key()).await?.ok_or_else(|| path.missing())?;
    let asked = ObjectQuery::from_call(call)?;
    if asked.unrestricted {
        // A read beyond the platform's namespaces is logged, too.
        tracing::info!(
            component = "admin",
            resource_id = path.key(),
            kind = &*rp_base::text::clean(asked.kind, 256),
            request_id = call.correlation.request,
            "unrestricted read of objects"
        );
    }
    let read = tokio::time::timeout(WITHIN, read(parts, path, &asked)).await;
    let late = || failed(format!("the cluster did not answer within {} s", WITHIN.as_secs()));
    let mut answer = Response::new(Body::from(read.map_err(|_| late())??));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(answer)
}

async fn read(
    parts: &FrontendParts,
    path: &ClusterPath,
    asked: &ObjectQuery<'_>,
) -> Result<Vec<u8>, CloudError> {
    if asked.kind.is_empty() {
        return Err(CloudError::invalid("", "The provided resource is invalid."));
    }
    let reach = parts.admin.reach.as_ref();
    let api = reach.ok_or_else(|| failed("clusters cannot be reached from here"))?.api(path).await?;
    let resource = kubernetes::resolve(&api, asked.kind).await?;
    rules::read(&resource, asked.namespace, asked.name, asked.unrestricted)?;
    let place = resource.path(asked.namespace, asked.name);
    let one = !asked.name.is_empty();
    let place = if one { place } else { format!("{place}?limit={MOST_ITEMS}") };
    let told = api.get(&place, MOST_BYTES).await?;
    let kind = asked.kind.to_owned();
    // Many megabytes may be read and searched: use a blocking thread.
    let checked = tokio::task::spawn_blocking(move || checked(told, &resource, one, &kind)).await;
    checked.map_err(|_| internal())?
}

/// An answer that may be passed on: a list that is complete, and no credentials.
fn checked(told: Vec<u8>, resource: &Resource, one: bool, kind: &str) -> Result<Vec<u8>, CloudError> {
    if !one && has_more(&told)? {
        return Err(CloudError::new(500, "InternalServerError", kind, "Too many items returned."));
    }
    // The tools read, so what holds credentials is withheld (`contract/frontend.md`, "Do better" 19).
    let searched = credentials::may_be_held_by(&resource.group, &resource.name);
    Ok(if searched { credentials::withhold(&told) } else { told })
}

impl<'a> ObjectQuery<'a> {
    fn from_call(call: &'a Call) -> Result<Self, CloudError> {
        let text = |name| call.parameter(name).unwrap_or_default();
        let unrestricted = flag(text("unrestricted"), "unrestricted")?;
        Ok(Self { kind: text("kind"), namespace: text("namespace"), name: text("name"), unrestricted })
    }
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default, rename = "continue")]
    more: Option<String>,
}

/// Whether the list was truncated.
fn has_more(list: &[u8]) -> Result<bool, CloudError> {
    let list: List =
        serde_json::from_slice(list).map_err(|_| failed("the API server's answer cannot be read"))?;
    Ok(list.metadata.more.is_some_and(|more| !more.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn resource(group: &str, name: &str) -> Resource {
        Resource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            name: name.to_owned(),
            kind: String::new(),
        }
    }

    #[test]
    fn config_maps_pass_without_credentials_and_other_objects_as_they_are() {
        let login =
            json!({ "auths": { "registry.example": { "username": "user", "password": "hush-hush" } } });
        let list = json!({ "metadata": {}, "items": [{ "data": { "login": login.to_string(), "plain": "as it is" } }] });
        let told = list.to_string().into_bytes();
        let passed = checked(told.clone(), &resource("", "configmaps"), false, "ConfigMap").unwrap();
        let passed: Value = serde_json::from_slice(&passed).unwrap();
        let data = &passed["items"][0]["data"];
        assert!(data["plain"] == "as it is" && !passed.to_string().contains("hush-hush"), "{passed}");
        assert!(data["login"].as_str().is_some_and(|text| text.starts_with("[withheld")), "{passed}");
        assert_eq!(checked(told.clone(), &resource("", "services"), false, "Service").unwrap(), told);
    }

    #[test]
    fn a_truncated_list_is_refused() {
        let list = json!({ "metadata": { "continue": "more" }, "items": [] }).to_string().into_bytes();
        let refused = checked(list.clone(), &resource("", "configmaps"), false, "ConfigMap").unwrap_err();
        assert_eq!((refused.status, &*refused.body.target), (500, "ConfigMap"));
        assert!(checked(list, &resource("", "configmaps"), true, "ConfigMap").is_ok());
        assert!(checked(b"no JSON".to_vec(), &resource("", "configmaps"), false, "ConfigMap").is_err());
    }
}
