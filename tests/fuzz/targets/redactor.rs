//! JSON from which credentials are withheld: pieces do not matter, nothing else changes, and a key that is planted in any
//! surroundings does not pass.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rp_access::credentials::{Redactor, withhold};
use serde_json::{Value, json};
use tests_fuzz::pieces;

const WITHHELD: &str = "[withheld: ";
/// How base64 of it begins.
const WITHHELD_BASE64: &str = "W3dpdGhoZWxkO";
const MARK: &str = "MHcCAQEEplantedplantedplanted";

fuzz_target!(|data: &[u8]| {
    let whole = data.get(1..).unwrap_or_default();
    let (mut redactor, mut out) = (Redactor::default(), Vec::new());
    pieces(data).for_each(|piece| redactor.pass(piece, &mut out));
    assert_eq!(out, withhold(whole), "pieces do not matter");
    if let Ok(before) = serde_json::from_slice::<Value>(whole) {
        let after: Value = serde_json::from_slice(&out).expect("JSON stays JSON");
        // Names may be withheld as well, and then two may be one.
        let stands_in = |sign: &str| out.windows(sign.len()).any(|part| part == sign.as_bytes());
        assert!(before == after || stands_in(WITHHELD) || stands_in(WITHHELD_BASE64));
        same(&before, &after);
        assert_eq!(withhold(&out), out, "what has passed passes again");
    }
    let Ok(text) = std::str::from_utf8(whole) else { return };
    let cut = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (before, behind) = text.split_at(cut);
    let key =
        format!("{before}\n-----BEGIN EC PRIVATE KEY-----\n{MARK}\n-----END EC PRIVATE KEY-----\n{behind}");
    let map = json!({ "kind": "ConfigMap", "data": { "planted": key } }).to_string();
    let passed = withhold(map.as_bytes());
    assert!(!String::from_utf8_lossy(&passed).contains(MARK), "{map}");
});

/// Only texts may differ, and only by what stands in their place.
fn same(before: &Value, after: &Value) {
    match (before, after) {
        (Value::String(before), Value::String(after)) => {
            assert!(
                before == after || after.starts_with(WITHHELD) || after.starts_with(WITHHELD_BASE64),
                "{after}"
            );
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len());
            before.iter().zip(after).for_each(|(before, after)| same(before, after));
        }
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                if let Some(after) = after.get(name) {
                    same(value, after);
                }
            }
        }
        _ => assert_eq!(before, after),
    }
}
