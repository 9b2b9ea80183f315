//! Azure resource ids of clusters: matched without regard to case, shown in the caller's casing.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The provider and type segments of every cluster.
const PROVIDER: &str = "microsoft.redhatopenshift";
const KIND: &str = "openshiftclusters";
/// The subscription that holds imported clusters (`contract/rules.md` §5.6).
pub const IMPORTED_SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000000";
/// The resource group that holds imported clusters.
pub const IMPORTED_GROUP: &str = "imported";

/// A cluster's resource id. Equality, order and hash are those of the lower-case form, which is the store's key.
#[derive(Clone)]
pub struct ResourceId {
    key: Box<str>,
    original: Box<str>,
    /// Ends of the subscription, the group and the start of the name in either form.
    group_start: usize,
    group_end: usize,
    name_start: usize,
}

/// The text is not the resource id of a cluster (`contract/portal.md` §4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a cluster's resource id: expected /subscriptions/{{uuid}}/resourceGroups/{{group}}/providers/Microsoft.RedHatOpenShift/openShiftClusters/{{name}}"
)]
pub struct InvalidResourceId;

impl ResourceId {
    /// Reads `/subscriptions/…/openShiftClusters/{name}`, exactly, in any casing.
    ///
    /// # Errors
    /// The text does not match the pattern of `contract/portal.md` §4.
    pub fn parse(text: &str) -> Result<Self, InvalidResourceId> {
        let (id, rest) = Self::parse_prefix(text)?;
        if rest.is_empty() { Ok(id) } else { Err(InvalidResourceId) }
    }

    /// Reads a resource id at the start of a path; gives it and what follows (empty, or starting with `/`).
    ///
    /// # Errors
    /// The path does not start with a cluster's resource id.
    pub fn parse_prefix(path: &str) -> Result<(Self, &str), InvalidResourceId> {
        let mut segments = Segments { text: path, at: 0 };
        segments.literal("subscriptions")?;
        let (sub_start, sub_end) = segments.next()?;
        segments.literal("resourcegroups")?;
        let (group_start, group_end) = segments.next()?;
        segments.literal("providers")?;
        segments.literal(PROVIDER)?;
        segments.literal(KIND)?;
        let (name_start, name_end) = segments.next()?;
        let (id, rest) = path.split_at(name_end);
        let valid = is_uuid(&path[sub_start..sub_end])
            && is_name(&path[group_start..group_end])
            && is_name(&path[name_start..name_end]);
        if !valid {
            return Err(InvalidResourceId);
        }
        let id = Self {
            key: id.to_ascii_lowercase().into(),
            original: id.into(),
            group_start,
            group_end,
            name_start,
        };
        Ok((id, rest))
    }

    /// Composes an id of its parts.
    ///
    /// # Errors
    /// A part has characters that a resource id may not have.
    pub fn from_parts(subscription: &str, group: &str, name: &str) -> Result<Self, InvalidResourceId> {
        Self::parse(&format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.RedHatOpenShift/openShiftClusters/{name}"
        ))
    }

    /// The id of an imported cluster (`contract/rules.md` §5.6).
    ///
    /// # Errors
    /// The name has characters that a resource id may not have.
    pub fn imported(name: &str) -> Result<Self, InvalidResourceId> {
        let name = name.to_ascii_lowercase();
        Self::from_parts(IMPORTED_SUBSCRIPTION, IMPORTED_GROUP, &name)
    }

    /// The lower-case form: the store's key and our URLs.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// As the caller wrote it.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// The subscription, lower case.
    pub fn subscription(&self) -> &str {
        // "/subscriptions/" is 15 characters, a UUID 36.
        &self.key[15..51]
    }

    /// The resource group, as written.
    pub fn resource_group(&self) -> &str {
        &self.original[self.group_start..self.group_end]
    }

    /// The cluster's name, as written.
    pub fn name(&self) -> &str {
        &self.original[self.name_start..]
    }

    /// Whether this is an imported cluster's id.
    pub fn is_imported(&self) -> bool {
        self.subscription() == IMPORTED_SUBSCRIPTION
    }
}

struct Segments<'a> {
    text: &'a str,
    at: usize,
}

impl Segments<'_> {
    fn next(&mut self) -> Result<(usize, usize), InvalidResourceId> {
        if !self.text[self.at..].starts_with('/') {
            return Err(InvalidResourceId);
        }
        let start = self.at + 1;
        let end = self.text[start..].find('/').map_or(self.text.len(), |n| start + n);
        self.at = end;
        Ok((start, end))
    }

    fn literal(&mut self, expected: &str) -> Result<(), InvalidResourceId> {
        let (start, end) = self.next()?;
        if self.text[start..end].eq_ignore_ascii_case(expected) { Ok(()) } else { Err(InvalidResourceId) }
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_name(text: &str) -> bool {
    (1..=90).contains(&text.len())
        && !text.ends_with('.')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_().".contains(&b))
}

impl PartialEq for ResourceId {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for ResourceId {}

impl std::hash::Hash for ResourceId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl PartialOrd for ResourceId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ResourceId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.original)
    }
}

impl fmt::Debug for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.original)
    }
}

impl Serialize for ResourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.original)
    }
}

impl JsonSchema for ResourceId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ResourceId".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for ResourceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "/subscriptions/0000aaaa-0000-0000-0000-00000000000F/resourceGroups/My.RG/providers/Microsoft.RedHatOpenShift/openShiftClusters/Harbor-01";

    #[test]
    fn keeps_casing_and_compares_without_it() {
        let id = ResourceId::parse(ID).unwrap();
        assert_eq!(id.name(), "Harbor-01");
        assert_eq!(id.resource_group(), "My.RG");
        assert_eq!(id.subscription(), "0000aaaa-0000-0000-0000-00000000000f");
        assert_eq!(id, ResourceId::parse(&ID.to_ascii_lowercase()).unwrap());
        assert_eq!(id.to_string(), ID);
    }

    #[test]
    fn gives_the_rest_of_a_path_byte_for_byte() {
        let path = format!("{ID}/kubeconfig/proxy/api/v1/A%2Fb//c");
        let (id, rest) = ResourceId::parse_prefix(&path).unwrap();
        assert_eq!((id.name(), rest), ("Harbor-01", "/kubeconfig/proxy/api/v1/A%2Fb//c"));
    }

    #[test]
    fn refuses_what_the_pattern_refuses() {
        for bad in [
            "",
            "/",
            "/subscriptions/x/resourceGroups/a/providers/Microsoft.RedHatOpenShift/openShiftClusters/b",
            "/subscriptions/0000aaaa-0000-0000-0000-00000000000F/resourceGroups/a./providers/Microsoft.RedHatOpenShift/openShiftClusters/b",
            "/subscriptions/0000aaaa-0000-0000-0000-00000000000F/resourceGroups/a/providers/Microsoft.RedHatOpenShift/openShiftClusters/",
            "/subscriptions/0000aaaa-0000-0000-0000-00000000000F/resourceGroups/a/providers/Microsoft.RedHatOpenShift/openShiftClusters/b%2e",
            "/subscriptions/0000aaaa-0000-0000-0000-00000000000F/resourceGroups/../providers/Microsoft.RedHatOpenShift/openShiftClusters/é",
        ] {
            assert_eq!(ResourceId::parse(bad), Err(InvalidResourceId), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,200}") {
            let _ = ResourceId::parse_prefix(&text);
            let _ = ResourceId::parse_prefix(&format!("{ID}{text}"));
        }
    }
}
