//! Response bodies: one object, one page of a list, a JSON array.

use rp_openshift::lenient::{all, maybe, object};
use serde::de::{Deserialize, Deserializer, Error};

/// Maximum size of a continue token, bytes.
const MOST_TOKEN: usize = 16 << 10;

/// A body that is one object; anything else is an error.
pub(crate) struct ObjectBody<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectBody<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        maybe(deserializer)?.map(Self).ok_or_else(|| Error::custom("not an object"))
    }
}

/// One page of a list; a missing `items` is an error. Kubernetes sometimes writes an empty list as null.
#[derive(serde::Deserialize)]
#[serde(bound = "T: Deserialize<'de>")]
pub(crate) struct Envelope<T> {
    #[serde(default, deserialize_with = "object")]
    metadata: ListMeta,
    #[serde(deserialize_with = "items")]
    pub(crate) items: Vec<T>,
}

#[derive(Default, serde::Deserialize)]
struct ListMeta {
    #[serde(default, rename = "continue")]
    token: Option<String>,
}

impl<T> Envelope<T> {
    /// The token of the next page.
    ///
    /// # Errors
    /// The token is too long; the error is its length.
    pub(crate) fn token(&mut self) -> Result<Option<String>, usize> {
        match self.metadata.token.take().filter(|token| !token.is_empty()) {
            Some(token) if token.len() > MOST_TOKEN => Err(token.len()),
            token => Ok(token),
        }
    }
}

fn items<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(all(deserializer)?.unwrap_or_default())
}

/// A body that is a JSON array of objects.
pub(crate) struct ArrayBody<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ArrayBody<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = all(deserializer)?;
        items.map(Self).ok_or_else(|| Error::custom("not a list"))
    }
}
