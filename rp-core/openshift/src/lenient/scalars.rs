//! Numbers, booleans and instants.

use rp_base::Timestamp;
use serde::de::{Deserialize, DeserializeSeed as _, Deserializer, IgnoredAny};

use super::{LenientVisitor, SerdeAdapter};
use crate::reader::Member;

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

impl Member for Int {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
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
impl Member for bool {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SerdeAdapter(AsFlag).deserialize(deserializer)
    }
}

/// An RFC 3339 instant, or none.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Option<Timestamp>);

/// Longest text of an instant, bytes.
const MOST_TIME: usize = 40;

struct AsTime;

impl LenientVisitor<'_> for AsTime {
    type Out = Time;

    fn nothing(self) -> Time {
        Time(None)
    }

    fn text(self, text: &str) -> Time {
        Time((text.len() <= MOST_TIME).then(|| Timestamp::parse(text).ok()).flatten())
    }
}

impl Member for Time {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SerdeAdapter(AsTime).deserialize(deserializer)
    }
}

/// A member that may be absent, where that is not the same as null or empty; `None`: it is absent.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Given<T>(pub Option<T>);

impl<T: Member> Member for Given<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(|value| Self(Some(value)))
    }
}

/// Whether the value is present and not null.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Present(pub bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<IgnoredAny>::deserialize(deserializer)?.is_some()))
    }
}

impl Member for Present {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}
