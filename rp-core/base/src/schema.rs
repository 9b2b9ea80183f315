//! How the types of this crate are described in JSON Schema: documents and answers have them as text.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use zeroize::Zeroize;

use crate::{Digest, Id, Secret, Timestamp};

/// RFC 3339 in UTC.
impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        formatted(generator, "date-time")
    }
}

impl JsonSchema for Id {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// 64 hexadecimal digits.
impl JsonSchema for Digest {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// As the value itself: a caller sends it like any other.
impl<T: Zeroize + JsonSchema> JsonSchema for Secret<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A text of a format that JSON Schema 2020-12 names (validation, section 7.3).
fn formatted(generator: &mut SchemaGenerator, format: &str) -> Schema {
    let mut schema = String::json_schema(generator);
    schema.insert("format".to_owned(), format.into());
    schema
}
