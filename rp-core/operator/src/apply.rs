//! Keeping objects as they should be (`contract/operator.md` §6, "Do better" 3): server-side apply of the members that the
//! operator owns, and nothing is written when nothing differs. Labels, finalizers and members of others stay.

mod checksums;
mod fields;

use rp_operator_api::Cluster;
use rp_operator_api::cluster::{API_VERSION, KIND};
use serde_json::{Value, json};

pub use checksums::Checksums;
pub(crate) use fields::covers;

use crate::api::{Api, ApiError};
use crate::kinds::{ObjectName, SECRET};

/// Who owns an object: it is deleted with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
}

impl Owner {
    /// The `Cluster` as owner.
    pub fn cluster(cluster: &Cluster) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            name: cluster.metadata.name.clone(),
            uid: cluster.metadata.uid.clone(),
        }
    }

    /// An object that was read as owner; `None`: it has no uid.
    pub fn of(object: &Value) -> Option<Self> {
        let name = ObjectName::of(object)?;
        let uid = object.pointer("/metadata/uid").and_then(Value::as_str)?;
        Some(Self {
            api_version: name.kind.api_version(),
            kind: name.kind.kind.to_owned(),
            name: name.name.to_owned(),
            uid: uid.to_owned(),
        })
    }

    fn reference(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    Created,
    Updated,
    Unchanged,
}

/// Makes sure that the object is there with these members. An immutable member that differs is the API server's error,
/// with the name of the object.
///
/// # Errors
/// [`ApiError`].
pub async fn ensure(api: &Api, object: &Value, owner: Option<&Owner>) -> Result<Applied, ApiError> {
    let object = owned(object, owner);
    let request = || ApiError::Request { verb: "apply", object: text(&object, "/kind").to_owned() };
    let name = ObjectName::of(&object).ok_or_else(request)?;
    let live = api.get(name).await?;
    if live.as_ref().is_some_and(|live| !fields::differs(live, &object)) {
        return Ok(Applied::Unchanged);
    }
    let written = api.apply(&object).await?;
    let Some(live) = live else {
        tracing::info!(object = %name, "Create");
        return Ok(Applied::Created);
    };
    if text(&live, "/metadata/resourceVersion") == text(&written, "/metadata/resourceVersion") {
        return Ok(Applied::Unchanged);
    }
    let fields = if *name.kind == SECRET { "<scrubbed>".to_owned() } else { fields::changed(&live, &object) };
    tracing::info!(object = %name, fields, "Update");
    Ok(Applied::Updated)
}

/// Creates the object unless it is there: whatever it is then, it stays.
///
/// # Errors
/// [`ApiError`].
pub async fn create_only(api: &Api, object: &Value, owner: Option<&Owner>) -> Result<Applied, ApiError> {
    let object = owned(object, owner);
    if let Some(name) = ObjectName::of(&object)
        && api.get(name).await?.is_some()
    {
        return Ok(Applied::Unchanged);
    }
    // By apply, so that the members have their owner from the beginning.
    match api.apply(&object).await {
        Ok(_) => Ok(Applied::Created),
        Err(error) if error.already_exists() => Ok(Applied::Unchanged),
        Err(error) => Err(error),
    }
}

fn owned(object: &Value, owner: Option<&Owner>) -> Value {
    let mut object = object.clone();
    if let Some(owner) = owner
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("ownerReferences".to_owned(), json!([owner.reference()]));
    }
    object
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}
