//! What is ours of SSH and terminals: lines of host keys, names of users and places, text that is shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::ssh::host_keys::{fingerprint_of, normal};
use proxy::terminal::TerminalDestination;
use rp_base::terminal::Cleaner;
use tests_fuzz::pieces;

fuzz_target!(|data: &[u8]| {
    for colours in [false, true] {
        let mut cleaner = Cleaner::new(colours);
        let cut: Vec<u8> = pieces(data).flat_map(|piece| cleaner.clean(piece)).collect();
        let whole = Cleaner::new(colours).clean(data.get(1..).unwrap_or_default());
        assert_eq!(cut, whole, "pieces do not matter");
        let shown = whole.iter().filter(|byte| !matches!(**byte, b'\n' | b'\r' | b'\t'));
        assert!(
            shown.clone().all(|byte| *byte >= b' ' && *byte != 0x7f || colours && *byte == 0x1b),
            "{whole:?}"
        );
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    for line in text.lines().take(20) {
        if let Some(key) = normal(line) {
            assert_eq!(normal(&key).as_ref(), Some(&key), "one form");
            assert!(fingerprint_of(&key).is_some_and(|text| text.starts_with("SHA256:")));
            assert!(!key.contains(['\n', '\r', '\0']));
        }
    }
    assert!(!rp_access::ssh_user(text).contains('@'));
    if let Ok(place) = serde_json::from_str::<TerminalDestination>(text)
        && place.is_sound()
    {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-./".contains(&byte);
        let words = place.words();
        assert!(
            words.bytes().all(plain)
                && !words.contains("..")
                && words.split('/').all(|part| !part.is_empty())
        );
    }
});
