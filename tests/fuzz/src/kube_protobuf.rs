//! A model of how an API server reads an access review in protobuf, by the rules of the code that is generated for it:
//! of a text that is given twice the last counts, messages that are given twice are merged, the number of a field is the
//! lower 32 bits, groups are skipped.

use serde_json::{Map, Value, json};

/// A field of a message.
struct Field<'a> {
    number: i32,
    /// Of a length-delimited field.
    bytes: Option<&'a [u8]>,
}

/// The review as JSON; `None`: the API server refuses it.
pub fn access_review(bytes: &[u8]) -> Option<Value> {
    let unknown = fields(bytes.strip_prefix(b"k8s\0")?)?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in unknown {
        match (field.number, field.bytes) {
            (1, bytes) => {
                for part in fields(bytes?)? {
                    match part.number {
                        1 => version = text(part.bytes?),
                        2 => kind = text(part.bytes?),
                        _ => {}
                    }
                }
            }
            (2, bytes) => raw = bytes?,
            _ => {}
        }
    }
    let mut spec = Map::new();
    for field in fields(raw)? {
        if field.number != 2 {
            continue;
        }
        for attributes in fields(field.bytes?)? {
            let (name, names): (_, &[&str]) = match attributes.number {
                1 => (
                    "resourceAttributes",
                    &["namespace", "verb", "group", "version", "resource", "subresource", "name"],
                ),
                2 => ("nonResourceAttributes", &["path", "verb"]),
                _ => continue,
            };
            let read = spec.entry(name).or_insert_with(|| json!({}));
            for one in fields(attributes.bytes?)? {
                let place =
                    usize::try_from(one.number).ok().and_then(|number| names.get(number.checked_sub(1)?));
                if let Some(place) = place {
                    read[*place] = text(one.bytes?).into();
                }
            }
        }
    }
    Some(json!({ "apiVersion": version, "kind": kind, "spec": spec }))
}

/// Go keeps bytes that are no UTF-8; a text with such never equals ours.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The fields of a message outside groups.
fn fields(mut message: &[u8]) -> Option<Vec<Field<'_>>> {
    let (mut found, mut depth) = (Vec::new(), 0_u32);
    while !message.is_empty() {
        let key = varint(&mut message)?;
        let number = (key >> 3) as i32;
        if number <= 0 {
            return None;
        }
        let bytes = match key & 7 {
            0 => {
                varint(&mut message)?;
                None
            }
            1 => {
                message = message.get(8..)?;
                None
            }
            2 => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                let (bytes, rest) = message.split_at_checked(length)?;
                message = rest;
                Some(bytes)
            }
            3 => {
                depth += 1;
                continue;
            }
            4 => {
                depth = depth.checked_sub(1)?;
                continue;
            }
            5 => {
                message = message.get(4..)?;
                None
            }
            _ => return None,
        };
        if depth == 0 {
            found.push(Field { number, bytes });
        }
    }
    (depth == 0).then_some(found)
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
