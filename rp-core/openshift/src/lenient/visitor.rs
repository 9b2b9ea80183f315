//! The visitor of values of any type.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Converts a value of any type; a value of an unexpected type is skipped and becomes `nothing`.
pub(crate) trait LenientVisitor<'de>: Sized {
    type Out;

    fn nothing(self) -> Self::Out;

    fn text(self, _text: &str) -> Self::Out {
        self.nothing()
    }

    fn flag(self, _flag: bool) -> Self::Out {
        self.nothing()
    }

    fn int(self, _int: i64) -> Self::Out {
        self.nothing()
    }

    fn float(self, _float: f64) -> Self::Out {
        self.nothing()
    }

    fn seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Out, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.nothing())
    }

    fn map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Out, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self.nothing())
    }
}

/// Any [`LenientVisitor`] as serde's visitor and seed.
pub(crate) struct SerdeAdapter<T>(pub(crate) T);

impl<'de, T: LenientVisitor<'de>> Visitor<'de> for SerdeAdapter<T> {
    type Value = T::Out;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<T::Out, E> {
        Ok(self.0.text(text))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<T::Out, E> {
        Ok(self.0.flag(flag))
    }

    fn visit_i64<E>(self, int: i64) -> Result<T::Out, E> {
        Ok(self.0.int(int))
    }

    fn visit_u64<E>(self, int: u64) -> Result<T::Out, E> {
        Ok(match i64::try_from(int) {
            Ok(int) => self.0.int(int),
            Err(_) => self.0.nothing(),
        })
    }

    fn visit_f64<E>(self, float: f64) -> Result<T::Out, E> {
        Ok(self.0.float(float))
    }

    fn visit_unit<E>(self) -> Result<T::Out, E> {
        Ok(self.0.nothing())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T::Out, A::Error> {
        self.0.seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T::Out, A::Error> {
        self.0.map(map)
    }
}

impl<'de, T: LenientVisitor<'de>> DeserializeSeed<'de> for SerdeAdapter<T> {
    type Value = T::Out;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Out, D::Error> {
        deserializer.deserialize_any(self)
    }
}
