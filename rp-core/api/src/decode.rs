//! A request's body decoded over the existing cluster (`contract/api.md` §8.3, §10.1): objects merge member by member,
//! lists by position, maps by key. It decodes straight into the value, so that a member given twice merges
//! twice.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::CloudError;
use crate::render::quoted;
use crate::schema::{Member, Members, Presence, Shape};
use crate::version::{JsonDialect, Version};

/// Decodes a body into `over`, a cluster as the version shows it.
///
/// # Errors
/// 400 `InvalidRequestContent`: it is not a JSON object, or a member has another type; `over` must not be used then.
pub fn decode_into(version: &Version, over: &mut Value, body: &[u8]) -> Result<(), CloudError> {
    decode_members_into(&version.cluster, version.json, over, body)
}

/// Lays a body over an object of those members.
///
/// # Errors
/// As [`decode_into`].
pub fn decode_members_into(
    members: &Members,
    json: JsonDialect,
    over: &mut Value,
    body: &[u8],
) -> Result<(), CloudError> {
    decode_members(members, json, over, body).map_err(|error| unreadable(&error.to_string()))
}

/// The same with the decoder's error.
pub(crate) fn decode_members(
    members: &Members,
    json: JsonDialect,
    over: &mut Value,
    body: &[u8],
) -> serde_json::Result<()> {
    let mut decoder = serde_json::Deserializer::from_slice(body);
    let top = BodySeed { members, json, to: over };
    top.deserialize(&mut decoder).and_then(|()| decoder.end())
}

/// The refusal of a body that cannot be decoded, with the decoder's words (`contract/api.md` §10 step 5).
pub fn unreadable(words: &str) -> CloudError {
    let words = quoted(words);
    let message = format!("The request content was invalid and could not be deserialized: {words}.");
    CloudError::bad("InvalidRequestContent", "", message)
}

/// The body itself: `null` means no body.
struct BodySeed<'a> {
    members: &'a Members,
    json: JsonDialect,
    to: &'a mut Value,
}

impl<'de> DeserializeSeed<'de> for BodySeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, decoder: D) -> Result<(), D::Error> {
        decoder.deserialize_map(ObjectVisitor { members: self.members, json: self.json, to: self.to })
    }
}

/// One value of a known shape.
struct ValueSeed<'a> {
    shape: &'a Shape,
    /// What `null` does; an element of a list or map has no member of its own.
    presence: Presence,
    replaced: bool,
    element: bool,
    json: JsonDialect,
    to: &'a mut Value,
}

impl<'a> ValueSeed<'a> {
    fn member(member: &'a Member, json: JsonDialect, to: &'a mut Value) -> Self {
        let Member { shape, presence, replaced, .. } = member;
        Self { shape, presence: *presence, replaced: *replaced, element: false, json, to }
    }

    fn element(shape: &'a Shape, json: JsonDialect, to: &'a mut Value) -> Self {
        Self { shape, presence: Presence::Plain, replaced: false, element: true, json, to }
    }

    /// `null` (`contract/api.md` §8.3).
    fn clear(self) {
        let empties = match self.shape {
            Shape::List(_) | Shape::Map(_) => true,
            Shape::Object(_) => self.presence == Presence::Nullable,
            Shape::Text | Shape::Int | Shape::Bool => false,
        };
        match self.json {
            JsonDialect::Sorted if self.element => *self.to = Value::Null,
            JsonDialect::Sorted if !self.replaced => {}
            JsonDialect::Declared if self.element && !empties => {
                if self.to.is_null() {
                    *self.to = zero(self.shape);
                }
            }
            JsonDialect::Declared if !empties => {}
            JsonDialect::Sorted | JsonDialect::Declared => *self.to = Value::Null,
        }
    }
}

/// The value of an element that is given as `null`.
fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Object(_) | Shape::Map(_) => Value::Object(Map::new()),
        Shape::List(_) => Value::Array(Vec::new()),
        Shape::Text => Value::String(String::new()),
        Shape::Int => Value::from(0),
        Shape::Bool => Value::Bool(false),
    }
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, decoder: D) -> Result<(), D::Error> {
        decoder.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.shape {
            Shape::Text => "a string",
            Shape::Int => "an integer",
            Shape::Bool => "true or false",
            Shape::Object(_) | Shape::Map(_) => "an object",
            Shape::List(_) => "an array",
        })
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.clear();
        Ok(())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        match self.shape {
            Shape::Text => {
                *self.to = Value::String(text.to_owned());
                Ok(())
            }
            // Whatever the text is, it may be a secret in the wrong place.
            _ => Err(E::invalid_type(de::Unexpected::Other("string"), &self)),
        }
    }

    fn visit_bool<E: de::Error>(self, yes: bool) -> Result<(), E> {
        match self.shape {
            Shape::Bool => {
                *self.to = Value::Bool(yes);
                Ok(())
            }
            _ => Err(E::invalid_type(de::Unexpected::Bool(yes), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<(), E> {
        let fits = self.json == JsonDialect::Declared || i32::try_from(number).is_ok();
        match self.shape {
            Shape::Int if fits => {
                *self.to = Value::from(number);
                Ok(())
            }
            Shape::Int => Err(E::invalid_value(de::Unexpected::Signed(number), &"a 32-bit integer")),
            _ => Err(E::invalid_type(de::Unexpected::Signed(number), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<(), E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => Err(E::invalid_value(de::Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Shape::List(of) = self.shape else {
            return Err(de::Error::invalid_type(de::Unexpected::Seq, &self));
        };
        let mut before = match self.to.take() {
            Value::Array(before) => before.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let mut list = Vec::new();
        loop {
            let mut element = before.next().unwrap_or_default();
            if elements.next_element_seed(ValueSeed::element(of, self.json, &mut element))?.is_none() {
                break;
            }
            list.push(element);
        }
        *self.to = Value::Array(list);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        match self.shape {
            Shape::Object(members) => {
                ObjectVisitor { members, json: self.json, to: self.to }.visit_map(entries)
            }
            Shape::Map(of) => {
                if self.replaced || !self.to.is_object() {
                    *self.to = Value::Object(Map::new());
                }
                while let Some(key) = entries.next_key::<String>()? {
                    let mut value = Value::Null;
                    entries.next_value_seed(ValueSeed::element(of, self.json, &mut value))?;
                    if let Value::Object(map) = &mut *self.to {
                        map.insert(key, value);
                    }
                }
                Ok(())
            }
            _ => Err(de::Error::invalid_type(de::Unexpected::Map, &self)),
        }
    }
}

/// An object of known members.
struct ObjectVisitor<'a> {
    members: &'a Members,
    json: JsonDialect,
    to: &'a mut Value,
}

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        if !self.to.is_object() {
            *self.to = Value::Object(Map::new());
        }
        while let Some(key) = entries.next_key::<String>()? {
            let (Some(member), Value::Object(map)) = (named(self.members, &key, self.json), &mut *self.to)
            else {
                entries.next_value::<IgnoredAny>()?;
                continue;
            };
            let mut value = map.remove(member.name).unwrap_or_default();
            entries.next_value_seed(ValueSeed::member(member, self.json, &mut value))?;
            if !value.is_null() {
                map.insert(member.name.to_owned(), value);
            }
        }
        Ok(())
    }
}

/// The member that a key of a request means.
fn named<'a>(members: &'a Members, key: &str, json: JsonDialect) -> Option<&'a Member> {
    let exact = members.get(key);
    match json {
        JsonDialect::Sorted => exact,
        JsonDialect::Declared => {
            exact.or_else(|| members.0.iter().find(|member| member.name.eq_ignore_ascii_case(key)))
        }
    }
}
