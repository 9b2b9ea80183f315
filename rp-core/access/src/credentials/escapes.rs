//! Undoes the escapes of JSON, YAML and addresses.

use std::borrow::Cow;

/// The text with escapes of any depth undone: JSON within JSON has its quotes and line ends escaped once more, and a data
/// URL may have its bytes as `%0A`. What is no escape stays as it is.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\\', b'%', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let (mut rest, mut escaped) = (text, false);
    while let [byte, after @ ..] = rest {
        let was_escaped = std::mem::replace(&mut escaped, *byte == b'\\');
        let coded = |digits| coded(after, digits).map_or((*byte, 0), |letter| (letter, digits));
        rest = after;
        let (letter, digits) = match *byte {
            b'\\' => continue,
            b'n' | b'r' if was_escaped => (b'\n', 0),
            b't' if was_escaped => (b' ', 0),
            b'u' if was_escaped => coded(4),
            b'x' if was_escaped => coded(2),
            b'%' => coded(2),
            other => (other, 0),
        };
        plain.push(letter);
        rest = &rest[digits..];
    }
    Cow::Owned(plain)
}

/// The ASCII letter whose number stands at the beginning in so many hexadecimal digits.
fn coded(text: &[u8], digits: usize) -> Option<u8> {
    let mut number = 0;
    for digit in text.get(..digits)? {
        number = number * 16 + char::from(*digit).to_digit(16)?;
    }
    u8::try_from(number).ok().filter(u8::is_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_any_depth_are_undone() {
        for (text, plain) in [
            ("plain", "plain"),
            (r#"\"a\":\n\"b\""#, "\"a\":\n\"b\""),
            (r#"\\\"a\\\":\\n\\tb"#, "\"a\":\n b"),
            (r"YQ\u003d\u003d a\/b \x2d", "YQ== a/b -"),
            ("-----BEGIN%20EC%20PRIVATE%20KEY-----%0A", "-----BEGIN EC PRIVATE KEY-----\n"),
            // No escapes of ASCII letters.
            (r"C:\user 100% %zz %ff \u00e9 \u12", "C:user 100% %zz %ff u00e9 u12"),
            ("%4", "%4"),
        ] {
            assert_eq!(String::from_utf8_lossy(&unescaped(text.as_bytes())), plain, "{text}");
        }
    }
}
