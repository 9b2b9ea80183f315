//! Which texts are values of which kind of flag. No value has a character with a meaning in YAML, JSON or a shell,
//! because values stand in objects and configuration files (`contract/operator.md` "Do better" 23).

use super::Kind;

/// Octets of the longest value.
const MOST: usize = 253;

/// Whether a flag of that kind takes this value.
pub(super) fn is_valid(kind: Kind, value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.len() <= MOST
        && match kind {
            Kind::Switch => matches!(lower.as_str(), "true" | "false"),
            Kind::Managed => matches!(lower.as_str(), "true" | "false" | ""),
            Kind::Choice(values) => values.contains(&value),
            Kind::Number(least, most) => is_number(value, least, most),
            Kind::Quantity => is_quantity(value),
            Kind::Image => is_image(value),
            Kind::Resource => is_resource(value),
            Kind::Words => value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" ._-".contains(&byte)),
        }
}

/// The value as it is compared: switches in lower case.
pub(super) fn normal(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Switch | Kind::Managed => value.to_ascii_lowercase(),
        _ => value.to_owned(),
    }
}

/// The values of a kind, for a message.
pub(super) fn expected(kind: Kind) -> String {
    match kind {
        Kind::Switch => "true or false".to_owned(),
        Kind::Managed => "true, false or empty".to_owned(),
        Kind::Choice(values) => {
            let values: Vec<_> = values.iter().filter(|value| !value.is_empty()).copied().collect();
            format!("one of {}", values.join(", "))
        }
        Kind::Number(least, most) => format!("a whole number from {least} to {most}"),
        Kind::Quantity => "a quantity such as 100m or 512Mi".to_owned(),
        Kind::Image => "a reference of a container image".to_owned(),
        Kind::Resource => "the name of an object".to_owned(),
        Kind::Words => "a text of letters, digits, blanks, dots, hyphens and underscores".to_owned(),
    }
}

fn is_number(value: &str, least: u32, most: u32) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
        && value.parse::<u32>().is_ok_and(|number| (least..=most).contains(&number))
}

fn is_quantity(value: &str) -> bool {
    const SUFFIXES: [&str; 14] = ["", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let digits = value.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let number = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    let whole = match digits.split_once('.') {
        Some((whole, fraction)) => number(whole) && number(fraction),
        None => number(digits),
    };
    whole && value.strip_prefix(digits).is_some_and(|suffix| SUFFIXES.contains(&suffix))
}

/// A registry, a repository, and a tag or a digest.
fn is_image(value: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
    value.starts_with(|first: char| first.is_ascii_alphanumeric())
        && value.ends_with(|last: char| last.is_ascii_alphanumeric())
        && value.bytes().all(plain)
        && value.contains('/')
        && !["//", "::", "..", "@@"].iter().any(|pair| value.contains(pair))
}

fn is_resource(value: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    edge(value.bytes().next()) && edge(value.bytes().last()) && value.bytes().all(plain)
}
