//! What all objects share: metadata and conditions.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::lenient::{Int, LenientVisitor, SerdeAdapter, Texts, Time, member};
use crate::reader::{Member, Reader, TextValue as _};

/// Labels or annotations that a reader keeps of one object.
const MOST_LABELS: usize = 2_000;

/// `metadata`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct Meta<R: Reader> {
    pub name: R::Text<253>,
    pub namespace: R::Text<253>,
    #[serde(deserialize_with = "member")]
    pub uid: R::More<R::Text<64>>,
    #[serde(deserialize_with = "member")]
    pub resource_version: R::More<R::Text<64>>,
    pub generation: Int,
    #[serde(deserialize_with = "member")]
    pub labels: Labels<R>,
    #[serde(deserialize_with = "member")]
    pub annotations: Labels<R>,
    #[serde(deserialize_with = "member")]
    pub creation_timestamp: R::More<Time>,
    #[serde(deserialize_with = "member")]
    pub deletion_timestamp: R::More<Time>,
    #[serde(deserialize_with = "member")]
    pub owner_references: R::More<Vec<OwnerReference<R>>>,
    #[serde(deserialize_with = "member")]
    pub finalizers: R::More<Texts<R::Text<253>>>,
}

/// One of `metadata.ownerReferences`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct OwnerReference<R: Reader> {
    pub api_version: R::Text<253>,
    pub kind: R::Text<253>,
    pub name: R::Text<253>,
}

/// The name of another object, where the reader keeps it.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct NameOnly<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub name: R::More<R::Text<253>>,
}

/// An object's labels or annotations: those that the reader keeps.
#[derive(Debug, Default, Clone)]
pub struct Labels<R: Reader>(Vec<(Cow<'static, str>, R::Text<512>)>);

impl<R: Reader> Labels<R> {
    /// The value of a key; `None` when it is not set.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, text)| text.as_str())
    }

    /// Keys and values, as the API server sent them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, text)| (key.as_ref(), text.as_str()))
    }
}

/// The name of a label, if the reader keeps it. Nothing is allocated for the others.
struct LabelName<R>(PhantomData<R>);

impl<'de, R: Reader> DeserializeSeed<'de> for LabelName<R> {
    type Value = Option<Cow<'static, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<R: Reader> Visitor<'_> for LabelName<R> {
    type Value = Option<Cow<'static, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        let Some(kept) = R::LABELS else { return Ok(Some(Cow::Owned(name.to_owned()))) };
        let at = kept.binary_search(&name).ok();
        Ok(at.and_then(|at| kept.get(at)).map(|name| Cow::Borrowed(*name)))
    }
}

struct AsLabels<R>(PhantomData<R>);

impl<'de, R: Reader> LenientVisitor<'de> for AsLabels<R> {
    type Out = Labels<R>;

    fn nothing(self) -> Labels<R> {
        Labels::default()
    }

    fn map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels<R>, A::Error> {
        let mut out = Vec::new();
        while let Some(name) = map.next_key_seed(LabelName::<R>(PhantomData))? {
            match name.filter(|_| out.len() < MOST_LABELS) {
                Some(name) => out.push((name, map.next_value()?)),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Labels(out))
    }
}

impl<R: Reader> Member for Labels<R> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SerdeAdapter(AsLabels(PhantomData)).deserialize(deserializer)
    }
}

/// `True`, `False`, or `Unknown`, also when it is absent or has another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, JsonSchema)]
#[schemars(rename = "ConditionStatus")]
pub enum Status {
    True,
    False,
    #[default]
    Unknown,
}

impl Status {
    /// The status of that text.
    pub fn parse(text: &str) -> Self {
        match text {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }

    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    pub const fn is_true(self) -> bool {
        matches!(self, Self::True)
    }
}

/// One of `status.conditions`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "", rename_all = "camelCase")]
pub struct Condition<R: Reader> {
    #[serde(rename = "type")]
    pub kind: R::Text<253>,
    pub status: R::Text<64>,
    pub reason: R::Text<253>,
    pub message: R::Text<1024>,
    /// Of nodes.
    #[serde(deserialize_with = "member")]
    pub last_heartbeat_time: R::More<Time>,
    #[serde(deserialize_with = "member")]
    pub last_transition_time: R::More<Time>,
}

/// A status of which only the conditions are read.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Conditions<R: Reader> {
    #[serde(deserialize_with = "member")]
    pub conditions: Vec<Condition<R>>,
}

/// The condition of this type, wherever it stands in the list.
pub fn condition<'a, R: Reader>(conditions: &'a [Condition<R>], kind: &str) -> Option<&'a Condition<R>> {
    conditions.iter().find(|condition| condition.kind.as_str() == kind)
}

/// The status of the condition of this type; `Unknown` when there is none.
pub fn status_of<R: Reader>(conditions: &[Condition<R>], kind: &str) -> Status {
    condition(conditions, kind).map(|condition| Status::parse(condition.status.as_str())).unwrap_or_default()
}
