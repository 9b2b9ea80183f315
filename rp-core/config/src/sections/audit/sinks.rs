//! `audit.sinks`: each a text `WHERE#option=value&…`. URL fragments are never sent, so they hold the options.

use std::path::PathBuf;
use std::time::Duration;

use rp_settings::{Key, Reader, SecretFile, values};
use url::Url;

use crate::sections::place_options::{self, Options};

/// Sinks of one process.
const MOST: usize = 8;
/// Default of `after`: how long `policy=refuse` waits before it refuses.
const AFTER: Duration = Duration::from_secs(10);
/// A file becomes that large before the next one begins.
const ROTATE: u64 = 100 << 20;
/// The least that makes sense.
const LEAST_ROTATE: u64 = 64 << 10;

/// A copy of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSink {
    /// Names its place in the log; no two are the same.
    pub name: String,
    pub to: AuditSinkTarget,
    /// The records of `contract/portal.md` §17.3 instead of our own lines.
    pub ifx: bool,
    /// Refuse what needs an entry when the sink takes nothing for so long; `None`: go on, with an alarm.
    pub refuse_after: Option<Duration>,
}

/// Where a copy goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditSinkTarget {
    File {
        path: PathBuf,
        /// Bytes.
        rotate: u64,
        /// 0: all.
        keep: usize,
        sync: bool,
    },
    /// `host:port`.
    SyslogTcp(String),
    SyslogTls {
        /// `host:port`.
        address: String,
        ca_file: PathBuf,
    },
    /// `host:port`.
    SyslogUdp(String),
    SyslogUnix(PathBuf),
    Http {
        url: Url,
        token_file: Option<SecretFile>,
        /// Beside the system's.
        ca_file: Option<PathBuf>,
    },
}

/// Every sink; mistakes are kept.
pub(super) fn read(r: &mut Reader, key: &'static Key) -> Vec<AuditSink> {
    let (texts, folder) = (r.texts(key), r.folder(key.path));
    let mut sinks: Vec<AuditSink> = Vec::new();
    for text in texts.iter().take(MOST) {
        match sink(text, &folder) {
            Ok(sink) if sinks.iter().any(|other| other.name == sink.name) => {
                let message = format!("two sinks are named {}: tell them apart by name=…", sink.name);
                r.mistake(key.path, message);
            }
            Ok(sink) => sinks.push(sink),
            // Options may name files, never secrets; the target is still shown without them.
            Err(message) => {
                let place = text.split('#').next().unwrap_or_default();
                r.mistake(key.path, format!("{:?}: {message}", rp_base::text::clean(place, 80)));
            }
        }
    }
    if texts.len() > MOST {
        r.mistake(key.path, format!("at most {MOST} sinks, got {}", texts.len()));
    }
    sinks
}

/// Public keys: 32 bytes each, Base 64.
pub(super) fn known_keys(r: &mut Reader, key: &'static Key) -> Vec<[u8; 32]> {
    let mut keys = Vec::new();
    for text in r.texts(key) {
        match base64_32(&text) {
            Some(key) => keys.push(key),
            None => r.mistake(
                key.path,
                "expected public keys of 32 bytes in Base 64, as `aro audit key` prints them",
            ),
        }
    }
    keys
}

/// 32 bytes from Base 64, with or without padding.
fn base64_32(text: &str) -> Option<[u8; 32]> {
    let (mut bits, mut held, mut out) = (0u32, 0u32, Vec::with_capacity(33));
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(held >> bits & 0xff).ok()?);
            held &= (1 << bits) - 1;
        }
    }
    out.try_into().ok()
}

fn sink(text: &str, folder: &std::path::Path) -> Result<AuditSink, String> {
    let (place, options) = text.split_once('#').unwrap_or((text, ""));
    let mut options = Options::read(options)?;
    let path = |text: &str| -> Result<PathBuf, String> {
        if text.is_empty() { Err("a path is missing".to_owned()) } else { Ok(folder.join(text)) }
    };
    let (kind, to) = if let Some(file) = place.strip_prefix("file:") {
        let rotate = options.take("rotate").map_or(Some(ROTATE), bytes);
        let rotate = rotate.filter(|rotate| *rotate >= LEAST_ROTATE);
        let to = AuditSinkTarget::File {
            path: path(file)?,
            rotate: rotate.ok_or("rotate is a size such as 100MiB, at least 64KiB")?,
            keep: options.take("keep").map_or(Ok(0), str::parse).map_err(|_| "keep is a whole number")?,
            sync: !options.word("sync", ["true", "false"])?,
        };
        ("file", to)
    } else if let Some(file) = place.strip_prefix("syslog+unix:") {
        ("syslog", AuditSinkTarget::SyslogUnix(path(file)?))
    } else if let Some(address) = place.strip_prefix("syslog+tcp://") {
        ("syslog", AuditSinkTarget::SyslogTcp(dial(address)?))
    } else if let Some(address) = place.strip_prefix("syslog+udp://") {
        ("syslog", AuditSinkTarget::SyslogUdp(dial(address)?))
    } else if let Some(address) = place.strip_prefix("syslog+tls://") {
        let ca = options.take("ca").ok_or("syslog+tls needs ca=FILE, the CA of the server")?;
        ("syslog", AuditSinkTarget::SyslogTls { address: dial(address)?, ca_file: path(ca)? })
    } else if place.starts_with("http") {
        let url = values::url(place)
            .ok_or("expected https://host/path (http only for this machine), without a query")?;
        let token_file = options.take("token_file").map(path).transpose()?.map(SecretFile::new);
        let ca_file = options.take("ca").map(path).transpose()?;
        ("http", AuditSinkTarget::Http { url, token_file, ca_file })
    } else {
        return Err(
            "expected file:, syslog+tcp://, syslog+tls://, syslog+udp://, syslog+unix:, https://".to_owned()
        );
    };
    finish(kind, to, options)
}

/// What all sinks have.
fn finish(kind: &str, to: AuditSinkTarget, mut options: Options<'_>) -> Result<AuditSink, String> {
    let name = options.take("name").unwrap_or(kind).to_owned();
    place_options::check_name(&name)?;
    let ifx = options.word("format", ["aro", "ifx"])?;
    let refuse = options.word("policy", ["alarm", "refuse"])?;
    let after = options.take("after");
    if after.is_some() && !refuse {
        return Err("after has a meaning with policy=refuse only".to_owned());
    }
    let after = after.map_or(Some(AFTER), values::duration).ok_or("after is a duration such as 10s")?;
    options.rest()?;
    Ok(AuditSink { name, to, ifx, refuse_after: refuse.then_some(after) })
}

fn dial(text: &str) -> Result<String, String> {
    values::dial(text).ok_or_else(|| "expected a host and port such as host:6514".to_owned())
}

/// Reads `100MiB`, `64KiB`, `1GiB` or a plain number of bytes.
fn bytes(text: &str) -> Option<u64> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let unit = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (number, shift) = unit.unwrap_or((text, 0));
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read_sink(text: &str) -> Result<AuditSink, String> {
        sink(text, Path::new("/etc/aro"))
    }

    #[test]
    fn every_kind_is_read() {
        let file = read_sink("file:audit.jsonl#rotate=1MiB&keep=3&policy=refuse&after=0s&name=disk").unwrap();
        let path = PathBuf::from("/etc/aro/audit.jsonl");
        assert_eq!(file.to, AuditSinkTarget::File { path, rotate: 1 << 20, keep: 3, sync: true });
        assert_eq!((file.name.as_str(), file.ifx, file.refuse_after), ("disk", false, Some(Duration::ZERO)));
        let plain = read_sink("file:/var/log/audit.jsonl#sync=false&format=ifx").unwrap();
        let path = PathBuf::from("/var/log/audit.jsonl");
        assert_eq!(plain.to, AuditSinkTarget::File { path, rotate: ROTATE, keep: 0, sync: false });
        assert_eq!((plain.name.as_str(), plain.ifx, plain.refuse_after), ("file", true, None));
        for (text, to) in [
            ("syslog+tcp://h:601", AuditSinkTarget::SyslogTcp("h:601".to_owned())),
            ("syslog+udp://h:514", AuditSinkTarget::SyslogUdp("h:514".to_owned())),
            ("syslog+unix:/dev/log", AuditSinkTarget::SyslogUnix("/dev/log".into())),
            (
                "syslog+tls://h:6514#ca=ca.pem",
                AuditSinkTarget::SyslogTls {
                    address: "h:6514".to_owned(),
                    ca_file: "/etc/aro/ca.pem".into(),
                },
            ),
        ] {
            assert_eq!(read_sink(text).unwrap().to, to, "{text}");
        }
        let http = read_sink("https://siem.example/ingest#token_file=token").unwrap();
        assert!(matches!(http.to, AuditSinkTarget::Http { token_file: Some(_), ca_file: None, .. }));
    }

    #[test]
    fn mistakes_are_told() {
        for (text, told) in [
            ("ftp://x", "expected file:"),
            ("file:", "a path is missing"),
            ("file:/a#rotate=1", "rotate is a size"),
            ("file:/a#keep=x", "keep is"),
            ("file:/a#colour=red", "no option colour"),
            ("file:/a#policy=maybe", "policy is alarm or refuse"),
            ("file:/a#after=1s", "with policy=refuse only"),
            ("file:/a#name=A B", "name is 1 to 40"),
            ("file:/a#keep=1&keep=2", "twice"),
            ("syslog+tls://h:1", "needs ca=FILE"),
            ("syslog+tcp://h", "a host and port"),
            ("http://far.example/x", "http only for this machine"),
        ] {
            let message = read_sink(text).unwrap_err();
            assert!(message.contains(told), "{text}: {message}");
        }
    }

    #[test]
    fn keys_are_32_bytes() {
        assert_eq!(
            base64_32("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="),
            Some({
                let mut key = [0; 32];
                key[31] = 1;
                key
            })
        );
        assert!(base64_32("AAAA").is_none() && base64_32("!").is_none() && base64_32("").is_none());
    }
}
