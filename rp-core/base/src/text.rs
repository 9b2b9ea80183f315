//! Text from outside, made fit for a log line or a sentence.

/// Removes control characters but tab (log injection) and cuts at `most` characters.
pub fn clean(text: &str, most: usize) -> String {
    // Fast path: nearly all text is plain and needs one scan and one copy.
    if text.len() <= most && text.bytes().all(|byte| byte == b'\t' || matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars().filter(|c| *c == '\t' || !c.is_control()).take(most).collect()
}

/// Text that shows on one line all that it holds: what cannot be seen, or changes how the rest is read (control and
/// format characters, bytes that are no UTF-8), becomes an escape, and a backslash is doubled, so that no text reads
/// like another. Of more than `most` bytes the rest is left out, and a mark says how many bytes that are.
pub fn visible(text: &[u8], most: usize) -> String {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'\\';
    if text.len() <= most && text.iter().all(plain) {
        return String::from_utf8_lossy(text).into_owned();
    }
    let mut out = String::with_capacity(text.len().min(most) + 32);
    let mut taken = 0;
    for chunk in text.utf8_chunks() {
        for (letter, bytes) in chunk
            .valid()
            .chars()
            .map(|letter| (Ok(letter), letter.len_utf8()))
            .chain(chunk.invalid().iter().map(|byte| (Err(*byte), 1)))
        {
            if taken + bytes > most {
                out.push_str(&format!("[{} more bytes]", text.len() - taken));
                return out;
            }
            taken += bytes;
            match letter {
                Ok('\\') => out.push_str("\\\\"),
                Ok('\n') => out.push_str("\\n"),
                Ok('\r') => out.push_str("\\r"),
                Ok('\t') => out.push_str("\\t"),
                Ok(letter) if is_unseen(letter) => out.extend(letter.escape_unicode()),
                Ok(letter) => out.push(letter),
                Err(byte) => out.push_str(&format!("\\x{byte:02x}")),
            }
        }
    }
    out
}

/// JSON for a terminal: C1 control characters, which JSON lets stand in its strings and some terminals obey, become
/// escapes.
pub fn terminal_json(json: String) -> String {
    let steers = |letter: char| matches!(letter, '\u{80}'..='\u{9f}');
    if !json.contains(steers) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 32);
    for letter in json.chars() {
        if steers(letter) {
            out.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            out.push(letter);
        }
    }
    out
}

/// Control characters, and those of Unicode's categories Cf, Zl and Zp, which have no glyph or turn the direction.
fn is_unseen(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
            | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// Without regard to ASCII case: does `text` contain `needle`? `needle` must be lower case.
pub fn contains_ignore_case(text: &str, needle: &str) -> bool {
    if needle.is_empty() {
        return true;
    }
    text.as_bytes().windows(needle.len()).any(|w| w.eq_ignore_ascii_case(needle.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_what_would_forge_a_line() {
        assert_eq!(clean("a\r\nlevel=error\u{7}\tb", 100), "alevel=error\tb");
        assert_eq!(clean("ééé", 2), "éé");
    }

    #[test]
    fn shows_what_cannot_be_seen() {
        assert_eq!(visible(b"ls -l /tmp", 100), "ls -l /tmp");
        assert_eq!(visible(b"true #\nrm -rf /\t\x1b[2K\x00", 100), r"true #\nrm -rf /\t\u{1b}[2K\u{0}");
        assert_eq!(visible("a\u{202e}b\u{2028}é".as_bytes(), 100), r"a\u{202e}b\u{2028}é");
        assert_eq!(visible(b"\xffa\\n", 100), r"\xffa\\n");
        assert_ne!(visible(b"\n", 9), visible(br"\n", 9), "no text reads like another");
        assert_eq!(visible("ééé".as_bytes(), 3), "é[4 more bytes]");
        assert_eq!(visible(&[b'x'; 10], 4), "xxxx[6 more bytes]");
    }

    #[test]
    fn json_steers_no_terminal() {
        assert_eq!(terminal_json(r#"{"a":"é"}"#.to_owned()), r#"{"a":"é"}"#);
        let steering = "[\"\u{80}a\u{9b}2J\u{9f}\u{a0}\"]".to_owned();
        assert_eq!(terminal_json(steering), "[\"\\u0080a\\u009b2J\\u009f\u{a0}\"]");
    }

    #[test]
    fn finds_in_any_case() {
        assert!(contains_ignore_case("Harbor-PROD", "prod"));
        assert!(!contains_ignore_case("x", "xy"));
        assert!(contains_ignore_case("x", ""));
    }
}
