//! Lenient deserialisation: a value of the wrong type is skipped, a long list truncated.

mod lists;
mod maps;
mod scalars;
mod text;
mod visitor;

use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed as _, Deserializer, MapAccess};

use crate::reader::Member;

pub use lists::{Length, Texts, all};
pub use maps::Pairs;
pub use scalars::{Given, Int, Present, Time};
pub use text::{Text, WholeText};
pub(crate) use visitor::{LenientVisitor, SerdeAdapter};

/// Maximum number of elements of a list inside an object.
const MOST_INNER: usize = 2_000;

/// An object, or none.
struct AsObject<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> LenientVisitor<'de> for AsObject<T> {
    type Out = Option<T>;

    fn nothing(self) -> Option<T> {
        None
    }

    fn map<A: MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }
}

/// An object; `None`: the value is not one.
///
/// # Errors
/// The JSON is not valid.
pub fn maybe<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    SerdeAdapter(AsObject(PhantomData)).deserialize(deserializer)
}

/// An object, or its default.
///
/// # Errors
/// The JSON is not valid.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(maybe(deserializer)?.unwrap_or_default())
}

/// Any [`Member`].
pub(crate) fn member<'de, D: Deserializer<'de>, M: Member>(deserializer: D) -> Result<M, D::Error> {
    M::read(deserializer)
}

impl<T> Member for Option<T>
where
    T: for<'any> Deserialize<'any> + std::fmt::Debug + Clone + Send + Sync + 'static,
{
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        maybe(deserializer)
    }
}
