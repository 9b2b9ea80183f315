//! Reads members of untrusted JSON objects.

use std::collections::BTreeMap;

use rp_base::Timestamp;
use serde_json::Value;

use super::{
    Condition, MOST_CONDITIONS, MOST_ITEMS, MOST_LABELS, MOST_MESSAGE, MOST_NAME, MOST_VALUE, Meta, Status,
};

/// Text without control characters and without bidirectional control marks, cut at `most` characters.
pub fn clean_text(text: &str, most: usize) -> String {
    if text.is_ascii() {
        return rp_base::text::clean(text, most);
    }
    let turns =
        |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    let cut: String = text.chars().take(most.saturating_mul(2)).filter(|c| !turns(*c)).collect();
    rp_base::text::clean(&cut, most)
}

/// The text at a JSON pointer; empty when there is none.
pub fn text(object: &Value, at: &str, most: usize) -> String {
    object.pointer(at).and_then(Value::as_str).map(|text| clean_text(text, most)).unwrap_or_default()
}

/// A name, reason or other short word.
pub fn short_text(object: &Value, at: &str) -> String {
    text(object, at, MOST_NAME)
}

/// A sentence of the cluster; line breaks become blanks.
pub fn message(object: &Value, at: &str) -> String {
    let Some(text) = object.pointer(at).and_then(Value::as_str) else { return String::new() };
    if text.contains(['\n', '\r']) {
        let most = text.char_indices().nth(MOST_MESSAGE * 2).map_or(text.len(), |(at, _)| at);
        let joined = text.get(..most).unwrap_or(text).replace("\r\n", " ").replace(['\n', '\r'], " ");
        return clean_text(joined.trim(), MOST_MESSAGE);
    }
    clean_text(text, MOST_MESSAGE)
}

/// An RFC 3339 instant.
pub fn time(object: &Value, at: &str) -> Option<Timestamp> {
    let text = object.pointer(at)?.as_str()?;
    (text.len() <= 40).then(|| Timestamp::parse(text).ok()).flatten()
}

/// A whole number; a number with a fraction or of another type counts as absent.
pub fn number(object: &Value, at: &str) -> Option<i64> {
    object.pointer(at)?.as_i64()
}

pub fn flag(object: &Value, at: &str) -> bool {
    object.pointer(at).and_then(Value::as_bool).unwrap_or(false)
}

/// The first [`MOST_ITEMS`] entries of a list.
pub fn list<'a>(object: &'a Value, at: &str) -> impl Iterator<Item = &'a Value> {
    object.pointer(at).and_then(Value::as_array).into_iter().flatten().take(MOST_ITEMS)
}

/// Short words of a list of texts.
pub fn short_texts(object: &Value, at: &str) -> Vec<String> {
    list(object, at).filter_map(Value::as_str).map(|text| clean_text(text, MOST_NAME)).collect()
}

/// A map of texts, bounded; values that are too long are cut and end in "…".
pub fn map(object: &Value, at: &str) -> BTreeMap<String, String> {
    let Some(map) = object.pointer(at).and_then(Value::as_object) else { return BTreeMap::new() };
    let pairs = map.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    pairs.take(MOST_LABELS).map(|(key, value)| (clean_text(key, 317), cut(value))).collect()
}

fn cut(value: &str) -> String {
    let mut text = clean_text(value, MOST_VALUE);
    if value.char_indices().nth(MOST_VALUE).is_some() {
        text.push('…');
    }
    text
}

/// The metadata; `None` without a name.
pub fn meta(object: &Value) -> Option<Meta> {
    let name = short_text(object, "/metadata/name");
    if name.is_empty() {
        return None;
    }
    Some(Meta {
        namespace: short_text(object, "/metadata/namespace"),
        name,
        created: time(object, "/metadata/creationTimestamp"),
        deleting: time(object, "/metadata/deletionTimestamp"),
    })
}

/// The conditions at a pointer, in the API's order. Beyond [`MOST_CONDITIONS`] the rest is left out.
pub fn conditions(object: &Value, at: &str) -> Vec<Condition> {
    let all = object.pointer(at).and_then(Value::as_array).into_iter().flatten().take(MOST_CONDITIONS);
    all.filter_map(condition).collect()
}

fn condition(value: &Value) -> Option<Condition> {
    let kind = short_text(value, "/type");
    if kind.is_empty() {
        return None;
    }
    let status = match value.get("status").and_then(Value::as_str) {
        Some("True") => Status::True,
        Some("False") => Status::False,
        _ => Status::Unknown,
    };
    Some(Condition {
        kind,
        status,
        since: time(value, "/lastTransitionTime"),
        reason: short_text(value, "/reason"),
        message: message(value, "/message"),
    })
}

/// A Kubernetes quantity as thousandths; `None` when it is not one. Large values saturate.
///
/// Decimal and binary suffixes and exponents (resource.Quantity of apimachinery).
#[expect(clippy::cast_possible_truncation, reason = "floating numbers stop at the ends of the whole ones")]
pub fn quantity_millis(text: &str) -> Option<i64> {
    if text.len() > 40 {
        return None;
    }
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = (text.get(..end)?, text.get(end..)?);
    let number: f64 = number.parse().ok().filter(|number: &f64| number.is_finite())?;
    let factor = match suffix {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        "Pi" => 1_125_899_906_842_624.0,
        "Ei" => 1_152_921_504_606_846_976.0,
        exponent => {
            let digits = exponent.strip_prefix(['e', 'E'])?;
            10f64.powi(digits.parse::<i32>().ok().filter(|e| e.abs() <= 30)?)
        }
    };
    Some((number * factor * 1000.0).round() as i64)
}

/// A quantity at a pointer, as thousandths.
pub fn millis(object: &Value, at: &str) -> Option<i64> {
    match object.pointer(at)? {
        Value::String(text) => quantity_millis(text),
        Value::Number(number) => number.as_i64().map(|number| number.saturating_mul(1000)),
        _ => None,
    }
}

/// A quantity at a pointer, whole units (bytes, pods).
pub fn quantity_units(object: &Value, at: &str) -> Option<i64> {
    match object.pointer(at)? {
        Value::String(text) => {
            // Plain numbers keep every digit.
            text.parse().ok().or_else(|| quantity_millis(text).map(|millis| millis / 1000))
        }
        Value::Number(number) => number.as_i64(),
        _ => None,
    }
}
