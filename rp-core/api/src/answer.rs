//! The order of members in answers (`contract/api.md` §8.3).

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Value;

use crate::convert::is_zero;
use crate::schema::{Members, Presence, Shape};
use crate::version::{Json, Version};

/// A cluster as a version writes it.
#[derive(Debug)]
pub struct Answer<'a> {
    pub version: &'a Version,
    /// Of [`crate::convert::to_answer`].
    pub shown: &'a Value,
}

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Object { members: &self.version.cluster, json: self.version.json, value: self.shown }.serialize(to)
    }
}

struct Object<'a> {
    members: &'a Members,
    json: Json,
    value: &'a Value,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut members: Vec<_> = self.members.0.iter().collect();
        if self.json == Json::Sorted {
            members.sort_by_key(|member| member.name);
        }
        let mut map = to.serialize_map(None)?;
        let none = Value::Null;
        for member in members {
            let value = self.value.get(member.name).unwrap_or(&none);
            let there = match member.presence {
                Presence::Plain => !is_zero(value),
                Presence::Nullable => !value.is_null(),
                // The one fixed object that the newest version leaves out.
                Presence::Fixed => {
                    self.json == Json::Declared || member.name != "consoleProfile" || !is_zero(value)
                }
            };
            if there {
                map.serialize_entry(member.name, &One { shape: &member.shape, json: self.json, value })?;
            }
        }
        map.end()
    }
}

struct One<'a> {
    shape: &'a Shape,
    json: Json,
    value: &'a Value,
}

impl Serialize for One<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { shape, json, value } = *self;
        match (shape, value) {
            (Shape::Object(members), value) => Object { members, json, value }.serialize(to),
            (Shape::List(shape), Value::Array(list)) => {
                let mut seq = to.serialize_seq(Some(list.len()))?;
                for value in list {
                    seq.serialize_element(&One { shape, json, value })?;
                }
                seq.end()
            }
            (Shape::Map(shape), Value::Object(map)) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by(|a, b| a.0.cmp(b.0));
                let mut out = to.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    out.serialize_entry(key, &One { shape, json, value })?;
                }
                out.end()
            }
            _ => value.serialize(to),
        }
    }
}
