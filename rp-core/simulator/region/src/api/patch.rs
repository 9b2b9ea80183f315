//! Patches of one object: JSON patch (RFC 6902), merge patch (RFC 7396), strategic merge patch, server-side apply.

mod strategic;

use json_patch::{Patch, PatchOperation};
use rp_simulator::objects::Kind;
use serde_json::Value;

use super::openapi;
use super::status::Failure;

/// Most operations of a JSON patch, as the API server has it.
const MOST_OPERATIONS: usize = 10_000;
/// Most operations of a JSON patch that copy or move: each may double the object or make it deeper.
const MOST_COPIES: usize = 16;
/// Most parts of a path in a JSON patch; no object is as deep.
const DEEPEST: usize = 64;
/// Largest object that a patch may make, in bytes of JSON.
const LARGEST: usize = 1024 * 1024;

/// The forms of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchForm {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchForm {
    /// The form that a content type names; 415 for another one, or one that the kind does not take.
    pub(super) fn read(content_type: &str, kind: &Kind) -> Result<Self, Failure> {
        let built_in = openapi::is_built_in(kind);
        match media_type(content_type) {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if built_in => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => {
                let mut known = vec!["application/json-patch+json", "application/merge-patch+json"];
                known.extend(built_in.then_some("application/strategic-merge-patch+json"));
                known.push("application/apply-patch+yaml");
                Err(Failure::media_type(&known))
            }
        }
    }

    /// The object with the patch applied.
    pub(super) fn apply(self, mut object: Value, body: &[u8]) -> Result<Value, Failure> {
        match self {
            Self::Json => return operations(object, body),
            Self::Merge => json_patch::merge(&mut object, &json(body)?),
            Self::Strategic => strategic::merge(&mut object, &json(body)?, strategic::Rules::Strategic)
                .map_err(Failure::bad)?,
            Self::Apply => {
                strategic::merge(&mut object, &yaml(body)?, strategic::Rules::Apply).map_err(Failure::bad)?;
            }
        }
        Ok(object)
    }
}

/// The part of a content type before its parameters.
pub(super) fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

fn json(body: &[u8]) -> Result<Value, Failure> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| Failure::bad(format!("error decoding patch: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(Failure::bad("error decoding patch: it is no object")) }
}

/// An object as YAML, of which JSON is a part.
pub(super) fn yaml(body: &[u8]) -> Result<Value, Failure> {
    if let Ok(value) = serde_json::from_slice::<Value>(body) {
        return if value.is_object() { Ok(value) } else { Err(Failure::bad("the body is no object")) };
    }
    let text = std::str::from_utf8(body).map_err(|_| Failure::bad("the body is not UTF-8"))?;
    let value: Value = serde_saphyr::from_str(text).map_err(|error| {
        Failure::bad(format!("error decoding YAML: {}", rp_base::text::clean(&error.to_string(), 500)))
    })?;
    if value.is_object() { Ok(value) } else { Err(Failure::bad("the body is no object")) }
}

fn operations(mut object: Value, body: &[u8]) -> Result<Value, Failure> {
    let Patch(operations) = serde_json::from_slice(body)
        .map_err(|error| Failure::bad(format!("error decoding patch: {error}")))?;
    if operations.len() > MOST_OPERATIONS {
        return Err(Failure::too_large());
    }
    let mut copies = 0;
    for operation in operations {
        let copy = matches!(operation, PatchOperation::Copy(_) | PatchOperation::Move(_));
        if operation.path().as_str().matches('/').count() > DEEPEST {
            return Err(Failure::too_large());
        }
        json_patch::patch(&mut object, std::slice::from_ref(&operation))
            .map_err(|error| Failure::unprocessable(rp_base::text::clean(&error.to_string(), 500)))?;
        copies += usize::from(copy);
        if copies > MOST_COPIES || copy && object.to_string().len() > LARGEST {
            return Err(Failure::too_large());
        }
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(form: PatchForm, object: Value, patch: &str) -> Value {
        form.apply(object, patch.as_bytes()).unwrap()
    }

    #[test]
    fn each_form_patches_by_its_own_rules() {
        let pod = json!({"metadata": {"labels": {"a": "1", "b": "2"}},
            "spec": {"containers": [{"name": "one", "image": "x"}, {"name": "two", "image": "y"}]}});
        let merged = patched(
            PatchForm::Merge,
            pod.clone(),
            r#"{"metadata":{"labels":{"a":null}},"spec":{"containers":[]}}"#,
        );
        assert_eq!(merged, json!({"metadata": {"labels": {"b": "2"}}, "spec": {"containers": []}}));
        let strategic = patched(
            PatchForm::Strategic,
            pod.clone(),
            r#"{"spec":{"$setElementOrder/containers":[{"name":"two"},{"name":"three"}],
               "containers":[{"$patch":"delete","name":"one"},{"name":"two","image":"z"},{"name":"three"}]}}"#,
        );
        assert_eq!(
            strategic["spec"]["containers"],
            json!([{"name": "two", "image": "z"}, {"name": "three"}])
        );
        let applied =
            patched(PatchForm::Apply, pod.clone(), "spec:\n  containers:\n  - name: two\n    image: z\n");
        assert_eq!(applied["spec"]["containers"][1], json!({"name": "two", "image": "z"}));
        assert_eq!(applied["spec"]["containers"].as_array().unwrap().len(), 2);
        let replaced = patched(
            PatchForm::Json,
            pod,
            r#"[{"op":"replace","path":"/spec/containers/0/image","value":"w"}]"#,
        );
        assert_eq!(replaced["spec"]["containers"][0]["image"], "w");
    }

    #[test]
    fn a_patch_that_doubles_an_object_again_and_again_is_refused() {
        let copies: Vec<Value> =
            (0..60).map(|n| json!({"op": "copy", "from": "", "path": format!("/copy{n}")})).collect();
        let body = json!(copies).to_string();
        assert!(PatchForm::Json.apply(json!({"a": "x".repeat(1000)}), body.as_bytes()).is_err());
    }
}
