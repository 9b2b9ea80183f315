//! Objects of any kind, and lists of them.

use serde::Deserialize;
use serde::de::Deserializer;

use crate::lenient::{Int, WholeText, all, object};
use crate::meta::{Condition, Meta};
use crate::reader::Reader;

/// A page of a list; a missing `items` is an error. Kubernetes sometimes writes an empty list as null.
#[derive(Debug, Clone, Deserialize)]
#[serde(bound = "T: Deserialize<'de>")]
pub struct List<T> {
    #[serde(default, deserialize_with = "object")]
    pub metadata: ListMeta,
    #[serde(deserialize_with = "items")]
    pub items: Vec<T>,
}

/// A page of a list of any kind, as a person looks at it; a missing `items` is an empty list: some aggregated API servers
/// leave out members that are empty.
#[derive(Debug, Clone, Deserialize)]
#[serde(bound = "T: Deserialize<'de>")]
pub struct LenientList<T> {
    #[serde(default, deserialize_with = "object")]
    pub metadata: ListMeta,
    #[serde(default, deserialize_with = "items")]
    pub items: Vec<T>,
}

/// `metadata` of a list.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListMeta {
    /// The token of the next page; empty: there is none.
    #[serde(rename = "continue")]
    pub token: WholeText,
    /// Items of the pages after this one, where the API server counts them.
    pub remaining_item_count: Int,
}

fn items<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(all(deserializer)?.unwrap_or_default())
}

/// An object of any kind: what all objects have, and the conditions of those that have some.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct Object<R: Reader> {
    #[serde(deserialize_with = "object")]
    pub metadata: Meta<R>,
    #[serde(deserialize_with = "object")]
    pub status: ObjectStatus<R>,
}

/// The status of an object of any kind.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default, bound = "")]
pub struct ObjectStatus<R: Reader> {
    /// All of them, however many; `None`: there is no list.
    #[serde(deserialize_with = "all")]
    pub conditions: Option<Vec<Condition<R>>>,
}
