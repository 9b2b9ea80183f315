//! Texts of a cluster for display: cleaned and bounded.

use std::collections::BTreeMap;

use rp_openshift::{Status, Texts, Whole, WholeText};

use super::{Condition, MOST_CONDITIONS, MOST_ITEMS, MOST_LABELS, MOST_MESSAGE, MOST_NAME, MOST_VALUE, Meta};

/// Text without control characters and without bidirectional control marks, cut at `most` characters.
pub fn clean_text(text: &str, most: usize) -> String {
    if text.is_ascii() {
        return rp_base::text::clean(text, most);
    }
    let turns =
        |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    let cut: String = text.chars().take(most.saturating_mul(2)).filter(|c| !turns(*c)).collect();
    rp_base::text::clean(&cut, most)
}

/// A text, cut at `most` characters.
pub(super) fn text(value: &WholeText, most: usize) -> String {
    clean_text(value.as_str(), most)
}

/// A name, reason or other short word.
pub(super) fn short(value: &WholeText) -> String {
    short_text(value.as_str())
}

/// A name, reason or other short word.
pub(super) fn short_text(value: &str) -> String {
    clean_text(value, MOST_NAME)
}

/// A sentence of the cluster; line breaks become blanks.
pub(super) fn message(value: &WholeText) -> String {
    let text = value.as_str();
    if text.contains(['\n', '\r']) {
        let most = text.char_indices().nth(MOST_MESSAGE * 2).map_or(text.len(), |(at, _)| at);
        let joined = text.get(..most).unwrap_or(text).replace("\r\n", " ").replace(['\n', '\r'], " ");
        return clean_text(joined.trim(), MOST_MESSAGE);
    }
    clean_text(text, MOST_MESSAGE)
}

/// The first [`MOST_ITEMS`] entries of a list, each converted.
pub(super) fn list<T, U>(list: &[T], each: impl Fn(&T) -> U) -> Vec<U> {
    list.iter().take(MOST_ITEMS).map(each).collect()
}

/// Short words of a list of texts.
pub(super) fn short_texts(texts: &Texts<WholeText>) -> Vec<String> {
    list(texts, short)
}

/// Names and values, bounded; values that are too long are cut and end in "…".
pub(super) fn map<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    pairs.into_iter().take(MOST_LABELS).map(|(key, value)| (clean_text(key, 317), cut(value))).collect()
}

fn cut(value: &str) -> String {
    let mut text = clean_text(value, MOST_VALUE);
    if value.char_indices().nth(MOST_VALUE).is_some() {
        text.push('…');
    }
    text
}

/// The metadata; `None` without a name.
pub(super) fn meta(meta: &rp_openshift::Meta<Whole>) -> Option<Meta> {
    let name = short(&meta.name);
    if name.is_empty() {
        return None;
    }
    Some(Meta {
        namespace: short(&meta.namespace),
        name,
        created: meta.creation_timestamp.0,
        deleting: meta.deletion_timestamp.0,
    })
}

/// The conditions in the API's order. Beyond [`MOST_CONDITIONS`] the rest is left out.
pub(super) fn conditions(all: &[rp_openshift::Condition<Whole>]) -> Vec<Condition> {
    all.iter().take(MOST_CONDITIONS).filter_map(condition).collect()
}

/// `None` without a type.
pub(super) fn condition(condition: &rp_openshift::Condition<Whole>) -> Option<Condition> {
    let kind = short(&condition.kind);
    (!kind.is_empty()).then(|| Condition {
        kind,
        status: Status::parse(condition.status.as_str()),
        since: condition.last_transition_time.0,
        reason: short(&condition.reason),
        message: message(&condition.message),
    })
}
