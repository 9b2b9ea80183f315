//! Lenient deserialisation: a value of the wrong type is skipped, a long text is cut, a long list truncated.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{KEPT, SelectedKeys};

/// Maximum number of elements of a list inside an object.
const MOST_INNER: usize = 2_000;

/// Converts a value of any type; a value of an unexpected type is skipped and becomes `nothing`.
trait LenientVisitor<'de>: Sized {
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
struct SerdeAdapter<T>(T);

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

/// Text of at most `MOST` bytes; longer text is cut at a character. Numbers and booleans become their text.
#[derive(Default, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const MOST: usize>(Box<str>);

impl<const MOST: usize> Text<MOST> {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<const MOST: usize> fmt::Debug for Text<MOST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<const MOST: usize> From<&str> for Text<MOST> {
    fn from(text: &str) -> Self {
        let mut end = text.len().min(MOST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self(text.get(..end).unwrap_or_default().into())
    }
}

struct AsText<const MOST: usize>;

impl<const MOST: usize> LenientVisitor<'_> for AsText<MOST> {
    type Out = Text<MOST>;

    fn nothing(self) -> Text<MOST> {
        Text::default()
    }

    fn text(self, text: &str) -> Text<MOST> {
        text.into()
    }

    fn flag(self, flag: bool) -> Text<MOST> {
        if flag { "true".into() } else { "false".into() }
    }

    fn int(self, int: i64) -> Text<MOST> {
        int.to_string().as_str().into()
    }

    fn float(self, float: f64) -> Text<MOST> {
        float.to_string().as_str().into()
    }
}

impl<'de, const MOST: usize> Deserialize<'de> for Text<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SerdeAdapter(AsText).deserialize(deserializer)
    }
}

/// A whole number, or none. Text that is a number counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Int(pub Option<i64>);

impl Int {
    /// The number; 0 when there is none.
    pub fn or_zero(self) -> i64 {
        self.0.unwrap_or_default()
    }
}

struct AsInt;

impl LenientVisitor<'_> for AsInt {
    type Out = Int;

    fn nothing(self) -> Int {
        Int(None)
    }

    fn text(self, text: &str) -> Int {
        Int(text.parse().ok())
    }

    fn int(self, int: i64) -> Int {
        Int(Some(int))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    fn float(self, float: f64) -> Int {
        Int((float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64))
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SerdeAdapter(AsInt).deserialize(deserializer)
    }
}

struct AsFlag;

impl LenientVisitor<'_> for AsFlag {
    type Out = bool;

    fn nothing(self) -> bool {
        false
    }

    fn text(self, text: &str) -> bool {
        text == "true"
    }

    fn flag(self, flag: bool) -> bool {
        flag
    }
}

/// A boolean, `true` also as text.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    SerdeAdapter(AsFlag).deserialize(deserializer)
}

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

pub(super) fn maybe<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    SerdeAdapter(AsObject(PhantomData)).deserialize(deserializer)
}

/// An object, or its default.
pub(super) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(maybe(deserializer)?.unwrap_or_default())
}

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

pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(SerdeAdapter(AsList(MOST_INNER, PhantomData)).deserialize(deserializer)?.unwrap_or_default())
}

struct AsTexts<const MOST: usize>;

impl<'de, const MOST: usize> LenientVisitor<'de> for AsTexts<MOST> {
    type Out = Vec<Text<MOST>>;

    fn nothing(self) -> Self::Out {
        Vec::new()
    }

    fn seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Out, A::Error> {
        let mut out = Vec::new();
        while let Some(text) = seq.next_element::<Text<MOST>>()? {
            if out.len() < MOST_INNER && !text.is_empty() {
                out.push(text);
            }
        }
        Ok(out)
    }
}

/// A list of texts; empty ones are left out.
pub(super) fn texts<'de, D: Deserializer<'de>, const MOST: usize>(
    deserializer: D,
) -> Result<Vec<Text<MOST>>, D::Error> {
    SerdeAdapter(AsTexts).deserialize(deserializer)
}

/// Whether the value is present and not null.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(deserializer)?.is_some())
}

struct AsSelectedKeys;

impl<'de> LenientVisitor<'de> for AsSelectedKeys {
    type Out = SelectedKeys;

    fn nothing(self) -> SelectedKeys {
        SelectedKeys::default()
    }

    fn map<A: MapAccess<'de>>(self, mut map: A) -> Result<SelectedKeys, A::Error> {
        let mut out = Vec::new();
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match KEPT.binary_search(&key.as_ref()).ok().and_then(|at| KEPT.get(at)) {
                Some(key) => out.push((*key, map.next_value()?)),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(SelectedKeys(out))
    }
}

/// The labels that are read.
pub(super) fn picked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SelectedKeys, D::Error> {
    SerdeAdapter(AsSelectedKeys).deserialize(deserializer)
}

/// Keys and values, ordered.
type Pairs = Vec<(Text<253>, Text<253>)>;

struct AsPairs;

impl<'de> LenientVisitor<'de> for AsPairs {
    type Out = Option<Pairs>;

    fn nothing(self) -> Option<Pairs> {
        None
    }

    fn map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Pairs>, A::Error> {
        let mut out = Pairs::new();
        while let Some(entry) = map.next_entry()? {
            if out.len() < MOST_INNER {
                out.push(entry);
            }
        }
        out.sort_unstable();
        Ok(Some(out))
    }
}

/// A map of texts; `None`: there is no map.
pub(super) fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Pairs>, D::Error> {
    SerdeAdapter(AsPairs).deserialize(deserializer)
}

/// All objects of a list of any length; `None`: it is null or no list.
pub(super) fn all<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    SerdeAdapter(AsList(usize::MAX, PhantomData)).deserialize(deserializer)
}
