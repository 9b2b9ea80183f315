//! Copies of the audit log: a message for syslog is what its RFCs say and holds the entry, a stream of messages is read as
//! those messages, and a position in the log is read as it was stored.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use rp_audit_copies::fuzzing::{entry, frames, message, shipped};
use rp_audit_copies::{IfxOrigin, SinkFormat};
use rp_base::Timestamp;
use rp_documents::Entry;
use serde_json::Value;
use tests_fuzz::first;

/// Longer than the head of a message is with the longest name of a host.
const HEAD: usize = 400;
/// Writers of which a position remembers what was shipped.
const MOST_WRITERS: usize = 64;

static IFX: LazyLock<SinkFormat> = LazyLock::new(|| {
    let text = str::to_owned;
    SinkFormat::Ifx(Arc::new(IfxOrigin { cloud: text("cloud"), host: text("host"), region: text("region") }))
});

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = first(data) else { return };
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert_eq!(entry(&SinkFormat::Aro, text), text, "a copy that is verified is the same to the byte");
    let line = entry(&IFX, text);
    if serde_json::from_str::<Entry>(text).is_ok() {
        record(&line);
    } else {
        assert_eq!(line, text);
    }
    let at = Timestamp::from_seconds(1_790_000_000 + i64::from(choice));
    datagram(text, at, HEAD + usize::from(choice));
    stream(text, at);
    position(text);
});

/// A record stands on one line, and so does what it carries.
fn record(line: &str) {
    assert!(!line.bytes().any(|byte| byte < b' '), "{line:?}");
    let record: Value = serde_json::from_str(line).expect("JSON");
    assert_eq!(record["msg"], "audit event");
    let payload = record["payload"].as_str().expect("text");
    let payload: Value = serde_json::from_str(payload).expect("JSON");
    assert!(payload["OperationName"].is_string() && payload["env_seqNum"].is_u64());
}

/// RFC 5424 §6: `<PRI>VERSION TIME HOST APP PROCID MSGID DATA BOM TEXT`; gives the text.
fn text_of(message: &str) -> &str {
    let mut fields = message.splitn(8, ' ');
    for (number, field) in fields.by_ref().take(7).enumerate() {
        assert!(!field.is_empty() && field.bytes().all(|byte| byte.is_ascii_graphic()), "{message:?}");
        match number {
            0 => assert_eq!(field, "<110>1", "facility 13, severity 6"),
            1 => assert!(field.starts_with("2026-") && field.ends_with('Z'), "{field}"),
            6 => assert_eq!(field, "-", "no structured data"),
            _ => assert!(field.len() <= 255, "{field}"),
        }
    }
    let text = fields.next().and_then(|text| text.strip_prefix('\u{feff}'));
    text.unwrap_or_else(|| panic!("no text: {message:?}"))
}

/// Nothing but the end of a text is cut off, and no more than is necessary.
fn datagram(text: &str, at: Timestamp, most: usize) {
    let cut = message(text, at, most);
    let left = text_of(&cut);
    assert!(cut.len() <= most && text.starts_with(left));
    assert!(left.len() == text.len() || cut.len() + 4 > most, "{} of {most} bytes", cut.len());
}

/// RFC 6587 §3.4.1: `LENGTH MESSAGE`, one after the other.
fn stream(text: &str, at: Timestamp) {
    let lines: Vec<&str> = text.split('\n').take(64).collect();
    let messages: Vec<String> = lines.iter().map(|line| message(line, at, usize::MAX)).collect();
    let wire = frames(&messages);
    let mut rest = wire.as_slice();
    for line in lines {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length =
            std::str::from_utf8(&rest[..digits]).expect("digits").parse::<usize>().expect("a length");
        assert!(rest[0] != b'0' && rest[digits] == b' ');
        let (message, after) = rest[digits + 1..].split_at(length);
        assert_eq!(text_of(std::str::from_utf8(message).expect("text")), line);
        rest = after;
    }
    assert!(rest.is_empty());
}

fn position(text: &str) {
    let Some(stored) = shipped(text, "writer", 7) else { return };
    match shipped(&stored, "writer", 7) {
        Some(again) => assert_eq!(again, stored),
        // An instant before the year 0 has no form in RFC 3339.
        None => assert!(stored.contains("\"@-"), "{stored}"),
    }
    // A member that is passed over may be deeper than a value.
    let Ok(before) = serde_json::from_str::<Value>(text) else { return };
    let after: Value = serde_json::from_str(&stored).expect("JSON");
    for name in ["owner", "batches", "mark", "checkpoints", "tombstones"] {
        assert_eq!(before[name], after[name], "{name}");
    }
    let writers = after["writers"].as_object().expect("writers");
    assert!(writers.len() <= MOST_WRITERS);
    assert!(writers.len() == MOST_WRITERS || writers["writer"] == 7);
}
