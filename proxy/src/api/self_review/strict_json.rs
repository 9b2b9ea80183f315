//! A review in JSON, read only where every API server reads the same.
//!
//! API servers decode with Go's rules: of a member that is given twice the objects are merged, invalid UTF-8 and half
//! surrogate pairs become U+FFFD, members that they do not know are skipped whatever is in them, and older decoders take
//! names in any case of letters. What would be judged here as one action and answered by the cluster as another is
//! therefore refused. Members that are not known may stand in it, as for an API server.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Members of a review, of its specification and of what that names (`k8s.io/api/authorization/v1`).
const REVIEW: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];
const SPEC: [&str; 2] = ["resourceAttributes", "nonResourceAttributes"];
const RESOURCE: [&str; 9] = [
    "namespace",
    "verb",
    "group",
    "version",
    "resource",
    "subresource",
    "name",
    "fieldSelector",
    "labelSelector",
];
const PATH: [&str; 2] = ["path", "verb"];

/// The review; `None`: it is no JSON, or not read alike by all.
pub(super) fn review(body: &[u8]) -> Option<Value> {
    let Unambiguous(review) = serde_json::from_slice(body).ok()?;
    let at = |pointer: &str| review.pointer(pointer);
    let exact = spells_exactly(at(""), &REVIEW)
        && spells_exactly(at("/spec"), &SPEC)
        && spells_exactly(at("/spec/resourceAttributes"), &RESOURCE)
        && spells_exactly(at("/spec/nonResourceAttributes"), &PATH);
    exact.then_some(review)
}

/// Whether no member has a name that is a known one in other letters.
fn spells_exactly(object: Option<&Value>, names: &[&str]) -> bool {
    let is_other_spelling =
        |given: &String| names.iter().any(|name| given != name && folded(given) == folded(name));
    object.and_then(Value::as_object).is_none_or(|members| !members.keys().any(is_other_spelling))
}

/// A name without regard to case, as Go folds it: `ſ` is an `s`, and the Kelvin sign a `k`.
fn folded(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}

/// JSON in which no object has a member twice.
struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(decoder: D) -> Result<Self, D::Error> {
        decoder.deserialize_any(UnambiguousVisitor).map(Self)
    }
}

struct UnambiguousVisitor;

impl<'de> Visitor<'de> for UnambiguousVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(Unambiguous(element)) = elements.next_element()? {
            read.push(element);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let Unambiguous(value) = members.next_value()?;
            if read.insert(name, value).is_some() {
                return Err(A::Error::custom("a member is given twice"));
            }
        }
        Ok(Value::Object(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a body asks for, as `verb resource`; `None`: it is refused.
    fn asked(body: &[u8]) -> Option<String> {
        let attributes = review(body)?["spec"]["resourceAttributes"].take();
        let word = |name: &str| attributes[name].as_str().unwrap_or_default().to_owned();
        Some(format!("{} {}", word("verb"), word("resource")))
    }

    /// What API servers read, member by member, or nothing where they do not read what serde_json reads.
    #[test]
    fn a_review_is_read_as_api_servers_read_it_or_refused() {
        let plain = r#"{"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}"#;
        let secrets = r#""spec":{"resourceAttributes":{"verb":"get","resource":"secrets"}}"#;
        let of_secrets = |more: &str| format!("{{{secrets}{more}}}");
        for (body, expected) in [
            (plain.to_owned(), Some("get pods")),
            (format!(" \n{plain}\n"), Some("get pods")),
            // Unknown members are skipped, null leaves a member empty, escapes are letters.
            (of_secrets(r#","other":{"a":[1,2.5,null,true]}"#), Some("get secrets")),
            (
                r#"{"spec":{"resourceAttributes":{"verb":null,"resource":"\u0073ecrets"}}}"#.to_owned(),
                Some(" secrets"),
            ),
            ("{}".to_owned(), Some(" ")),
            // Merged by Go, the last one for serde_json.
            (of_secrets(r#","spec":{}"#), None),
            (of_secrets(r#","spec":null"#), None),
            (
                r#"{"spec":{"resourceAttributes":{"resource":"secrets"},"resourceAttributes":{"verb":"get"}}}"#
                    .to_owned(),
                None,
            ),
            (
                r#"{"spec":{"resourceAttributes":{"resource":"secrets","resource":null,"verb":"get"}}}"#
                    .to_owned(),
                None,
            ),
            // Names in other letters.
            (format!("{{{}}}", secrets.replace("spec", "Spec")), None),
            (plain.replace("resourceAttributes", "ResourceAttributes"), None),
            (plain.replace("\"resource\"", "\"Resource\""), None),
            (plain.replace("\"spec\"", "\"\u{17f}pec\""), None),
            // No error for Go, at least in members that it does not know.
            (of_secrets(r#","metadata":{"name":"\ud800"}"#), None),
            (of_secrets(r#","other":1e999"#), None),
            (of_secrets(&format!(",\"other\":{}{}", "[".repeat(200), "]".repeat(200))), None),
            // An error for both.
            (format!("{plain}{plain}"), None),
            (format!("\u{feff}{plain}"), None),
            (String::new(), None),
        ] {
            assert_eq!(asked(body.as_bytes()).as_deref(), expected, "{body}");
        }
        let invalid = [&b"{\"metadata\":{\"name\":\"\xff\"},"[..], secrets.as_bytes(), b"}"].concat();
        assert_eq!(asked(&invalid), None, "invalid UTF-8");
    }
}
