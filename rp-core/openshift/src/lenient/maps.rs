//! Maps of texts.

use std::marker::PhantomData;

use serde::de::{DeserializeSeed as _, Deserializer, MapAccess};

use super::{LenientVisitor, MOST_INNER, SerdeAdapter};
use crate::reader::{Member, TextValue};

/// Names and values, in order; `None`: there is no map.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Pairs<T>(pub Option<Vec<(T, T)>>);

struct AsPairs<T>(PhantomData<T>);

impl<'de, T: TextValue> LenientVisitor<'de> for AsPairs<T> {
    type Out = Pairs<T>;

    fn nothing(self) -> Pairs<T> {
        Pairs(None)
    }

    fn map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
        let mut out = Vec::new();
        while let Some(entry) = map.next_entry()? {
            if out.len() < MOST_INNER {
                out.push(entry);
            }
        }
        out.sort_unstable();
        Ok(Pairs(Some(out)))
    }
}

impl<T: TextValue> Member for Pairs<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SerdeAdapter(AsPairs(PhantomData)).deserialize(deserializer)
    }
}
