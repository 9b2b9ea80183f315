//! Bodies of requests that write releases, and of answers that hold one.
//!
//! What is sent on is written anew from what was checked: a member that stands twice, or is read otherwise by the next
//! reader, cannot mean something else there. That is done for JSON; other encodings are refused.

use bytes::Bytes;
use http::header::{self, HeaderMap};
use serde_json::{Map, Value, json};

use super::super::error::ProxyError;
use super::{TYPE, is_release_name};

const JSON: &str = "application/json";

/// A Secret that is created or replaced: the body for the cluster, and the Secret's name. `named`: the name in the path,
/// which the body repeats.
///
/// # Errors
/// It is not JSON, not a Secret of the type of releases, or has another name.
pub(super) fn secret(
    headers: &HeaderMap,
    body: &[u8],
    named: Option<&str>,
) -> Result<(Bytes, String), ProxyError> {
    if !matches!(media_type(headers)?.as_str(), "" | JSON) {
        return Err(ProxyError::ReleaseEncoding);
    }
    let secret = object(body)?;
    check_kind(&secret)?;
    if secret.get("type").and_then(Value::as_str) != Some(TYPE) {
        return Err(ProxyError::NotRelease("its type is not helm.sh/release.v1"));
    }
    let name = secret.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    if !is_release_name(&name) {
        return Err(ProxyError::NotRelease("its name does not begin with sh.helm.release.v1."));
    }
    if named.is_some_and(|named| named != name) {
        return Err(ProxyError::NotRelease("its name is another one than in its address"));
    }
    Ok((written(&Value::Object(secret)), name))
}

/// A patch, with a demand for the type added: an API server applies both or none.
///
/// # Errors
/// It is in another form than JSON Patch, merge patch or strategic merge patch, or touches type or kind.
pub(super) fn patch(headers: &HeaderMap, body: &[u8]) -> Result<Bytes, ProxyError> {
    let patch = match media_type(headers)?.as_str() {
        "application/json-patch+json" => json_patch(body)?,
        "application/merge-patch+json" => merge_patch(body)?,
        "application/strategic-merge-patch+json" => {
            let patch = merge_patch(body)?;
            // `$patch` and the like replace or delete instead of merging.
            let directs = patch.as_object().is_some_and(|patch| patch.keys().any(|key| key.starts_with('$')));
            if directs {
                return Err(ProxyError::NotRelease("its patch has directives for the whole Secret"));
            }
            patch
        }
        _ => return Err(ProxyError::ReleaseEncoding),
    };
    Ok(written(&patch))
}

/// The type is named: if the Secret has another, the API server refuses the patch, for a type does not change.
fn merge_patch(body: &[u8]) -> Result<Value, ProxyError> {
    let mut patch = object(body)?;
    check_kind(&patch)?;
    if patch.get("type").is_some_and(|kind| kind.as_str() != Some(TYPE)) {
        return Err(ProxyError::NotRelease("its patch changes the type"));
    }
    patch.insert("type".to_owned(), TYPE.into());
    Ok(Value::Object(patch))
}

/// The type is tested before anything is done (RFC 6902 §4.6 and §5).
fn json_patch(body: &[u8]) -> Result<Value, ProxyError> {
    let Ok(Value::Array(mut steps)) = serde_json::from_slice::<Value>(body) else {
        return Err(ProxyError::BadRequest("its body is no JSON patch"));
    };
    let touches = |step: &Value| {
        let path = step.get("path").and_then(Value::as_str);
        path.is_none_or(|path| path.is_empty() || path == "/type" || path.starts_with("/type/"))
    };
    if steps.iter().any(touches) {
        return Err(ProxyError::NotRelease("its patch changes the type, or the whole Secret"));
    }
    steps.insert(0, json!({ "op": "test", "path": "/type", "value": TYPE }));
    Ok(Value::Array(steps))
}

/// Options of a deletion that holds for the Secret with that uid only.
///
/// # Errors
/// They are not JSON, or are for another Secret.
pub(super) fn delete_options(headers: &HeaderMap, body: &[u8], uid: &str) -> Result<Bytes, ProxyError> {
    // Read also where there is no body: the one that is sent is not packed, whatever a header says.
    let kind = media_type(headers)?;
    let mut options = if body.is_empty() {
        Map::new()
    } else if matches!(kind.as_str(), "" | JSON) {
        object(body)?
    } else {
        return Err(ProxyError::ReleaseEncoding);
    };
    options.insert("kind".to_owned(), "DeleteOptions".into());
    options.insert("apiVersion".to_owned(), "v1".into());
    let conditions = options.entry("preconditions").or_insert(Value::Null);
    if conditions.is_null() {
        *conditions = json!({});
    }
    let Some(conditions) = conditions.as_object_mut() else {
        return Err(ProxyError::BadRequest("its preconditions are no object"));
    };
    if conditions.get("uid").is_some_and(|asked| !asked.is_null() && asked.as_str() != Some(uid)) {
        return Err(ProxyError::NotRelease("its precondition names another Secret"));
    }
    conditions.insert("uid".to_owned(), uid.into());
    Ok(written(&Value::Object(options)))
}

/// The uid of a release as the cluster answered it.
///
/// # Errors
/// The answer is not JSON that can be read, or it is a Secret of another type.
pub(super) fn stored_uid(headers: &HeaderMap, body: &[u8]) -> Result<String, ProxyError> {
    if headers.contains_key(header::CONTENT_ENCODING) || media_type_of(headers) != JSON {
        return Err(ProxyError::UnreadRelease("it is not in JSON"));
    }
    let secret: Value =
        serde_json::from_slice(body).map_err(|_| ProxyError::UnreadRelease("it is not in JSON"))?;
    if secret.get("kind").and_then(Value::as_str) != Some("Secret") {
        return Err(ProxyError::UnreadRelease("it is not a Secret"));
    }
    if secret.get("type").and_then(Value::as_str) != Some(TYPE) {
        return Err(ProxyError::NotRelease("the type of that Secret is not helm.sh/release.v1"));
    }
    let uid = secret.pointer("/metadata/uid").and_then(Value::as_str);
    uid.map(str::to_owned).ok_or(ProxyError::UnreadRelease("it has no uid"))
}

/// Kind and version may be left out; what the path says then holds.
fn check_kind(secret: &Map<String, Value>) -> Result<(), ProxyError> {
    let is = |name: &str, wanted: &str| secret.get(name).is_none_or(|found| found.as_str() == Some(wanted));
    if is("kind", "Secret") && is("apiVersion", "v1") {
        Ok(())
    } else {
        Err(ProxyError::NotRelease("its body is not a Secret of version v1"))
    }
}

fn object(body: &[u8]) -> Result<Map<String, Value>, ProxyError> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) | Err(_) => Err(ProxyError::BadRequest("its body is no JSON object")),
    }
}

fn written(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// The media type of a client's body, without parameters and in lower case.
fn media_type(headers: &HeaderMap) -> Result<String, ProxyError> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(ProxyError::ReleaseEncoding);
    }
    Ok(media_type_of(headers))
}

fn media_type_of(headers: &HeaderMap) -> String {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const NAME: &str = "sh.helm.release.v1.web.v1";

    fn kind(kind: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))])
    }

    fn release() -> Value {
        json!({ "kind": "Secret", "apiVersion": "v1", "type": TYPE, "metadata": { "name": NAME, "uid": "u-1" },
            "data": { "release": "SDRzSUFBQUE=" } })
    }

    #[test]
    fn a_release_is_written_and_nothing_else_is() {
        let sent =
            |body: &str, named| secret(&kind("application/json; charset=utf-8"), body.as_bytes(), named);
        let (body, name) = sent(&release().to_string(), Some(NAME)).unwrap();
        assert_eq!((serde_json::from_slice::<Value>(&body).unwrap(), name.as_str()), (release(), NAME));
        assert!(secret(&HeaderMap::new(), release().to_string().as_bytes(), None).is_ok());
        for (pointer, value) in [
            ("/type", json!("Opaque")),
            ("/type", json!("helm.sh/release.v2")),
            ("/type", Value::Null),
            ("/metadata/name", json!("web")),
            ("/metadata/name", json!("sh.helm.release.v1.")),
            ("/metadata/name", json!("sh.helm.release.v1.a/b")),
            ("/kind", json!("ConfigMap")),
            ("/apiVersion", json!("v2")),
        ] {
            let mut body = release();
            *body.pointer_mut(pointer).unwrap() = value;
            let refused = sent(&body.to_string(), None);
            assert!(matches!(refused, Err(ProxyError::NotRelease(_))), "{body}: {refused:?}");
        }
        let other = sent(&release().to_string(), Some("sh.helm.release.v1.web.v2"));
        assert!(matches!(other, Err(ProxyError::NotRelease(_))), "{other:?}");
        assert!(matches!(sent("[]", None), Err(ProxyError::BadRequest(_))));
        assert!(matches!(sent("{", None), Err(ProxyError::BadRequest(_))));
    }

    #[test]
    fn a_member_that_stands_twice_is_sent_as_it_was_read() {
        let twice = format!(
            r#"{{"type":"{TYPE}","metadata":{{"name":"a"}},"metadata":{{"name":"{NAME}"}},"type":"{TYPE}"}}"#
        );
        let (body, _) = secret(&kind(JSON), twice.as_bytes(), None).unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(&body).unwrap(),
            json!({ "type": TYPE, "metadata": { "name": NAME } })
        );
        assert_eq!(body.windows(6).filter(|window| *window == b"\"type\"").count(), 1);
        let last = format!(r#"{{"type":"{TYPE}","metadata":{{"name":"{NAME}"}},"type":"Opaque"}}"#);
        assert!(secret(&kind(JSON), last.as_bytes(), None).is_err());
    }

    #[test]
    fn other_encodings_are_refused() {
        let body = release().to_string();
        for other in ["application/vnd.kubernetes.protobuf", "application/yaml", "application/cbor"] {
            assert!(matches!(secret(&kind(other), body.as_bytes(), None), Err(ProxyError::ReleaseEncoding)));
            assert!(matches!(patch(&kind(other), b"{}"), Err(ProxyError::ReleaseEncoding)));
            assert!(matches!(delete_options(&kind(other), b"{}", "u"), Err(ProxyError::ReleaseEncoding)));
        }
        assert!(matches!(
            patch(&kind("application/apply-patch+yaml"), b"{}"),
            Err(ProxyError::ReleaseEncoding)
        ));
        let mut packed = kind(JSON);
        packed.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(matches!(secret(&packed, body.as_bytes(), None), Err(ProxyError::ReleaseEncoding)));
    }

    #[test]
    fn a_patch_holds_for_releases_only() {
        let sent = |form, body: Value| {
            patch(&kind(form), body.to_string().as_bytes())
                .map(|body| serde_json::from_slice::<Value>(&body).unwrap())
        };
        let labels = json!({ "metadata": { "labels": { "a": "b" } } });
        for form in ["application/merge-patch+json", "application/strategic-merge-patch+json"] {
            let patched = sent(form, labels.clone()).unwrap();
            assert_eq!((&patched["type"], &patched["metadata"]), (&json!(TYPE), &labels["metadata"]));
            for bad in [json!({ "type": "Opaque" }), json!({ "type": null }), json!({ "kind": "Pod" })] {
                assert!(matches!(sent(form, bad), Err(ProxyError::NotRelease(_))), "{form}");
            }
        }
        let replaced = sent("application/strategic-merge-patch+json", json!({ "$patch": "replace" }));
        assert!(matches!(replaced, Err(ProxyError::NotRelease(_))), "{replaced:?}");
        let step = json!({ "op": "add", "path": "/metadata/labels/a", "value": "b" });
        let patched = sent("application/json-patch+json", json!([step])).unwrap();
        assert_eq!(patched, json!([{ "op": "test", "path": "/type", "value": TYPE }, step]));
        for path in ["", "/type"] {
            let bad = json!([{ "op": "replace", "path": path, "value": "Opaque" }]);
            assert!(matches!(sent("application/json-patch+json", bad), Err(ProxyError::NotRelease(_))));
        }
    }

    #[test]
    fn a_deletion_is_of_the_secret_that_was_checked() {
        let sent = |body: &str| {
            delete_options(&kind(JSON), body.as_bytes(), "u-1")
                .map(|body| serde_json::from_slice::<Value>(&body).unwrap())
        };
        for body in ["", "{}", r#"{"preconditions":null}"#, r#"{"preconditions":{"uid":"u-1"}}"#] {
            assert_eq!(sent(body).unwrap()["preconditions"], json!({ "uid": "u-1" }), "{body}");
        }
        let kept = sent(r#"{"propagationPolicy":"Background","dryRun":["All"]}"#).unwrap();
        assert_eq!((&kept["propagationPolicy"], &kept["dryRun"]), (&json!("Background"), &json!(["All"])));
        assert!(sent(r#"{"preconditions":{"uid":"u-2"}}"#).is_err());
        assert!(sent(r#"{"preconditions":[]}"#).is_err());
    }

    #[test]
    fn an_answer_passes_when_it_is_a_release() {
        let read =
            |kind_of: &'static str, body: &Value| stored_uid(&kind(kind_of), body.to_string().as_bytes());
        assert_eq!(read(JSON, &release()).unwrap(), "u-1");
        let mut opaque = release();
        opaque["type"] = "Opaque".into();
        assert!(matches!(read(JSON, &opaque), Err(ProxyError::NotRelease(_))));
        let partial = json!({ "kind": "PartialObjectMetadata", "metadata": { "name": NAME } });
        assert!(matches!(read(JSON, &partial), Err(ProxyError::UnreadRelease(_))));
        assert!(matches!(
            read("application/vnd.kubernetes.protobuf", &release()),
            Err(ProxyError::UnreadRelease(_))
        ));
    }
}
