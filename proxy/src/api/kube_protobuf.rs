//! Kubernetes' protobuf encoding (`application/vnd.kubernetes.protobuf`), as far as the proxy reads and writes messages
//! itself: access reviews, and the event that ends a watch.
//!
//! The field numbers are those of `generated.proto` in `k8s.io/apimachinery/pkg/runtime`, `.../apis/meta/v1` and
//! `k8s.io/api/authorization/v1`. An object stands in an envelope: `k8s\0`, then `runtime.Unknown`.

use serde_json::{Map, Value, json};

/// The media type without parameters.
pub(super) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";
const MAGIC: &[u8] = b"k8s\0";
/// The highest number of a field. Of a higher one Go takes the lower 32 bits.
const MOST_NUMBER: u64 = (1 << 29) - 1;
/// `ResourceAttributes` and `NonResourceAttributes`, in the order of their field numbers.
const RESOURCE: [&str; 7] = ["namespace", "verb", "group", "version", "resource", "subresource", "name"];
const NON_RESOURCE: [&str; 2] = ["path", "verb"];

/// A `SelfSubjectAccessReview` as the JSON that means the same; `None`: it is no such message, or one that API servers may
/// read otherwise. They merge a field that is given twice, and skip groups.
pub(super) fn access_review(bytes: &[u8]) -> Option<Value> {
    read_access_review(bytes).ok()
}

/// A message that is not read.
#[derive(Debug)]
struct Unreadable;

fn read_access_review(bytes: &[u8]) -> Result<Value, Unreadable> {
    let unknown = bytes.strip_prefix(MAGIC).ok_or(Unreadable)?;
    let (meta, raw) = (field(unknown, 1)?.unwrap_or_default(), field(unknown, 2)?.unwrap_or_default());
    let spec = field(raw, 2)?.unwrap_or_default();
    let mut read = Map::new();
    let attributes =
        [("resourceAttributes", 1, &RESOURCE[..]), ("nonResourceAttributes", 2, &NON_RESOURCE[..])];
    for (name, number, fields) in attributes {
        if let Some(message) = field(spec, number)? {
            read.insert(name.to_owned(), texts(message, fields)?);
        }
    }
    let mut review = Map::new();
    for (name, number) in [("apiVersion", 1), ("kind", 2)] {
        if let Some(text) = text(meta, number)? {
            review.insert(name.to_owned(), text.into());
        }
    }
    review.insert("metadata".to_owned(), json!({}));
    review.insert("spec".to_owned(), Value::Object(read));
    Ok(Value::Object(review))
}

/// The frame of a watch that holds an event of type ERROR: the length of a `WatchEvent` in four bytes, then the message.
/// `status` is the `Status` object in JSON.
pub(super) fn watch_error(status: &Value) -> Vec<u8> {
    let (mut meta, mut unknown, mut raw, mut event) = (Vec::new(), MAGIC.to_vec(), Vec::new(), Vec::new());
    put(&mut meta, 1, b"v1");
    put(&mut meta, 2, b"Status");
    put(&mut unknown, 1, &meta);
    put(&mut unknown, 2, &status_message(status));
    put(&mut raw, 1, &unknown);
    put(&mut event, 1, b"ERROR");
    put(&mut event, 2, &raw);
    let mut frame = u32::try_from(event.len()).unwrap_or_default().to_be_bytes().to_vec();
    frame.append(&mut event);
    frame
}

/// `Status` of `meta/v1`.
fn status_message(status: &Value) -> Vec<u8> {
    let mut message = Vec::new();
    put(&mut message, 1, b"");
    for (number, name) in [(2, "status"), (3, "message"), (4, "reason")] {
        put(&mut message, number, status[name].as_str().unwrap_or_default().as_bytes());
    }
    let mut details = Vec::new();
    for cause in status["details"]["causes"].as_array().into_iter().flatten() {
        let mut told = Vec::new();
        for (number, name) in [(1, "reason"), (2, "message"), (3, "field")] {
            put(&mut told, number, cause[name].as_str().unwrap_or_default().as_bytes());
        }
        put(&mut details, 4, &told);
    }
    put(&mut message, 5, &details);
    put_varint(&mut message, 6 << 3);
    put_varint(&mut message, status["code"].as_u64().unwrap_or_default());
    message
}

/// Appends a length-delimited field.
fn put(message: &mut Vec<u8>, number: u64, value: &[u8]) {
    put_varint(message, number << 3 | 2);
    put_varint(message, value.len() as u64);
    message.extend_from_slice(value);
}

fn put_varint(message: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        message.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// The texts of a message that has them under the numbers from 1 on, by name.
fn texts(message: &[u8], names: &[&str]) -> Result<Value, Unreadable> {
    let mut found = Map::new();
    for (name, number) in names.iter().zip(1..) {
        if let Some(text) = text(message, number)? {
            found.insert((*name).to_owned(), text.into());
        }
    }
    Ok(Value::Object(found))
}

fn text(message: &[u8], number: u64) -> Result<Option<String>, Unreadable> {
    let Some(bytes) = field(message, number)? else { return Ok(None) };
    String::from_utf8(bytes.to_vec()).map(Some).map_err(|_| Unreadable)
}

/// The length-delimited field of that number; `None`: it is not there.
fn field(mut message: &[u8], number: u64) -> Result<Option<&[u8]>, Unreadable> {
    let mut found = None;
    while !message.is_empty() {
        let key = take_varint(&mut message).ok_or(Unreadable)?;
        if key >> 3 > MOST_NUMBER {
            return Err(Unreadable);
        }
        let length = match key & 7 {
            0 => {
                take_varint(&mut message).ok_or(Unreadable)?;
                continue;
            }
            1 => 8,
            2 => {
                take_varint(&mut message).and_then(|length| usize::try_from(length).ok()).ok_or(Unreadable)?
            }
            5 => 4,
            _ => return Err(Unreadable),
        };
        let (value, rest) = message.split_at_checked(length).ok_or(Unreadable)?;
        message = rest;
        if key >> 3 == number && key & 7 == 2 && found.replace(value).is_some() {
            return Err(Unreadable);
        }
    }
    Ok(found)
}

fn take_varint(message: &mut &[u8]) -> Option<u64> {
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
    fn a_review_is_read_and_any_cut_of_it_is_survived() {
        let (mut attributes, mut spec, mut raw) = (Vec::new(), Vec::new(), Vec::new());
        put(&mut attributes, 2, b"list");
        put(&mut attributes, 5, b"secrets");
        put(&mut spec, 1, &attributes);
        put(&mut raw, 1, b"");
        put(&mut raw, 2, &spec);
        let (mut meta, mut message) = (Vec::new(), MAGIC.to_vec());
        put(&mut meta, 1, b"authorization.k8s.io/v1");
        put(&mut meta, 2, b"SelfSubjectAccessReview");
        put(&mut message, 1, &meta);
        put(&mut message, 2, &raw);
        let review = access_review(&message).unwrap();
        assert_eq!(review["kind"], "SelfSubjectAccessReview");
        assert_eq!(
            review["spec"],
            json!({ "resourceAttributes": { "verb": "list", "resource": "secrets" } })
        );
        for cut in 0..message.len() {
            let _ = access_review(&message[..cut]);
        }
    }

    #[test]
    fn what_go_would_read_otherwise_is_refused() {
        let mut attributes = Vec::new();
        put(&mut attributes, 2, b"get");
        put(&mut attributes, 5, b"secrets");
        let of = |spec: &[u8]| {
            let (mut raw, mut message) = (Vec::new(), MAGIC.to_vec());
            put(&mut raw, 2, spec);
            put(&mut message, 2, &raw);
            access_review(&message)
        };
        let mut once = Vec::new();
        put(&mut once, 1, &attributes);
        assert_eq!(of(&once).unwrap()["spec"]["resourceAttributes"]["resource"], "secrets");
        let mut merged = once.clone();
        put(&mut merged, 1, b"");
        let (mut wrapped, group) = (Vec::new(), [once.as_slice(), &[7 << 3 | 3, 7 << 3 | 4]].concat());
        put(&mut wrapped, 1 | 1 << 32, &attributes);
        let mut bytes = Vec::new();
        put(&mut bytes, 1, &[5 << 3 | 2, 1, 0xff]);
        for spec in [merged, wrapped, group, bytes] {
            assert_eq!(of(&spec), None, "{spec:?}");
        }
    }

    #[test]
    fn the_event_is_framed_and_holds_a_status() {
        let status = json!({ "status": "Failure", "message": "x".repeat(200), "reason": "Unauthorized", "code": 401,
            "details": { "causes": [{ "reason": "grant_ended", "message": "", "field": "you" }] } });
        let frame = watch_error(&status);
        let (length, event) = frame.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_be_bytes(*length) as usize, event.len());
        let part = |message, number| field(message, number).unwrap().unwrap();
        let words = |message, number| text(message, number).unwrap().unwrap();
        assert_eq!(words(event, 1), "ERROR");
        let unknown = part(part(event, 2), 1).strip_prefix(MAGIC).unwrap();
        assert_eq!(words(part(unknown, 1), 2), "Status");
        let message = part(unknown, 2);
        assert_eq!(words(message, 3).len(), 200);
        assert_eq!(words(message, 4), "Unauthorized");
        assert_eq!(words(part(part(message, 5), 4), 1), "grant_ended");
        assert!(message.ends_with(&[6 << 3, 0x91, 0x03]), "401 as a varint");
    }
}
