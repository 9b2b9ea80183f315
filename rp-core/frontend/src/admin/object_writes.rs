//! Objects of a cluster, changed and deleted (`contract/frontend.md` §11.1, §11.2).

use std::time::Duration;

use http::{Method, StatusCode};
use rp_actions::Resource;
use rp_api::CloudError;
use rp_base::text::clean;
use serde_json::{Value, json};

use super::context::{ActionContext, within};
use super::kubernetes;
use super::rules;
use crate::fault::{Fault, internal};
use crate::response::{Change, HttpResponse, empty};

/// Time limit for all requests to the cluster.
const WITHIN: Duration = Duration::from_secs(60);

/// Updates the object in the body, or creates it.
pub(super) async fn put(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let object = parse(&of.call.body)?;
    let wanted = Named::of(&object)?;
    within(WITHIN, async {
        let resource = kubernetes::resolve(&of.api().await?, &wanted.kind_and_group()).await?;
        if resource.api_version() != wanted.api_version {
            let message = "The server has no resource of the object's apiVersion and kind.";
            return Err(CloudError::invalid("kind", message).into());
        }
        rules::write(&resource, &wanted.namespace, &wanted.name)?;
        let _signal = of.signal();
        let change = write(&of, &resource, &wanted, object).await?;
        let mut answer = empty(StatusCode::OK);
        answer.extensions_mut().insert(change);
        Ok(answer)
    })
    .await
}

/// Deletes an object.
pub(super) async fn delete(of: ActionContext<'_>) -> Result<HttpResponse, Fault> {
    of.cluster().await?;
    let (kind, namespace, name) = (of.text("kind"), of.text("namespace"), of.text("name"));
    let force = flag(of.text("force"), "force")?;
    if kind.is_empty() {
        return Err(CloudError::invalid("", "The provided resource is invalid.").into());
    }
    within(WITHIN, async {
        let resource = kubernetes::resolve(&of.api().await?, kind).await?;
        rules::write(&resource, namespace, name)?;
        if force && !(resource.group.is_empty() && resource.name == "pods") {
            let message = format!("Force deleting groupKind '{}' is forbidden.", resource.kind_and_group());
            return Err(CloudError::new(403, "Forbidden", "", message).into());
        }
        let _signal = of.signal();
        let api = of.admin_api().await?;
        let place = resource.path(namespace, name);
        let before = api.call(Method::GET, &place, None).await?;
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": {"uid": before["metadata"]["uid"]}});
        let options = if force { with_no_grace(options) } else { options };
        api.call(Method::DELETE, &place, Some(&options)).await?;
        let mut answer = empty(StatusCode::OK);
        answer.extensions_mut().insert(Change::new(&state(&before), "deleted"));
        Ok(answer)
    })
    .await
}

fn with_no_grace(mut options: Value) -> Value {
    options["gracePeriodSeconds"] = json!(0);
    options
}

/// The object in a body (`contract/frontend.md` §11.1).
fn parse(body: &[u8]) -> Result<Value, CloudError> {
    let object = serde_json::from_slice::<Value>(body).ok().filter(Value::is_object);
    object.ok_or_else(|| {
        let message = "The request content was invalid and could not be deserialized.";
        CloudError::bad("InvalidRequestContent", "", message)
    })
}

/// How an object names itself.
struct Named {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Named {
    fn of(object: &Value) -> Result<Self, CloudError> {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let named = Self {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        };
        if named.api_version.is_empty() {
            let message = "The request object must include 'apiVersion'.";
            return Err(CloudError::bad("InvalidRequestContent", "", message));
        }
        if named.kind.is_empty() {
            return Err(CloudError::invalid("", "The provided resource is invalid."));
        }
        Ok(named)
    }

    /// `Kind.group`, or the kind of the core group.
    fn kind_and_group(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.kind),
            None => self.kind.clone(),
        }
    }
}

/// Replaces the object if there is one, else creates it. Without a `resourceVersion` of the caller the replaced object is
/// the one that was read here, so that a change in between is not lost.
async fn write(
    of: &ActionContext<'_>,
    resource: &Resource,
    wanted: &Named,
    mut object: Value,
) -> Result<Change, CloudError> {
    let api = of.admin_api().await?;
    let place = resource.path(&wanted.namespace, &wanted.name);
    let before = match api.call(Method::GET, &place, None).await {
        Ok(before) => before,
        Err(error) if error.status == 404 => {
            let after = api.call(Method::POST, &resource.path(&wanted.namespace, ""), Some(&object)).await?;
            return Ok(Change::new("absent", &state(&after)));
        }
        Err(error) => return Err(error),
    };
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).ok_or_else(internal)?;
    metadata.entry("resourceVersion").or_insert_with(|| before["metadata"]["resourceVersion"].clone());
    let after = api.call(Method::PUT, &place, Some(&object)).await?;
    Ok(Change::new(&state(&before), &state(&after)))
}

/// The state of an object as the audit log keeps it: its version, and a digest of what it was asked to be. Its content is
/// not kept, for it may hold credentials.
fn state(object: &Value) -> String {
    let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let spec = [&object["spec"], &object["data"]].map(Value::to_string).concat();
    format!("version {} sha256 {}", clean(version, 64), rp_base::sha256(spec.as_bytes()))
}

/// A switch in a query: absent is `false`.
///
/// # Errors
/// 400: it is neither.
pub(super) fn flag(text: &str, name: &str) -> Result<bool, CloudError> {
    match text {
        "" | "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        other => Err(CloudError::invalid(name, format!("The provided {name} '{other}' is invalid."))),
    }
}
