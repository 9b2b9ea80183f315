//! What the API server itself puts into an object, and what it refuses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Timestamp;
use rp_simulator::objects::{Kind, View};
use rp_simulator::written::{Write, WrittenObjects};
use serde_json::{Map, Value, json};

use super::super::Call;
use super::super::openapi;
use super::super::status::Failure;

/// Members of the metadata that only the API server writes.
const KEPT: [&str; 4] = ["uid", "creationTimestamp", "deletionTimestamp", "generation"];

/// Where the service deploys its operator.
const OPERATOR_NAMESPACE: &str = "openshift-azure-operator";

/// Refuses what is no object, or has metadata that are none.
pub(super) fn sound(object: &Value) -> Result<(), Failure> {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let is = |value: &Value| value.is_object() || value.is_null();
    if object.is_object() && is(metadata) && is(&metadata["labels"]) && is(&metadata["annotations"]) {
        return Ok(());
    }
    Err(Failure::bad(
        "json: cannot unmarshal the object: it, its metadata, labels and annotations are objects",
    ))
}

/// Refuses an object whose name or namespace is not that of the path.
pub(super) fn addressed(
    kind: &Kind,
    namespace: Option<&str>,
    name: Option<&str>,
    object: &Value,
) -> Result<(), Failure> {
    let text = |member: &str| object["metadata"][member].as_str().filter(|text| !text.is_empty());
    if kind.namespaced && text("namespace").is_some_and(|given| Some(given) != namespace) {
        return Err(Failure::bad(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    match (text("name"), name) {
        (Some(given), Some(name)) if given != name => {
            let given = rp_base::text::clean(given, 253);
            let name = rp_base::text::clean(name, 253);
            Err(Failure::bad(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )))
        }
        _ => Ok(()),
    }
}

/// Refuses a name that an object of the kind may not have.
pub(super) fn check_name(kind: &Kind, name: &str) -> Result<(), Failure> {
    if name.is_empty() {
        let why = "metadata.name: Required value: name or generateName is required";
        return Err(Failure::invalid(kind.kind, name, why));
    }
    let lower = |part: &str| {
        let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && edge(part.as_bytes().first())
            && edge(part.as_bytes().last())
    };
    let good = match kind.group {
        // Names of roles only have to stand in a path.
        "rbac.authorization.k8s.io" => !matches!(name, "." | "..") && !name.contains(['/', '%']),
        _ => name.split('.').all(lower),
    };
    if good && name.len() <= 253 {
        return Ok(());
    }
    let name = rp_base::text::clean(name, 253);
    let why = format!(
        "metadata.name: Invalid value: \"{name}\": a lowercase RFC 1123 subdomain must consist of lower case \
         alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
    );
    Err(Failure::invalid(kind.kind, &name, &why))
}

/// Completes a new object.
pub(super) fn created(call: &Call<'_>, kind: &Kind, namespace: Option<&str>, name: &str, object: &mut Value) {
    let cluster = call.view.cluster;
    let now = call.api.clock.now();
    let part = format!("{}/{}/{name}/{}", kind.full(), namespace.unwrap_or_default(), cluster.version(now));
    if openapi::is_built_in(kind)
        && let Some(members) = object.as_object_mut()
    {
        members.remove("status");
    }
    identify(kind, object);
    let metadata = &mut object["metadata"];
    metadata["name"] = json!(name);
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    metadata["uid"] = json!(cluster.dice(&part).uuid());
    metadata["creationTimestamp"] = json!(Timestamp::from_seconds(now.seconds()));
    if let Some(metadata) = metadata.as_object_mut() {
        for member in ["deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "managedFields"]
        {
            metadata.remove(member);
        }
    }
    if object["spec"].is_object() {
        object["metadata"]["generation"] = json!(1);
    }
    defaults(&call.view, kind, name, object);
    roll_out(kind, object);
}

/// Completes an object that stands for `before`: what its writer may not change is as it was.
pub(super) fn replaced(kind: &Kind, subresource: Option<&str>, before: &Value, object: &mut Value) {
    if subresource == Some("status") {
        let status = object["status"].take();
        *object = before.clone();
        object["status"] = status;
        return;
    }
    if let Some(members) = object.as_object_mut() {
        match before.get("status") {
            Some(status) => members.insert("status".to_owned(), status.clone()),
            None => members.remove("status"),
        };
    }
    identify(kind, object);
    for member in KEPT.into_iter().chain(["name", "namespace", "resourceVersion"]) {
        let value = before["metadata"][member].clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            match value {
                Value::Null => metadata.remove(member),
                value => metadata.insert(member.to_owned(), value),
            };
        }
    }
    secret(kind, object);
    if let Some(generation) = before["metadata"]["generation"].as_u64()
        && before["spec"] != object["spec"]
    {
        object["metadata"]["generation"] = json!(generation + 1);
    }
    roll_out(kind, object);
}

/// The deployments of the service's operator are the only ones of which something comes: their pods are there at once.
fn roll_out(kind: &Kind, object: &mut Value) {
    if kind.kind != "Deployment" || object["metadata"]["namespace"] != OPERATOR_NAMESPACE {
        return;
    }
    let generation = object["metadata"]["generation"].clone();
    let replicas = object["spec"]["replicas"].as_u64().unwrap_or(1);
    let status = &mut object["status"];
    if status["replicas"].is_null() {
        *status = json!({"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
            "updatedReplicas": replicas});
    }
    status["observedGeneration"] = generation;
}

/// Marks an object that waits for its finalizers.
pub(super) fn deleting(call: &Call<'_>, object: &mut Value) {
    let metadata = &mut object["metadata"];
    if metadata["deletionTimestamp"].is_null() {
        metadata["deletionTimestamp"] = json!(Timestamp::from_seconds(call.api.clock.now().seconds()));
        metadata["deletionGracePeriodSeconds"] = json!(0);
    }
}

/// What every object says of itself, and that it is simulated.
fn identify(kind: &Kind, object: &mut Value) {
    object["kind"] = json!(kind.kind);
    object["apiVersion"] = json!(kind.api_version());
    for member in ["metadata", "labels"] {
        let at =
            if member == "metadata" { &mut object["metadata"] } else { &mut object["metadata"]["labels"] };
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
    }
    object["metadata"]["labels"]["aro.openshift.io/simulated"] = json!("true");
}

/// Defaults that clients count on.
fn defaults(view: &View<'_>, kind: &Kind, name: &str, object: &mut Value) {
    match kind.kind {
        "Namespace" => {
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = json!(name);
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        "Secret" => secret(kind, object),
        "Pod" => object["status"] = json!({"phase": "Pending", "qosClass": "BestEffort"}),
        "Service" => {
            let mut dice = view.cluster.dice(&format!("services/{name}"));
            let ip = format!("172.30.{}.{}", dice.below(250), 2 + dice.below(250));
            let spec = &mut object["spec"];
            if spec["type"].is_null() {
                spec["type"] = json!("ClusterIP");
            }
            if spec["clusterIP"].is_null() && spec["type"] != "ExternalName" {
                spec["clusterIP"] = json!(ip);
            }
            object["status"] = json!({"loadBalancer": {}});
        }
        "CustomResourceDefinition" => {
            let since = object["metadata"]["creationTimestamp"].clone();
            let holds = |kind: &str| {
                json!({"type": kind, "status": "True", "reason": "Simulated", "message": "",
                    "lastTransitionTime": since})
            };
            object["status"] = json!({"conditions": [holds("NamesAccepted"), holds("Established")]});
        }
        "Deployment" | "StatefulSet" => {
            if object["spec"]["replicas"].is_null() {
                object["spec"]["replicas"] = json!(1);
            }
            object["status"] = json!({});
        }
        _ => {}
    }
}

/// A secret has a type, and its texts are data.
fn secret(kind: &Kind, object: &mut Value) {
    if kind.kind != "Secret" {
        return;
    }
    if object["type"].is_null() {
        object["type"] = json!("Opaque");
    }
    let texts = object.as_object_mut().and_then(|members| members.remove("stringData"));
    for (key, text) in texts.as_ref().and_then(Value::as_object).into_iter().flatten() {
        object["data"][key.as_str()] = json!(STANDARD.encode(text.as_str().unwrap_or_default()));
    }
}

/// What every namespace has from its beginning. Where there is no room the namespace is without it.
pub(super) fn namespace_contents(call: &Call<'_>, written: &WrittenObjects, namespace: &str) {
    let contents = [
        ("configmaps", "kube-root-ca.crt", json!({"data": {"ca.crt": "simulated: no certificate here\n"}})),
        ("serviceaccounts", "default", json!({})),
    ];
    for (plural, name, mut object) in contents {
        let Some(kind) = rp_simulator::objects::find("", "v1", plural) else { continue };
        created(call, kind, Some(namespace), name, &mut object);
        let key = (kind.full(), namespace.to_owned(), name.to_owned());
        let write = Write { key, before: None, after: Some(object), generated: false };
        if written.put(write, || call.api.clock.now()).is_err() {
            return;
        }
    }
}
