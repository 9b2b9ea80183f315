//! Ignition configs that are not what they say: an error that holds nothing of them, and bounded memory.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use rp_node_config::ignition::{Config, IgnitionError};
use serde_json::{Value, json};

fn with_contents(contents: Value) -> Config {
    let mut config = json!({
        "ignition": { "version": "3.2.0" },
        "storage": { "files": [{ "path": "/f" }] },
    });
    config["storage"]["files"][0]["contents"] = contents;
    Config::parse(config.to_string().as_bytes()).unwrap()
}

fn contents(contents: Value) -> Result<Vec<u8>, IgnitionError> {
    with_contents(contents).file("/f").unwrap().contents()
}

fn packed(bytes: &[u8]) -> String {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(bytes).unwrap();
    format!("data:;base64,{}", STANDARD.encode(gzip.finish().unwrap()))
}

#[test]
fn contents_are_decoded_as_they_say() {
    assert_eq!(contents(json!({})).unwrap(), b"");
    assert_eq!(contents(json!({ "source": "data:,a%0Ab" })).unwrap(), b"a\nb");
    assert_eq!(contents(json!({ "source": "data:text/plain;base64,YQ==" })).unwrap(), b"a");
    assert_eq!(contents(json!({ "source": packed(b"abc"), "compression": "gzip" })).unwrap(), b"abc");
}

#[test]
fn what_is_wrong_with_contents_is_named() {
    let refused = |value| contents(value).unwrap_err();
    assert!(matches!(refused(json!({ "source": "https://a/b" })), IgnitionError::Remote { .. }));
    assert!(matches!(refused(json!({ "source": "data:nothing" })), IgnitionError::Encoding { .. }));
    assert!(matches!(refused(json!({ "source": "data:;base64,*" })), IgnitionError::Encoding { .. }));
    let zstd = json!({ "source": "data:,a", "compression": "zstd" });
    assert!(matches!(refused(zstd), IgnitionError::Compression { .. }));
    let broken = json!({ "source": "data:,a", "compression": "gzip" });
    assert!(matches!(refused(broken), IgnitionError::Encoding { .. }));
    let bomb = json!({ "source": packed(&vec![0; 17 << 20]), "compression": "gzip" });
    assert!(matches!(refused(bomb), IgnitionError::Contents { .. }));
}

#[test]
fn errors_and_debug_output_hold_no_contents() {
    let malformed = Config::parse(br#"{"ignition": "SECRET"}"#).unwrap_err();
    assert!(!format!("{malformed} {malformed:?}").contains("SECRET"));
    let config = with_contents(json!({ "source": "data:,SECRET" }));
    assert!(!format!("{config:?}").contains("SECRET"));
}

#[test]
fn other_versions_and_sizes_are_refused() {
    let old = br#"{"ignition":{"version":"2.2.0"}}"#;
    assert!(matches!(Config::parse(old), Err(IgnitionError::Version)));
    assert!(matches!(Config::parse(&vec![b' '; (32 << 20) + 1]), Err(IgnitionError::TooLarge)));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Config::parse(&bytes);
    }
}
