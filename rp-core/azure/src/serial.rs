//! A machine's serial console as text for people: what could steer a terminal is taken out, and so is what opens
//! something: keys, passwords, tokens, signatures. A line keeps its place, so that numbers of lines stay.

use std::borrow::Cow;

use rp_base::terminal::Cleaner;

/// Characters of a line.
const LONGEST_LINE: usize = 4096;
/// Lines of a private key, after which one that never ends is over.
const LONGEST_KEY: usize = 200;
/// What stands in place of a secret.
const HIDDEN: &str = "[redacted]";
/// In the names of values that are secrets, lower case.
const SECRET_WORDS: [&str; 13] = [
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "accesskey",
    "accountkey",
    "privatekey",
    "private_key",
    "credential",
    "signature",
    "dockerconfigjson",
];
/// Whole names of such values.
const SECRET_NAMES: [&str; 5] = ["auth", "sig", "pwd", "authorization", "bearer"];
/// Characters from which on a run of base64 is taken for data that was handed over.
const LONGEST_WORD: usize = 160;

/// The console's lines, each ended by a newline.
pub fn readable(bytes: &[u8]) -> String {
    let clean = Cleaner::new(false).clean(&line_ends(bytes));
    let text = String::from_utf8_lossy(&clean);
    let mut out = String::with_capacity(text.len());
    let mut key = 0;
    for line in text.lines() {
        let line = short(line);
        if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") {
            key = LONGEST_KEY;
        }
        if key > 0 {
            out.push_str("[redacted: private key]");
            key = if line.contains("-----END ") { 0 } else { key - 1 };
        } else {
            hide(&plain(&line), &mut out);
        }
        out.push('\n');
    }
    out
}

/// Consoles end lines with CR LF, LF CR, or CR CR LF; a CR alone begins the line anew, which is a line here.
fn line_ends(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split(|byte| *byte == b'\n') {
        let from = line.iter().position(|byte| *byte != b'\r').unwrap_or(line.len());
        let to = line.iter().rposition(|byte| *byte != b'\r').map_or(from, |at| at + 1);
        let line = line.get(from..to).unwrap_or_default();
        out.extend(line.iter().map(|byte| if *byte == b'\r' { b'\n' } else { *byte }));
        out.push(b'\n');
    }
    // What stands after the last newline is no line.
    if bytes.last().is_none_or(|byte| *byte == b'\n') {
        out.pop();
    }
    out
}

fn short(line: &str) -> Cow<'_, str> {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => Cow::Owned(format!("{}…", line.get(..at).unwrap_or_default())),
        None => Cow::Borrowed(line),
    }
}

/// Without characters that turn the direction of a text around or are not seen.
fn plain(line: &str) -> Cow<'_, str> {
    let hides = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    if line.contains(hides) { Cow::Owned(line.replace(hides, "\u{fffd}")) } else { Cow::Borrowed(line) }
}

/// Copies a line without its secrets.
fn hide(line: &str, out: &mut String) {
    let mut rest = line;
    // A word is what names and values are made of; all else is copied.
    while let Some(c) = rest.chars().next() {
        if !is_word(c) {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        if is_secret(word) {
            out.push_str(HIDDEN);
            continue;
        }
        out.push_str(word);
        if names_secret(word)
            && let Some((between, value)) = value_of(after)
        {
            out.push_str(between);
            out.push_str(HIDDEN);
            rest = value;
        }
    }
}

/// Of names, numbers, base64, dots of tokens; not `/`, `+`, `=` alone, which also stand between words.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '+' | '/')
}

fn names_secret(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    SECRET_NAMES.contains(&lower.as_str()) || SECRET_WORDS.iter().any(|secret| lower.contains(secret))
}

/// What is a secret by its form: a signed token, one of ours, a password's hash, a run of data.
fn is_secret(word: &str) -> bool {
    let hashed = ["$1$", "$2a$", "$2b$", "$5$", "$6$", "$y$"].iter().any(|start| word.starts_with(start));
    let signed = word.starts_with("eyJ") && word.len() > 20;
    let path = word.matches('/').count() > word.len() / 32;
    hashed || signed || word.starts_with("aro1_") || (word.len() > LONGEST_WORD && !path)
}

/// What stands between a name and its value, and what comes after the value; `None`: it has none.
fn value_of(after: &str) -> Option<(&str, &str)> {
    let quoted = after.strip_prefix("\\\"").or_else(|| after.strip_prefix(['"', '\''])).unwrap_or(after);
    let spaced = quoted.trim_start_matches(' ');
    let told = spaced.strip_prefix([':', '='])?.trim_start_matches(' ');
    let bare = told.strip_prefix("\\\"").or_else(|| told.strip_prefix(['"', '\''])).unwrap_or(told);
    // A scheme is not yet the credential.
    let schemes = ["Bearer ", "bearer ", "Basic ", "basic "];
    let value = schemes.iter().find_map(|scheme| bare.strip_prefix(scheme)).unwrap_or(bare);
    let end = value.find([' ', '"', '\'', '\\', ',', '&', '}', ')', ']', ';']).unwrap_or(value.len());
    // A nested object or list, or nothing: what is in it is looked at by itself.
    if end == 0 || value.starts_with(['{', '[']) {
        return None;
    }
    let between = after.len() - value.len();
    Some((after.get(..between)?, value.get(end..)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn readable_text(text: &str) -> String {
        readable(text.as_bytes())
    }

    #[test]
    fn lines_of_all_kinds_of_consoles_are_lines() {
        assert_eq!(readable_text("a\r\nb\r\r\nc\n\rd\n"), "a\nb\nc\nd\n");
        assert_eq!(readable_text("50%\r100%\r\nlogin: "), "50%\n100%\nlogin: \n");
        assert_eq!((readable_text(""), readable_text("\n")), (String::new(), "\n".to_owned()));
        assert_eq!(readable(b"a\0\0\x07b\xff\n"), "ab\u{fffd}\n");
        assert_eq!(readable_text(&"x ".repeat(5000)).chars().count(), LONGEST_LINE + 2);
    }

    #[test]
    fn nothing_steers_what_shows_it() {
        let hostile = "\x1b]0;title\x07a\x1b[2J\x1b]52;c;aGk=\x1b\\b\u{202e}c\u{2028}d\x1b[31mred\x1b[0m";
        assert_eq!(readable_text(hostile), "ab\u{fffd}c\u{fffd}dred\n");
    }

    #[test]
    fn what_opens_something_is_not_told() {
        let jwt = format!("eyJhbGciOiJSUzI1NiJ9.{}.sig-nature_", "eyJzdWIiOiJ4In0");
        for (line, shown) in [
            (
                r#"ignition[7]: {"passwd":{"users":[{"name":"core","passwordHash":"$6$salt$hash"}]}}"#,
                r#"ignition[7]: {"passwd":{"users":[{"name":"core","passwordHash":"[redacted]"}]}}"#,
            ),
            (
                r#"{"auths":{"quay.example":{"auth":"dXNlcjpwYXNz","email":"a@b"}}}"#,
                r#"{"auths":{"quay.example":{"auth":"[redacted]","email":"a@b"}}}"#,
            ),
            (r#"{\"auth\":\"dXNlcg==\"}"#, r#"{\"auth\":\"[redacted]\"}"#),
            (
                "GET https://a.blob.example/c/d?sv=1&sig=abc%2Bdef%3D&se=2 200",
                "GET https://a.blob.example/c/d?sv=1&sig=[redacted]&se=2 200",
            ),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
            ("client_secret = hunter2 end", "client_secret = [redacted] end"),
            ("AccountKey=abcd==;EndpointSuffix=x", "AccountKey=[redacted];EndpointSuffix=x"),
            ("core:$6$salt$hash:1", "core:[redacted]:1"),
        ] {
            assert_eq!(readable_text(line), format!("{shown}\n"));
        }
        assert_eq!(readable_text(&format!("kubelet {jwt} x")), "kubelet [redacted] x\n");
        let data = format!("source=data:;base64,{}", "QUJD".repeat(100));
        assert_eq!(readable_text(&data), "source=data:;base64,[redacted]\n");
        let key = "x -----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\nafter\n";
        let hidden = "[redacted: private key]\n";
        assert_eq!(readable_text(key), format!("{hidden}{hidden}{hidden}after\n"));
        let endless = format!("-----BEGIN PRIVATE KEY-----\n{}end\n", "abc\n".repeat(300));
        assert!(readable_text(&endless).ends_with("abc\nend\n"), "a key that never ends is over some time");
    }

    #[test]
    fn what_opens_nothing_stays() {
        for line in [
            "[   12.3] systemd[1]: Started Forward Password Requests to Wall Directory Watch.",
            "MountVolume.SetUp failed for volume \"x\" : secret \"pull\" not found",
            "master-0 login:",
            "Password:",
            "SSH host key: SHA256:0123456789abcdefghijklmnopqrstuvwxyzABCDEFG (ED25519)",
            "-----BEGIN CERTIFICATE-----",
            "/usr/lib/dracut/hooks/initqueue/finished/devexists-x2fdevx2fdisk.sh",
        ] {
            assert_eq!(readable_text(line), format!("{line}\n"));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_give_plain_lines(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let text = readable(&bytes);
            prop_assert!(text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')));
        }
    }
}
