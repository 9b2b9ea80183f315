//! Reviews as kubectl 1.36 sends them: Kubernetes' protobuf envelope (`k8s\0`, then `runtime.Unknown`).
//!
//! Only the length-delimited fields that a review's spec has are read; everything else is passed over.

use serde_json::{Map, Value, json};

const MAGIC: &[u8] = b"k8s\0";
/// `k8s.io/api/authorization/v1` ResourceAttributes, in the order of their field numbers.
const RESOURCE: [&str; 7] = ["namespace", "verb", "group", "version", "resource", "subresource", "name"];
const NON_RESOURCE: [&str; 2] = ["path", "verb"];

/// The review as JSON; `None` when it is not such a message.
pub(super) fn read(bytes: &[u8]) -> Option<Value> {
    let unknown = bytes.strip_prefix(MAGIC)?;
    let (type_meta, raw) = (field(unknown, 1)?, field(unknown, 2).unwrap_or_default());
    let kind = text(type_meta, 2)?;
    let spec = field(raw, 2).unwrap_or_default();
    let spec = match kind.as_str() {
        "SelfSubjectAccessReview" => match (field(spec, 1), field(spec, 2)) {
            (Some(attributes), _) => json!({ "resourceAttributes": texts(attributes, &RESOURCE) }),
            (None, Some(attributes)) => json!({ "nonResourceAttributes": texts(attributes, &NON_RESOURCE) }),
            (None, None) => json!({}),
        },
        "SelfSubjectRulesReview" => json!({ "namespace": text(spec, 1) }),
        _ => Value::Null,
    };
    Some(json!({ "kind": kind, "apiVersion": text(type_meta, 1)?, "spec": spec }))
}

fn texts(message: &[u8], names: &[&str]) -> Value {
    let found = names
        .iter()
        .zip(1..)
        .filter_map(|(name, number)| Some(((*name).to_owned(), text(message, number)?.into())));
    Value::Object(found.collect::<Map<_, _>>())
}

fn text(message: &[u8], number: u64) -> Option<String> {
    String::from_utf8(field(message, number)?.to_vec()).ok()
}

/// The last length-delimited field of that number.
fn field(mut message: &[u8], number: u64) -> Option<&[u8]> {
    let mut found = None;
    while !message.is_empty() {
        let key = varint(&mut message)?;
        let length = match key & 7 {
            0 => {
                varint(&mut message)?;
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut message)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (value, rest) = message.split_at_checked(length)?;
        message = rest;
        if key >> 3 == number && key & 7 == 2 {
            found = Some(value);
        }
    }
    found
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_an_access_review_and_survives_cuts() {
        let attributes = b"\x12\x04list\x2a\x04pods";
        let mut spec = vec![0x0a, attributes.len() as u8];
        spec.extend_from_slice(attributes);
        let mut raw = vec![0x0a, 0x00, 0x12, spec.len() as u8];
        raw.extend_from_slice(&spec);
        let meta = b"\x0a\x17authorization.k8s.io/v1\x12\x17SelfSubjectAccessReview";
        let mut message = b"k8s\0".to_vec();
        message.extend_from_slice(&[0x0a, meta.len() as u8]);
        message.extend_from_slice(meta);
        message.extend_from_slice(&[0x12, raw.len() as u8]);
        message.extend_from_slice(&raw);
        let review = read(&message).unwrap();
        assert_eq!(review["kind"], "SelfSubjectAccessReview");
        assert_eq!(review["spec"]["resourceAttributes"], json!({"verb": "list", "resource": "pods"}));
        for cut in 0..message.len() {
            let _ = read(&message[..cut]);
        }
    }
}
