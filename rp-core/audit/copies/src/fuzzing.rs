//! Lines of sinks and their stored positions, for `tests/fuzz`. Compiled with `--cfg fuzzing` alone.

use std::sync::LazyLock;

use rp_base::Timestamp;

use crate::cursor::Cursor;
use crate::outlet::{Line, LineKind, line};
use crate::syslog::{SyslogOutlet, frame};
use crate::{SinkFormat, SyslogTarget};

static SYSLOG: LazyLock<SyslogOutlet> =
    LazyLock::new(|| SyslogOutlet::new(SyslogTarget::Unix("/dev/log".into())));

/// An entry's line in a format.
pub fn entry(format: &SinkFormat, text: &str) -> String {
    line(format, LineKind::Entry, Timestamp::default(), text.to_owned()).text
}

/// The syslog message of an entry's line, of at most `most` bytes.
pub fn message(text: &str, at: Timestamp, most: usize) -> String {
    SYSLOG.message(&Line { what: LineKind::Entry, at, text: text.to_owned() }, most)
}

/// Messages as a connection carries them.
pub fn frames(messages: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    for message in messages {
        frame(message, &mut out);
    }
    out
}

/// The stored form of a position, read from its stored form, after one more entry was shipped; `None`: it is none.
pub fn shipped(stored: &str, writer: &str, seq: u64) -> Option<String> {
    let mut cursor: Cursor = serde_json::from_str(stored).ok()?;
    cursor.shipped(writer, seq);
    serde_json::to_string(&cursor).ok()
}
