//! Withholds credentials from JSON on its way to who may only read it (decision 18).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::in_text::{decoded, in_text};

/// Bytes of a string that are held for a look. A value of a config map has at most 1 MiB, and JSON may escape each byte
/// of it. A longer string is withheld.
const MOST: usize = 8 * 1024 * 1024;
/// Memory that is kept from one string to the next.
const KEPT: usize = 64 * 1024;
/// What stands in the place of a value. It needs no escapes.
const WITHHELD: &str = "[withheld: it holds credentials, and reading it needs write rights]";

/// Passes JSON on as it comes, but for strings that hold credentials. What is between strings, and every other string,
/// passes byte for byte, so the answer may be an object, a list, a table or the events of a watch. At most one string is
/// held; an unfinished one at the end does not pass.
#[derive(Default)]
pub struct Redactor {
    place: Place,
    held: Vec<u8>,
    /// The string is too long to be held.
    overlong: bool,
}

impl fmt::Debug for Redactor {
    /// Not what it holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Between,
    String,
    /// After a backslash in a string.
    Escape,
}

impl Redactor {
    /// Takes the next piece; what may pass is appended to `out`.
    pub fn pass(&mut self, mut piece: &[u8], out: &mut Vec<u8>) {
        while !piece.is_empty() {
            if self.place == Place::Between {
                let at = piece.iter().position(|byte| *byte == b'"');
                let (between, rest) = piece.split_at(at.unwrap_or(piece.len()));
                out.extend_from_slice(between);
                piece = rest;
                if let Some(rest) = piece.strip_prefix(b"\"") {
                    (self.place, piece) = (Place::String, rest);
                }
                continue;
            }
            let end = self.end_of_string(piece);
            let (string, rest) = piece.split_at(end.unwrap_or(piece.len()));
            self.hold(string);
            piece = rest;
            if let Some(rest) = piece.strip_prefix(b"\"") {
                (self.place, piece) = (Place::Between, rest);
                self.close(out);
            }
        }
    }

    /// Where the string's closing quote is in the piece.
    fn end_of_string(&mut self, piece: &[u8]) -> Option<usize> {
        piece.iter().position(|byte| {
            let ends = self.place == Place::String && *byte == b'"';
            self.place =
                if self.place == Place::String && *byte == b'\\' { Place::Escape } else { Place::String };
            ends
        })
    }

    fn hold(&mut self, string: &[u8]) {
        self.overlong |= self.held.len() + string.len() > MOST;
        if self.overlong {
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(string);
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        out.push(b'"');
        match self.stand_in() {
            Some(other) => out.extend_from_slice(other.as_bytes()),
            None => out.extend_from_slice(&self.held),
        }
        out.push(b'"');
        self.overlong = false;
        self.held.clear();
        self.held.shrink_to(KEPT);
    }

    /// What passes in the string's place.
    fn stand_in(&self) -> Option<String> {
        if self.overlong {
            return Some(WITHHELD.to_owned());
        }
        let text = String::from_utf8_lossy(&self.held);
        if in_text(&text) {
            return Some(WITHHELD.to_owned());
        }
        // Clients decode what is in `binaryData`.
        decoded(&text).filter(|text| in_text(text)).map(|_| STANDARD.encode(WITHHELD))
    }
}

/// A whole answer without the credentials in it.
pub fn withhold(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    Redactor::default().pass(json, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const SECRET: &str = "hush-hush-hush";

    fn kubeconfig() -> String {
        format!("clusters: []\ncontexts: []\nusers:\n- user: {{token: \"{SECRET}\"}}\n")
    }

    fn config_map() -> Value {
        let login = STANDARD.encode(format!("user:{SECRET}"));
        let docker = json!({ "auths": { "registry.example": { "auth": login } } }).to_string();
        let data = json!({ "kubeconfig": kubeconfig(), ".dockerconfigjson": docker, "plain": "a \"b\" \\ \u{1f511} <c>" });
        let applied = json!({ "kind": "ConfigMap", "data": data }).to_string();
        json!({
            "kind": "ConfigMap", "data": data, "binaryData": { "packed": STANDARD.encode(kubeconfig()) },
            "metadata": { "name": "a", "annotations": { "kubectl.kubernetes.io/last-applied-configuration": applied } },
        })
    }

    fn in_pieces(json: &[u8], size: usize) -> Vec<u8> {
        let (mut redactor, mut out) = (Redactor::default(), Vec::new());
        json.chunks(size).for_each(|piece| redactor.pass(piece, &mut out));
        out
    }

    #[test]
    fn what_holds_credentials_is_withheld_and_the_rest_is_as_it_was() {
        let map = config_map();
        let whole =
            json!({ "kind": "List", "items": [map, { "n": 1.50, "s": "" }], "rows": [{ "object": map }] })
                .to_string();
        for size in [1, 2, 7, whole.len()] {
            let out = String::from_utf8(in_pieces(whole.as_bytes(), size)).unwrap();
            assert!(!out.contains(SECRET) && !out.contains(&STANDARD.encode(SECRET)[..12]), "{out}");
            let mut expected: Value = serde_json::from_str(&whole).unwrap();
            for place in ["/items/0", "/rows/0/object"] {
                for field in [
                    "/data/kubeconfig",
                    "/data/.dockerconfigjson",
                    "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
                ] {
                    *expected.pointer_mut(&format!("{place}{field}")).unwrap() = json!(WITHHELD);
                }
                // Clients decode it, so it must be base64.
                *expected.pointer_mut(&format!("{place}/binaryData/packed")).unwrap() =
                    json!(STANDARD.encode(WITHHELD));
            }
            assert_eq!(serde_json::from_str::<Value>(&out).unwrap(), expected);
        }
    }

    #[test]
    fn an_event_of_a_watch_is_not_held_back() {
        let event = format!("{}\n", json!({ "type": "ADDED", "object": { "data": { "a": "b" } } }));
        let (mut redactor, mut out) = (Redactor::default(), Vec::new());
        for _ in 0..3 {
            redactor.pass(event.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(std::mem::take(&mut out)).unwrap(), event);
        }
    }

    #[test]
    fn what_is_too_long_or_unfinished_does_not_pass() {
        let text = format!("[\"{}\",\"a\"]", "x".repeat(MOST + 1));
        for size in [64 * 1024, text.len()] {
            let out = String::from_utf8(in_pieces(text.as_bytes(), size)).unwrap();
            assert_eq!(out, format!("[\"{WITHHELD}\",\"a\"]"));
        }
        assert_eq!(withhold(b"{\"a\":\"unfinished"), b"{\"a\":");
        let fits = format!("[\"{}\"]", "x".repeat(MOST));
        assert_eq!(withhold(fits.as_bytes()), fits.as_bytes());
    }

    proptest! {
        #[test]
        fn other_bytes_pass_as_they_came(json in "[ -~é\n]{0,200}", sizes in proptest::collection::vec(1..50_usize, 1..5)) {
            let whole = withhold(json.as_bytes());
            for size in sizes {
                prop_assert_eq!(&in_pieces(json.as_bytes(), size), &whole);
            }
            if let Ok(value) = serde_json::from_str::<Value>(&serde_json::to_string(&json).unwrap()) {
                let text = value.to_string();
                prop_assert_eq!(String::from_utf8(withhold(text.as_bytes())).unwrap(), text);
            }
        }
    }
}
