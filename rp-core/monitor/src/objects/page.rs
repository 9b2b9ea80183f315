//! Response bodies: one object, one page of a list, a JSON array.

use rp_openshift::ListMeta;
use rp_openshift::lenient::{all, maybe};
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

/// The token of a list's next page.
///
/// # Errors
/// The token is too long; the error is its length.
pub(crate) fn next_page(metadata: &ListMeta) -> Result<Option<String>, usize> {
    let token = metadata.token.as_str();
    if token.len() > MOST_TOKEN {
        return Err(token.len());
    }
    Ok((!token.is_empty()).then(|| token.to_owned()))
}

/// A body that is a JSON array of objects.
pub(crate) struct ArrayBody<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ArrayBody<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let items = all(deserializer)?;
        items.map(Self).ok_or_else(|| Error::custom("not a list"))
    }
}
