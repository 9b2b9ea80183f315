//! The order of members in responses (`contract/api.md` §8.3).

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Value;

use crate::convert::is_zero;
use crate::schema::{Members, Presence, Shape};
use crate::version::{JsonDialect, Version};

/// A cluster in the JSON of a version.
#[derive(Debug)]
pub struct ClusterResponse<'a> {
    pub version: &'a Version,
    /// Of [`crate::convert::to_answer`].
    pub shown: &'a Value,
}

impl Serialize for ClusterResponse<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        ObjectView { members: &self.version.cluster, json: self.version.json, value: self.shown }
            .serialize(to)
    }
}

struct ObjectView<'a> {
    members: &'a Members,
    json: JsonDialect,
    value: &'a Value,
}

impl Serialize for ObjectView<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut members: Vec<_> = self.members.0.iter().collect();
        if self.json == JsonDialect::Sorted {
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
                    self.json == JsonDialect::Declared || member.name != "consoleProfile" || !is_zero(value)
                }
            };
            if there {
                map.serialize_entry(
                    member.name,
                    &ValueView { shape: &member.shape, json: self.json, value },
                )?;
            }
        }
        map.end()
    }
}

struct ValueView<'a> {
    shape: &'a Shape,
    json: JsonDialect,
    value: &'a Value,
}

impl Serialize for ValueView<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { shape, json, value } = *self;
        match (shape, value) {
            (Shape::Object(members), value) => ObjectView { members, json, value }.serialize(to),
            (Shape::List(shape), Value::Array(list)) => {
                let mut seq = to.serialize_seq(Some(list.len()))?;
                for value in list {
                    seq.serialize_element(&ValueView { shape, json, value })?;
                }
                seq.end()
            }
            (Shape::Map(shape), Value::Object(map)) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by(|a, b| a.0.cmp(b.0));
                let mut out = to.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    out.serialize_entry(key, &ValueView { shape, json, value })?;
                }
                out.end()
            }
            _ => value.serialize(to),
        }
    }
}
