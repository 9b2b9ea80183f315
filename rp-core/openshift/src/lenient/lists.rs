//! Lists.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{Deserialize, DeserializeSeed as _, Deserializer, IgnoredAny, SeqAccess};

use super::{AsObject, LenientVisitor, MOST_INNER, SerdeAdapter};
use crate::reader::{Member, TextValue};

/// A list of objects; other elements are left out. `None`: it is null or not a list.
struct AsList<T>(usize, PhantomData<T>);

impl<'de, T: Deserialize<'de>> LenientVisitor<'de> for AsList<T> {
    type Out = Option<Vec<T>>;

    fn nothing(self) -> Option<Vec<T>> {
        None
    }

    fn seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Option<Vec<T>>, A::Error> {
        let mut out = Vec::new();
        while out.len() < self.0 {
            match seq.next_element_seed(SerdeAdapter(AsObject(PhantomData)))? {
                None => return Ok(Some(out)),
                Some(element) => out.extend(element),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Some(out))
    }
}

/// The first objects of a list inside an object.
impl<T> Member for Vec<T>
where
    T: for<'any> Deserialize<'any> + fmt::Debug + Clone + Send + Sync + 'static,
{
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(SerdeAdapter(AsList(MOST_INNER, PhantomData)).deserialize(deserializer)?.unwrap_or_default())
    }
}

/// All objects of a list of any length; `None`: it is null or no list.
///
/// # Errors
/// The JSON is not valid.
pub fn all<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    SerdeAdapter(AsList(usize::MAX, PhantomData)).deserialize(deserializer)
}

/// A list of texts; empty ones are left out.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Texts<T>(Vec<T>);

impl<T> Deref for Texts<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

struct AsTexts<T>(PhantomData<T>);

impl<'de, T: TextValue> LenientVisitor<'de> for AsTexts<T> {
    type Out = Texts<T>;

    fn nothing(self) -> Texts<T> {
        Texts::default()
    }

    fn seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts<T>, A::Error> {
        let mut out = Vec::new();
        while let Some(text) = seq.next_element::<T>()? {
            if out.len() < MOST_INNER && !text.is_empty() {
                out.push(text);
            }
        }
        Ok(Texts(out))
    }
}

impl<T: TextValue> Member for Texts<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SerdeAdapter(AsTexts(PhantomData)).deserialize(deserializer)
    }
}

/// The number of elements of a list, whatever they are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Length(pub usize);

struct AsLength;

impl<'de> LenientVisitor<'de> for AsLength {
    type Out = Length;

    fn nothing(self) -> Length {
        Length(0)
    }

    fn seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Length, A::Error> {
        let mut length = 0;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        Ok(Length(length))
    }
}

impl Member for Length {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SerdeAdapter(AsLength).deserialize(deserializer)
    }
}
