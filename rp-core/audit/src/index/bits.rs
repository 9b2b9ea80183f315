//! Which rows of the index an entry sets, and which a query needs.
//!
//! A block's column says of each of 65,536 rows whether something in the block hashes to it. Fields set several
//! rows each, texts one row for every four bytes that stand together. A query looks at the blocks that have all
//! of its rows: it never misses an entry, and sometimes reads a block that has none.

use serde::Deserialize;
use std::borrow::Cow;

/// Rows of a column.
pub(crate) const ROWS: usize = 1 << 16;
/// Words of a column.
pub(crate) const WORDS: usize = ROWS / 64;
/// Rows that a field sets.
const FIELD: u64 = 6;
/// Rows that a pair of fields sets.
const PAIR: u64 = 4;
/// Bytes of a text that are looked up together.
pub(crate) const GRAM: usize = 4;
/// Rows that a text needs at most: each halves what is left, at least.
const MOST_GRAMS: usize = 8;

/// What of an entry has rows of its own. Anything else is in its text.
#[derive(Debug, Deserialize)]
pub(crate) struct Fields<'a> {
    pub(crate) at: rp_base::Timestamp,
    #[serde(borrow, default)]
    actor: Person<'a>,
    #[serde(borrow, default)]
    target: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    verb: Cow<'a, str>,
    #[serde(borrow, default)]
    grant: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
struct Person<'a> {
    #[serde(borrow, default)]
    sub: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
}

/// The part of an entry's JSON in which texts are searched: what comes after its place in the chain.
pub(crate) fn searchable(entry: &str) -> &str {
    entry.find("\"at\":").map_or(entry, |at| &entry[at..])
}

/// Sets an entry's rows in a block's column.
pub(crate) fn set(column: &mut [u64], entry: &str) -> Option<rp_base::Timestamp> {
    let mut put = |row: u16| {
        if let Some(word) = column.get_mut(usize::from(row) / 64) {
            *word |= 1 << (row % 64);
        }
    };
    for window in searchable(entry).as_bytes().windows(GRAM) {
        put(gram(window));
    }
    let fields: Fields<'_> = serde_json::from_str(entry).ok()?;
    let target = fields.target.as_deref().map(|target| hash("t", target));
    let verb = hash("v", &fields.verb);
    let one = [target, Some(verb), fields.grant.as_deref().map(|grant| hash("g", grant))];
    one.into_iter().flatten().for_each(|term| rows(term, FIELD).for_each(&mut put));
    for name in [&fields.actor.sub, &fields.actor.name] {
        if name.is_empty() {
            continue;
        }
        let person = hash("p", name);
        rows(person, FIELD).for_each(&mut put);
        rows(pair(person, verb), PAIR).for_each(&mut put);
        if let Some(target) = target {
            rows(pair(person, target), PAIR).for_each(&mut put);
        }
    }
    if let Some(target) = target {
        rows(pair(target, verb), PAIR).for_each(&mut put);
    }
    Some(fields.at)
}

/// The rows that a block must have for a query, sorted; none: every block is looked at.
pub(crate) fn needed(query: &crate::Query) -> Vec<u16> {
    let person = query.person.as_deref().map(|person| hash("p", person));
    let target = query.target.as_ref().map(|target| hash("t", target.key()));
    let verb = query.verb.as_deref().map(|verb| hash("v", verb));
    let grant = query.grant.as_ref().map(|grant| hash("g", grant.as_str()));
    let mut found: Vec<u16> = Vec::new();
    let pairs = [(person, target), (person, verb), (target, verb)];
    for (a, b) in pairs.into_iter().filter_map(|(a, b)| Some((a?, b?))) {
        found.extend(rows(pair(a, b), PAIR));
    }
    if found.is_empty() {
        let terms = [person, target, verb];
        terms.into_iter().flatten().for_each(|term| found.extend(rows(term, FIELD)));
    }
    found.extend(grant.into_iter().flat_map(|grant| rows(grant, FIELD)));
    let text = query.text.as_deref().unwrap_or_default().as_bytes();
    let grams = text.len().saturating_sub(GRAM - 1);
    // Spread over the text, first and last among them.
    for n in 0..grams.min(MOST_GRAMS) {
        let at = if grams <= MOST_GRAMS { n } else { n * (grams - 1) / (MOST_GRAMS - 1) };
        found.extend(text.get(at..at + GRAM).map(gram));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The row of four bytes, in any ASCII case.
fn gram(bytes: &[u8]) -> u16 {
    let packed = bytes.iter().fold(0u32, |packed, byte| packed << 8 | u32::from(byte.to_ascii_lowercase()));
    high(packed.wrapping_mul(0x9e37_79b1))
}

const fn high(mixed: u32) -> u16 {
    (mixed >> 16) as u16
}

/// FNV-1a over kind and text in lower case, mixed once more.
fn hash(kind: &str, text: &str) -> u64 {
    let bytes = kind.bytes().chain(text.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
    });
    mix(hash)
}

const fn mix(mut value: u64) -> u64 {
    value ^= value >> 32;
    value = value.wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ (value >> 29)
}

const fn pair(a: u64, b: u64) -> u64 {
    mix(a.rotate_left(17) ^ b)
}

/// Several rows from one hash.
fn rows(hash: u64, count: u64) -> impl Iterator<Item = u16> {
    let step = (hash >> 32) | 1;
    (0..count).map(move |n| (hash.wrapping_add(step.wrapping_mul(n)) & 0xffff) as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rp_base::{Id, SystemRandom, Timestamp};
    use rp_documents::{Actor, Entry, Phase, ResourceId};

    use super::*;
    use crate::Query;

    fn entry(name: &str) -> Entry {
        let actor = Actor { sub: "Sub-1".to_owned(), name: "Ada".to_owned(), from: String::new() };
        let mut entry =
            Entry::new(Timestamp::default(), Phase::Single, Id::random(&SystemRandom), actor, "get");
        entry.target = Some(ResourceId::imported("Harbor").unwrap());
        entry.grant = Some(Id::parse("grant-1").unwrap());
        entry.name = name.to_owned();
        entry
    }

    fn has(column: &[u64], query: &Query) -> bool {
        needed(query).iter().all(|row| column[usize::from(*row) / 64] >> (row % 64) & 1 == 1)
    }

    #[test]
    fn a_block_has_the_rows_of_what_is_in_it_and_hardly_others() {
        let mut column = vec![0; WORDS];
        for n in 0..256 {
            set(&mut column, &serde_json::to_string(&entry(&format!("pod-{n}"))).unwrap());
        }
        let query = |person: Option<&str>, verb: Option<&str>, text: Option<&str>| Query {
            person: person.map(str::to_owned),
            verb: verb.map(str::to_owned),
            text: text.map(str::to_owned),
            ..Query::default()
        };
        for there in [
            query(None, None, None),
            query(Some("ada"), None, None),
            query(Some("Sub-1"), Some("get"), None),
            query(None, None, Some("POD-17")),
            query(Some("Ada"), Some("get"), Some("\"name\":\"pod-255\"")),
        ] {
            assert!(has(&column, &there), "{there:?}");
        }
        let strangers = (0..1000).filter(|n| has(&column, &query(Some(&format!("person {n}")), None, None)));
        assert!(strangers.count() < 10);
        let texts = (0..1000).filter(|n| has(&column, &query(None, None, Some(&format!("stranger-{n:08}")))));
        assert!(texts.count() < 10);
        // Each of them is there, but never together.
        assert!(!has(&column, &query(Some("ada"), Some("delete"), None)));
    }

    proptest! {
        #[test]
        fn never_misses(text in "\\PC{0,40}", from in 0usize..40, length in 0usize..40) {
            let mut column = vec![0; WORDS];
            let json = serde_json::to_string(&entry(&text)).unwrap();
            set(&mut column, &json);
            let whole: Vec<char> = searchable(&json).chars().collect();
            let part: String = whole.iter().skip(from * whole.len() / 40).take(length).collect();
            let upper = Query { text: Some(part.to_uppercase()), ..Query::default() };
            prop_assert!(!part.is_ascii() || has(&column, &upper));
            let same = Query { text: Some(part), ..Query::default() };
            prop_assert!(has(&column, &same));
        }

        #[test]
        fn never_panics(text in "\\PC{0,80}") {
            let mut column = vec![0; WORDS];
            let _ = set(&mut column, &text);
        }
    }
}
