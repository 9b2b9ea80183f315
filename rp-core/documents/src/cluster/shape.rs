//! The JSON types that a member can have, read in one pass: a value of another type is kept as JSON.

use std::collections::BTreeMap;

use rp_base::Timestamp;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, MapAccess, SeqAccess};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::Sealed;

/// An object whose keys are names that people or Azure chose.
pub type Map<T> = BTreeMap<String, T>;

/// A type that a member can have. Each function reads one kind of JSON value; the default rejects it.
pub trait FromJson: Sized {
    fn text(_text: &str) -> Option<Self> {
        None
    }

    fn integer(_number: i64) -> Option<Self> {
        None
    }

    fn boolean(_value: bool) -> Option<Self> {
        None
    }

    /// # Errors
    /// The decoder's.
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Result<Self, Value>, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(list)).map(Err)
    }

    /// # Errors
    /// The decoder's.
    fn map<'de, A: MapAccess<'de>>(map: A) -> Result<Result<Self, Value>, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Err)
    }
}

/// A type with a value that an absent member reads as.
pub trait Zero: FromJson {
    /// What readers see of a value.
    type View: ?Sized + 'static;

    fn view(&self) -> &Self::View;

    fn zero() -> &'static Self::View;
}

impl FromJson for String {
    fn text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl Zero for String {
    type View = str;

    fn view(&self) -> &str {
        self
    }

    fn zero() -> &'static str {
        ""
    }
}

impl FromJson for i64 {
    fn integer(number: i64) -> Option<Self> {
        Some(number)
    }
}

impl Zero for i64 {
    type View = Self;

    fn view(&self) -> &Self {
        self
    }

    fn zero() -> &'static Self {
        &0
    }
}

impl FromJson for bool {
    fn boolean(value: bool) -> Option<Self> {
        Some(value)
    }
}

impl Zero for bool {
    type View = Self;

    fn view(&self) -> &Self {
        self
    }

    fn zero() -> &'static Self {
        &false
    }
}

impl FromJson for Sealed {
    fn text(text: &str) -> Option<Self> {
        Some(Self(text.to_owned()))
    }
}

impl Zero for Sealed {
    type View = Self;

    fn view(&self) -> &Self {
        self
    }

    fn zero() -> &'static Self {
        static NOTHING: Sealed = Sealed(String::new());
        &NOTHING
    }
}

impl<T: for<'de> Deserialize<'de>> FromJson for Vec<T> {
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Result<Self, Value>, A::Error> {
        Self::deserialize(SeqAccessDeserializer::new(list)).map(Ok)
    }
}

impl<T: for<'de> Deserialize<'de> + 'static> Zero for Vec<T> {
    type View = [T];

    fn view(&self) -> &[T] {
        self
    }

    fn zero() -> &'static [T] {
        &[]
    }
}

impl<T: for<'de> Deserialize<'de>> FromJson for Map<T> {
    fn map<'de, A: MapAccess<'de>>(map: A) -> Result<Result<Self, Value>, A::Error> {
        Self::deserialize(MapAccessDeserializer::new(map)).map(Ok)
    }
}

impl<T: for<'de> Deserialize<'de> + 'static> Zero for Map<T> {
    type View = Self;

    fn view(&self) -> &Self {
        self
    }

    fn zero() -> &'static Self {
        const { &Self::new() }
    }
}

/// An instant with the text that it was read from, so that it is written as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instant {
    at: Timestamp,
    text: String,
}

impl Instant {
    /// The instant.
    pub const fn at(&self) -> Timestamp {
        self.at
    }
}

impl From<Timestamp> for Instant {
    fn from(at: Timestamp) -> Self {
        Self { at, text: at.to_string() }
    }
}

impl FromJson for Instant {
    fn text(text: &str) -> Option<Self> {
        Timestamp::parse(text).ok().map(|at| Self { at, text: text.to_owned() })
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

/// JSON that we keep and do not read.
impl FromJson for Value {
    fn text(text: &str) -> Option<Self> {
        Some(Self::from(text))
    }

    fn integer(number: i64) -> Option<Self> {
        Some(Self::from(number))
    }

    fn boolean(value: bool) -> Option<Self> {
        Some(Self::Bool(value))
    }
}
