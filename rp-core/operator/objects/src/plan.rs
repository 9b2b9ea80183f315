//! What is to be done with objects: the answer of every controller here.

use std::fmt;

use serde_json::Value;

/// One object, by its names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Group and version, as objects name them; `v1` for the core group.
    pub api_version: String,
    pub kind: String,
    /// Empty for objects of the cluster.
    pub namespace: String,
    pub name: String,
}

impl ObjectRef {
    /// An object of the cluster.
    pub fn of_cluster(api_version: &str, kind: &str, name: &str) -> Self {
        Self::in_namespace(api_version, kind, "", name)
    }

    /// An object of a namespace.
    pub fn in_namespace(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The names that an object has itself; members that are missing are empty.
    pub fn of(object: &Value) -> Self {
        let text = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
        Self::in_namespace(
            text("/apiVersion"),
            text("/kind"),
            text("/metadata/namespace"),
            text("/metadata/name"),
        )
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// One thing to do. Values may hold secrets, so that `Debug` names the object only.
#[derive(Clone, PartialEq)]
pub enum Change {
    /// Server-side apply of the members that are stated, forced on those. Nothing is written where nothing differs.
    Apply(Value),
    /// The same, but only where the object is missing: one that is there waits.
    Create(Value),
    /// The object goes; missing is success.
    Delete(ObjectRef),
    /// JSON merge patch (RFC 7386) of an object of somebody else.
    Merge {
        object: ObjectRef,
        patch: Value,
        /// The version that it was decided on: another one is a conflict, and the decision is made again.
        resource_version: Option<String>,
    },
}

impl Change {
    /// The object that changes.
    pub fn object(&self) -> ObjectRef {
        match self {
            Self::Apply(object) | Self::Create(object) => ObjectRef::of(object),
            Self::Delete(object) | Self::Merge { object, .. } => object.clone(),
        }
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self {
            Self::Apply(_) => "Apply",
            Self::Create(_) => "Create",
            Self::Delete(_) => "Delete",
            Self::Merge { .. } => "Merge",
        };
        write!(f, "{verb} {}", self.object())
    }
}

/// What is to be done, in this order. Empty: nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    pub changes: Vec<Change>,
}

impl Plan {
    /// Nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// These objects are applied.
    pub fn apply(objects: impl IntoIterator<Item = Value>) -> Self {
        objects.into_iter().map(Change::Apply).collect()
    }

    /// These objects go.
    pub fn delete(objects: impl IntoIterator<Item = ObjectRef>) -> Self {
        objects.into_iter().map(Change::Delete).collect()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl FromIterator<Change> for Plan {
    fn from_iter<I: IntoIterator<Item = Change>>(changes: I) -> Self {
        Self { changes: changes.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_prints_names_only() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "namespace": "a", "name": "b" },
            "data": { "key": "SECRET" },
        });
        let object = ObjectRef::of(&secret);
        let plan: Plan = [
            Change::Apply(secret.clone()),
            Change::Create(secret.clone()),
            Change::Delete(object.clone()),
            Change::Merge { object, patch: secret, resource_version: None },
        ]
        .into_iter()
        .collect();
        let expected = "[Apply Secret a/b, Create Secret a/b, Delete Secret a/b, Merge Secret a/b]";
        assert_eq!(format!("{:?}", plan.changes), expected);
    }
}
