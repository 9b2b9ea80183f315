//! A resource of a cluster's API.

use std::fmt;

/// A resource of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Empty: the core.
    pub group: String,
    pub version: String,
    /// The plural.
    pub name: String,
    pub kind: String,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Resource={}", self.group, self.version, self.name)
    }
}

impl Resource {
    /// A resource of version `v1` of a group; the core's name is empty.
    pub fn v1(group: &str, name: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: "v1".to_owned(),
            name: name.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        let Self { group, version, .. } = self;
        if group.is_empty() { version.clone() } else { format!("{group}/{version}") }
    }

    /// `Pod`, `Deployment.apps`.
    pub fn kind_and_group(&self) -> String {
        let Self { group, kind, .. } = self;
        if group.is_empty() { kind.clone() } else { format!("{kind}.{group}") }
    }

    /// The path of one object, or of all. Both names were checked.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let Self { group, version, name: plural, .. } = self;
        let mut path =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if !namespace.is_empty() {
            path.push_str(&format!("/namespaces/{namespace}"));
        }
        path.push_str(&format!("/{plural}"));
        if !name.is_empty() {
            path.push_str(&format!("/{name}"));
        }
        path
    }
}
