//! Answers of a cluster's Prometheus, read as they pass: what passes is what came, what is cut stays JSON, and the strings
//! of a list are those that a parser of JSON finds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rp_prometheus::fuzzing::{scan, strings};
use serde_json::{Value, json};
use tests_fuzz::{first, pieces};

fuzz_target!(|data: &[u8]| {
    let Some((most, data)) = first(data) else { return };
    let whole: Vec<u8> = pieces(data).collect::<Vec<_>>().concat();
    let is_json = serde_json::from_slice::<Value>(&whole).is_ok();
    for most in [1 + usize::from(most & 7), usize::MAX] {
        match scan(pieces(data), most) {
            Some((out, elements, true)) => {
                assert!(elements <= most && out.len() <= whole.len() + 256);
                assert!(
                    !is_json || serde_json::from_slice::<Value>(&out).is_ok(),
                    "{}",
                    String::from_utf8_lossy(&out)
                );
            }
            Some((out, ..)) => assert_eq!(out, whole),
            None => {}
        }
    }
    let _ = strings(pieces(data));
    let names: Vec<String> =
        whole.split(|byte| *byte == b'\n').map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let answer = json!({ "status": "success", "data": names }).to_string();
    let short = names.iter().all(|name| json!(name).to_string().len() < 4000);
    let size = 1 + usize::from(data.first().copied().unwrap_or_default());
    assert!(!short || strings(answer.as_bytes().chunks(size)) == names, "{answer}");
});
