//! Text from outside in the audit log: it stands on one line, hides nothing, and no text reads like another.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rp_audit::Command;
use rp_base::sha256;
use rp_base::text::{clean, visible};

/// The bytes of a text that was made visible.
fn original(shown: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), shown);
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(rest[..at].as_bytes());
        let kind = rest[at + 1..].chars().next().expect("something is escaped");
        let after = &rest[at + 2..];
        let (bytes, used) = match kind {
            '\\' => (vec![b'\\'], 0),
            'n' => (vec![b'\n'], 0),
            'r' => (vec![b'\r'], 0),
            't' => (vec![b'\t'], 0),
            'x' => (vec![u8::from_str_radix(&after[..2], 16).expect("two digits")], 2),
            'u' => {
                let end = after.find('}').expect("an end");
                let code = u32::from_str_radix(&after[1..end], 16).expect("digits");
                (char::from_u32(code).expect("a character").to_string().into_bytes(), end + 1)
            }
            other => panic!("an escape of {other:?}"),
        };
        out.extend(bytes);
        rest = &after[used..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

fuzz_target!(|data: &[u8]| {
    let shown = visible(data, data.len());
    assert!(!shown.chars().any(char::is_control), "{shown:?}");
    assert_eq!(original(&shown), data, "no text reads like another");
    let most = data.first().map_or(0, |byte| usize::from(*byte));
    assert!(visible(data, most).len() <= 10 * most + 32);
    let arguments: Vec<&[u8]> = data.split(|byte| *byte == 0).collect();
    let command = Command::new(&arguments);
    assert!(
        command.shown.len() <= 257 && command.shown.iter().all(|text| !text.chars().any(char::is_control))
    );
    assert_eq!(command.digest, sha256(&[data, b"\0"].concat()).to_string());
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(clean(text, most).chars().all(|letter| letter == '\t' || !letter.is_control()));
    }
});
