//! One member of a stored object: absent, null, a value of its type, or JSON of another shape that is kept as it is.
//!
//! A member that is absent reads as the zero value of its type, because documents leave zero values out
//! (`contract/api.md` §8.3). Only a writer who owns the member can change it
//! (see [`super::writer`]).

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::shape::{FromJson, Map, Zero};
use super::writer::{ByBoth, ByEdge, ByWorker, MayWrite};

/// A member that the edge writes: what the customer or an administrator wants.
pub type Intent<T> = Member<T, ByEdge>;
/// A member that the holder of the lease writes: the observed result.
pub type Outcome<T> = Member<T, ByWorker>;
/// A member that both write; its comment says when.
pub type Shared<T> = Member<T, ByBoth>;

/// A member of type `T` that only the writers of `W` can change.
pub struct Member<T, W> {
    value: Option<T>,
    /// What is stored when there is no value.
    placeholder: Placeholder,
    owner: PhantomData<fn() -> W>,
}

/// What is stored instead of a value.
#[derive(Clone, PartialEq, Default)]
enum Placeholder {
    #[default]
    Nothing,
    Null,
    /// JSON of another shape. It is written back as it was read.
    Odd(Value),
}

impl<T, W> Member<T, W> {
    const fn from_parts(value: Option<T>, placeholder: Placeholder) -> Self {
        Self { value, placeholder, owner: PhantomData }
    }

    /// A member with a value.
    pub fn new(_by: impl MayWrite<W>, value: impl Into<T>) -> Self {
        Self::from_parts(Some(value.into()), Placeholder::Nothing)
    }

    /// The value; `None` when the member is absent, null or of another shape.
    pub const fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// JSON that was stored in place of a value.
    pub const fn odd(&self) -> Option<&Value> {
        match &self.placeholder {
            Placeholder::Odd(value) if self.value.is_none() => Some(value),
            _ => None,
        }
    }

    /// Whether the object does not have the member.
    pub const fn is_absent(&self) -> bool {
        self.value.is_none() && matches!(self.placeholder, Placeholder::Nothing)
    }

    /// Whether the member is absent or null.
    pub const fn is_none(&self) -> bool {
        self.value.is_none() && !matches!(self.placeholder, Placeholder::Odd(_))
    }

    /// Sets the value.
    pub fn set(&mut self, _by: impl MayWrite<W>, value: impl Into<T>) {
        self.put(Some(value.into()));
    }

    /// Removes the member.
    pub fn clear(&mut self, _by: impl MayWrite<W>) {
        self.put(None);
    }

    /// Writes a null.
    pub fn set_null(&mut self, _by: impl MayWrite<W>) {
        *self = Self::from_parts(None, Placeholder::Null);
    }

    /// For rules of this module that decide by more than the writer.
    pub(super) fn put(&mut self, value: Option<T>) {
        *self = Self::from_parts(value, Placeholder::Nothing);
    }
}

impl<W> Member<String, W> {
    /// Sets the text; an empty text removes the member.
    pub fn set_or_clear(&mut self, by: impl MayWrite<W>, text: impl Into<String>) {
        let text = text.into();
        if text.is_empty() { self.clear(by) } else { self.set(by, text) }
    }
}

impl<T, W> Member<Vec<T>, W> {
    /// The elements, each for a change; the list itself stays.
    pub fn elements_mut(&mut self) -> &mut [T] {
        self.value.as_deref_mut().unwrap_or_default()
    }
}

impl<T, W> Member<Map<T>, W> {
    /// The value of a key for a change; `None`: the map does not have the key.
    pub fn entry_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut T>
    where
        String: Borrow<Q>,
    {
        self.value.as_mut()?.get_mut(key)
    }

    /// Sets the value of a key, in a new map when there is none.
    pub fn insert(&mut self, _by: impl MayWrite<W>, key: impl Into<String>, value: T) {
        self.value.get_or_insert_default().insert(key.into(), value);
    }

    /// Removes a key; the map stays, also when it is empty then.
    pub fn remove<Q: Ord + ?Sized>(&mut self, _by: impl MayWrite<W>, key: &Q)
    where
        String: Borrow<Q>,
    {
        if let Some(map) = &mut self.value {
            map.remove(key);
        }
    }
}

impl<T: Zero, W> Deref for Member<T, W> {
    type Target = T::View;

    fn deref(&self) -> &T::View {
        match self.get() {
            Some(value) => value.view(),
            None => T::zero(),
        }
    }
}

/// An object has no owner: its members have. It is created when one of them is written.
impl<T: super::object::Object, W> DerefMut for Member<T, W> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.get_or_insert_default()
    }
}

impl<T, W> Default for Member<T, W> {
    fn default() -> Self {
        Self::from_parts(None, Placeholder::Nothing)
    }
}

impl<T: Clone, W> Clone for Member<T, W> {
    fn clone(&self) -> Self {
        Self::from_parts(self.value.clone(), self.placeholder.clone())
    }
}

impl<T: PartialEq, W> PartialEq for Member<T, W> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (None, None) => self.placeholder == other.placeholder,
            (one, other) => one == other,
        }
    }
}

/// JSON of another shape is not printed: it may be a secret in a wrong place.
impl<T: fmt::Debug, W> fmt::Debug for Member<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, &self.placeholder) {
            (Some(value), _) => value.fmt(f),
            (None, Placeholder::Nothing) => f.write_str("absent"),
            (None, Placeholder::Null) => f.write_str("null"),
            (None, Placeholder::Odd(_)) => f.write_str("of another shape"),
        }
    }
}

impl<T: Serialize, W> Serialize for Member<T, W> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (&self.value, &self.placeholder) {
            (Some(value), _) => value.serialize(to),
            (None, Placeholder::Odd(value)) => value.serialize(to),
            (None, Placeholder::Nothing | Placeholder::Null) => to.serialize_unit(),
        }
    }
}

impl<'de, T: FromJson, W> Deserialize<'de> for Member<T, W> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(MemberVisitor(PhantomData))
    }
}

/// Reads a member in one pass, whatever its JSON is.
struct MemberVisitor<T, W>(PhantomData<fn() -> (T, W)>);

fn read<T, W>(found: Result<T, Value>) -> Member<T, W> {
    match found {
        Ok(value) => Member::from_parts(Some(value), Placeholder::Nothing),
        Err(odd) => Member::from_parts(None, Placeholder::Odd(odd)),
    }
}

impl<'de, T: FromJson, W> Visitor<'de> for MemberVisitor<T, W> {
    type Value = Member<T, W>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Member::from_parts(None, Placeholder::Null))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(read(T::text(text).ok_or_else(|| Value::from(text))))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(read(T::boolean(value).ok_or(Value::Bool(value))))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(read(T::integer(number).ok_or_else(|| Value::from(number))))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        let value = i64::try_from(number).ok().and_then(T::integer);
        Ok(read(value.ok_or_else(|| Value::from(number))))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Member::from_parts(None, Placeholder::Odd(Value::from(number))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::list(list).map(read)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::map(map).map(read)
    }
}
