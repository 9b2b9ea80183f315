//! Bodies of answers: one object, one page of a list, a bare list.

use serde::de::{Deserialize, Deserializer, Error};

use super::lax::{all, maybe, object};

/// Bytes of a continue token.
const MOST_TOKEN: usize = 16 << 10;

/// The whole body of one object: an error when it is none.
pub(crate) struct Whole<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        maybe(deserializer)?.map(Self).ok_or_else(|| Error::custom("not an object"))
    }
}

/// One page of a list: an error when it has no items. Kubernetes writes an empty list as null at times.
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
    /// The token is longer than any API server's.
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

/// A body that is a bare list of objects.
pub(crate) struct Bare<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Bare<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = all(deserializer)?;
        items.map(Self).ok_or_else(|| Error::custom("not a list"))
    }
}
