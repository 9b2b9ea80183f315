//! Arbitrary JSON, and bodies with arbitrary JSON in arbitrary places.

use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Number, Value, json};

/// Texts that have broken parsers.
const NASTY: [&str; 22] = [
    "",
    " ",
    "\0",
    "\u{feff}",
    "\u{202e}abc",
    "É",
    "İ",
    "../..",
    "%2f",
    "/subscriptions//resourceGroups//providers",
    "/SUBSCRIPTIONS/x",
    "10.0.0.0/33",
    "::/0",
    "4.99.99",
    "99999999999999999999.1.1",
    "-1",
    "null",
    "true",
    "{\"auths\":[]}",
    "https://",
    "Standard_D8s_v3 ",
    "default",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(&NASTY[..]).prop_map(str::to_owned),
        any::<String>(),
        (1usize..3000).prop_map(|length| "x".repeat(length)),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-10i64..300).prop_map(Value::from),
        any::<f64>().prop_map(|number| Number::from_f64(number).map_or(Value::Null, Value::Number)),
        text().prop_map(Value::from),
    ]
}

/// Any JSON.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            hash_map(text(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// One change of a body: where (of all its places), and what.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Set(usize, Value),
    Remove(usize),
    Add(usize, String, Value),
}

/// Some changes.
pub(crate) fn changes() -> impl Strategy<Value = Vec<Change>> {
    let one = prop_oneof![
        4 => (any::<usize>(), any_json()).prop_map(|(at, value)| Change::Set(at, value)),
        4 => (any::<usize>(), text()).prop_map(|(at, value)| Change::Set(at, Value::from(value))),
        2 => any::<usize>().prop_map(Change::Remove),
        1 => (any::<usize>(), text(), any_json()).prop_map(|(at, key, value)| Change::Add(at, key, value)),
    ];
    vec(one, 1..4)
}

/// Makes the changes.
pub(crate) fn changed(mut body: Value, changes: &[Change]) -> Value {
    for change in changes {
        let mut places = Vec::new();
        walk(&body, "", &mut places);
        let place = |at: usize| places.get(at % places.len().max(1)).cloned().unwrap_or_default();
        match change {
            Change::Set(at, value) => {
                if let Some(found) = body.pointer_mut(&place(*at)) {
                    *found = value.clone();
                }
            }
            Change::Remove(at) => {
                let place = place(*at);
                let (parent, name) = place.rsplit_once('/').unwrap_or_default();
                match body.pointer_mut(parent) {
                    Some(Value::Object(map)) => drop(map.remove(&name.replace("~1", "/").replace("~0", "~"))),
                    Some(Value::Array(list)) if !list.is_empty() => drop(list.pop()),
                    _ => {}
                }
            }
            Change::Add(at, key, value) => match body.pointer_mut(&place(*at)) {
                Some(Value::Object(map)) => drop(map.insert(key.clone(), value.clone())),
                Some(Value::Array(list)) => list.push(value.clone()),
                Some(other) => *other = json!({key: value}),
                None => {}
            },
        }
    }
    body
}

fn walk(value: &Value, at: &str, places: &mut Vec<String>) {
    places.push(at.to_owned());
    match value {
        Value::Object(map) => {
            for (key, below) in map {
                walk(below, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), places);
            }
        }
        Value::Array(list) => {
            for (n, below) in list.iter().enumerate() {
                walk(below, &format!("{at}/{n}"), places);
            }
        }
        _ => {}
    }
}
