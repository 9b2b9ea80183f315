//! PromQL: what is printed is read as the same, however it is broken into lines, and nothing is too deep for the stack.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rp_promql::{MOST_QUERY, explain, parse, pretty};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let node = match parse(text) {
        Ok(node) => node,
        Err(error) => {
            assert!(error.position.offset <= text.len() && !error.message.is_empty());
            return;
        }
    };
    let printed = node.to_string();
    let again = parse(&printed).unwrap_or_else(|error| panic!("{printed:?}: {error}"));
    assert_eq!(again.to_string(), printed);
    let broken = pretty(&node);
    if broken.len() > MOST_QUERY {
        return; // Arguments deep inside have many blanks before them.
    }
    let again = parse(&broken).unwrap_or_else(|error| panic!("{broken:?}: {error}"));
    assert_eq!(again.to_string(), printed, "{broken}");
    let told = explain(text).unwrap_or_else(|error| panic!("{error}"));
    assert!(text.get(told.tree.start..told.tree.end).is_some());
});
