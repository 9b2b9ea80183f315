//! Withholds credentials from JSON on its way to who may only read it (decision 18).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::budget::Finding;
use super::in_text::{in_text, is_base64};

/// Bytes of a string that are held for a look. A value of a config map has at most 1 MiB, and JSON escapes quotes and line
/// ends by a byte each. A longer string is withheld.
const MOST: usize = 2 * 1024 * 1024;
/// Bytes that take long enough to search that other work of a thread should not wait for it.
const LONG: usize = 64 * 1024;
/// Memory that is kept from one string to the next.
const KEPT: usize = 64 * 1024;
/// What stands in the place of a value. It needs no escapes.
const WITHHELD: &str = "[withheld: it holds credentials, and reading it needs write rights]";
const UNSEARCHED: &str =
    "[withheld: to search it for credentials costs too much, and reading it needs write rights]";

/// Passes JSON on as it comes, but for strings that hold credentials. What is between strings, and every other string,
/// passes byte for byte, so the answer may be an object, a list, a table or the events of a watch. At most one string is
/// held; an unfinished one at the end does not pass.
#[derive(Default)]
pub struct Redactor {
    state: ScanState,
    held: Vec<u8>,
    /// The string is too long to be held.
    overlong: bool,
    /// Of the string so far, something is no base64.
    plain: bool,
}

impl fmt::Debug for Redactor {
    /// Not what it holds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// What the next byte of the document belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    #[default]
    Between,
    String,
    /// After a backslash in a string.
    Escape,
}

impl Redactor {
    /// Whether the next piece ends strings that take long to search: then [`Redactor::pass`] belongs on a thread for
    /// blocking work.
    pub fn takes_long(&self, piece: &[u8]) -> bool {
        self.held.len() + piece.len() > LONG && memchr::memchr(b'"', piece).is_some()
    }

    /// Takes the next piece; what may pass is appended to `out`.
    pub fn pass(&mut self, mut piece: &[u8], out: &mut Vec<u8>) {
        while !piece.is_empty() {
            if self.state == ScanState::Between {
                let at = piece.iter().position(|byte| *byte == b'"');
                let (between, rest) = piece.split_at(at.unwrap_or(piece.len()));
                out.extend_from_slice(between);
                piece = rest;
                if let Some(rest) = piece.strip_prefix(b"\"") {
                    (self.state, piece) = (ScanState::String, rest);
                }
                continue;
            }
            let end = self.end_of_string(piece);
            let (string, rest) = piece.split_at(end.unwrap_or(piece.len()));
            self.hold(string);
            piece = rest;
            if let Some(rest) = piece.strip_prefix(b"\"") {
                (self.state, piece) = (ScanState::Between, rest);
                self.close(out);
            }
        }
    }

    /// Where the string's closing quote is in the piece.
    fn end_of_string(&mut self, piece: &[u8]) -> Option<usize> {
        piece.iter().position(|byte| {
            let ends = self.state == ScanState::String && *byte == b'"';
            self.state = if self.state == ScanState::String && *byte == b'\\' {
                ScanState::Escape
            } else {
                ScanState::String
            };
            ends
        })
    }

    fn hold(&mut self, string: &[u8]) {
        self.plain = self.plain || !is_base64(string);
        self.overlong |= self.held.len() + string.len() > MOST;
        if self.overlong {
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(string);
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        out.push(b'"');
        let searched = if self.overlong { Err(Finding::TooMuch) } else { in_text(&self.held) };
        let stand_in = match searched {
            Ok(()) => None,
            Err(Finding::Credentials) => Some(WITHHELD),
            Err(Finding::TooMuch) => Some(UNSEARCHED),
        };
        match stand_in {
            None => out.extend_from_slice(&self.held),
            Some(sentence) if self.plain => out.extend_from_slice(sentence.as_bytes()),
            // It may be in `binaryData`, which clients decode.
            Some(sentence) => out.extend_from_slice(STANDARD.encode(sentence).as_bytes()),
        }
        out.push(b'"');
        (self.overlong, self.plain) = (false, false);
        self.held.clear();
        self.held.shrink_to(KEPT);
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

    /// Applied by kubectl: an annotation has all of it once more.
    fn applied_binary() -> Value {
        let data = json!({ "packed": STANDARD.encode(kubeconfig()) });
        let applied = json!({ "kind": "ConfigMap", "binaryData": data }).to_string();
        json!({ "kind": "ConfigMap", "binaryData": data,
            "metadata": { "name": "a", "annotations": { "kubectl.kubernetes.io/last-applied-configuration": applied } } })
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
    fn the_annotation_of_a_map_with_binary_data_only_is_withheld() {
        let out: Value = serde_json::from_slice(&withhold(applied_binary().to_string().as_bytes())).unwrap();
        assert_eq!(out["binaryData"]["packed"], STANDARD.encode(WITHHELD));
        let annotations = &out["metadata"]["annotations"];
        assert_eq!(annotations["kubectl.kubernetes.io/last-applied-configuration"], WITHHELD);
        assert_eq!(out["metadata"]["name"], "a");
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
        for (letter, stand_in) in [("-", UNSEARCHED.to_owned()), ("x", STANDARD.encode(UNSEARCHED))] {
            let text = format!("[\"{}\",\"a\"]", letter.repeat(MOST + 1));
            for size in [64 * 1024, text.len()] {
                let out = String::from_utf8(in_pieces(text.as_bytes(), size)).unwrap();
                assert_eq!(out, format!("[\"{stand_in}\",\"a\"]"));
            }
        }
        assert_eq!(withhold(b"{\"a\":\"unfinished"), b"{\"a\":");
        let fits = format!("[\"{}\"]", "x".repeat(MOST));
        assert_eq!(withhold(fits.as_bytes()), fits.as_bytes());
    }

    #[test]
    fn only_the_end_of_a_long_string_takes_long() {
        let mut redactor = Redactor::default();
        let (long, mut out) = ("x".repeat(LONG), Vec::new());
        assert!(!redactor.takes_long(b"{\"a\":\"b\"}"));
        assert!(!redactor.takes_long(long.as_bytes()), "nothing ends in it");
        redactor.pass(b"[\"", &mut out);
        redactor.pass(long.as_bytes(), &mut out);
        assert!(!redactor.takes_long(b"x") && redactor.takes_long(b"x\",\"b\"]"));
        redactor.pass(b"x\",", &mut out);
        assert!(!redactor.takes_long(b"\"b\"]"), "it holds nothing any more");
    }

    #[test]
    fn a_value_that_is_made_to_be_expensive_is_withheld() {
        let text = format!("{{\"a\":\"{}\",\"b\":\"c\"}}", "auth:".repeat(MOST / 5));
        let expected = format!("{{\"a\":\"{UNSEARCHED}\",\"b\":\"c\"}}");
        assert_eq!(String::from_utf8(withhold(text.as_bytes())).unwrap(), expected);
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
