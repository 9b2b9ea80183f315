//! Text from outside, made fit for a log line or a sentence.

/// Removes control characters but tab (log injection) and cuts at `most` characters.
pub fn clean(text: &str, most: usize) -> String {
    // Nearly all text is plain: one look at its bytes, one copy.
    if text.len() <= most && text.bytes().all(|byte| byte == b'\t' || matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars().filter(|c| *c == '\t' || !c.is_control()).take(most).collect()
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
    fn finds_in_any_case() {
        assert!(contains_ignore_case("Harbor-PROD", "prod"));
        assert!(!contains_ignore_case("x", "xy"));
        assert!(contains_ignore_case("x", ""));
    }
}
