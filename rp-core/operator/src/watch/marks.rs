//! What is kept of an object to know whether it changed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rp_operator_api::cluster::{GROUP, KIND};
use serde_json::Value;

/// How much of an object changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Degree {
    /// Nothing.
    None,
    /// Something that is neither metadata nor specification, mostly the status.
    Other,
    /// Labels, annotations, owners, finalizers.
    Metadata,
    /// The specification; or the object is another one of that name.
    Generation,
}

/// The mark of one version of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    version: u64,
    identity: u64,
    metadata: u64,
    owned: bool,
}

impl Mark {
    pub(super) fn of(object: &Value) -> Self {
        let member = |name: &str| object.pointer(name).unwrap_or(&Value::Null);
        let hash = |names: &[&str]| {
            let mut hasher = DefaultHasher::new();
            for name in names {
                member(name).to_string().hash(&mut hasher);
            }
            hasher.finish()
        };
        Self {
            version: hash(&["/metadata/resourceVersion"]),
            identity: hash(&["/metadata/uid", "/metadata/generation"]),
            metadata: hash(&[
                "/metadata/labels",
                "/metadata/annotations",
                "/metadata/ownerReferences",
                "/metadata/finalizers",
                "/metadata/deletionTimestamp",
            ]),
            owned: member("/metadata/ownerReferences").as_array().into_iter().flatten().any(is_cluster),
        }
    }

    /// Whether the `Cluster` is its controller owner.
    pub(super) const fn is_owned(&self) -> bool {
        self.owned
    }

    pub(super) fn degree(&self, new: &Self) -> Degree {
        if self.identity != new.identity {
            Degree::Generation
        } else if self.metadata != new.metadata {
            Degree::Metadata
        } else if self.version != new.version {
            Degree::Other
        } else {
            Degree::None
        }
    }
}

fn is_cluster(owner: &Value) -> bool {
    let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    group == GROUP && text("kind") == KIND && owner.get("controller") == Some(&Value::Bool(true))
}

/// `namespace/name`, or `name` for objects of the cluster.
pub(super) fn key(object: &Value) -> String {
    let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
    match (text("/metadata/namespace"), text("/metadata/name")) {
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(version: &str, generation: i64, labels: &Value) -> Mark {
        Mark::of(&json!({ "metadata": {
            "name": "a", "uid": "u", "resourceVersion": version, "generation": generation, "labels": labels,
        } }))
    }

    #[test]
    fn changes_have_degrees() {
        let old = object("1", 1, &json!({}));
        assert_eq!(old.degree(&old), Degree::None);
        assert_eq!(old.degree(&object("2", 1, &json!({}))), Degree::Other);
        assert_eq!(old.degree(&object("2", 1, &json!({ "a": "b" }))), Degree::Metadata);
        assert_eq!(old.degree(&object("2", 2, &json!({ "a": "b" }))), Degree::Generation);
    }

    #[test]
    fn an_owned_object_has_the_cluster_as_controller() {
        let owner = |controller: bool| {
            json!({ "metadata": { "ownerReferences": [
                { "apiVersion": "aro.openshift.io/v1alpha1", "kind": "Cluster", "name": "cluster", "controller": controller },
            ] } })
        };
        assert!(Mark::of(&owner(true)).is_owned());
        assert!(!Mark::of(&owner(false)).is_owned());
    }
}
