//! A batch: entries of one writer that were committed together, and how they are chained.
//!
//! Ids sort so that a plain list gives the newest first: a writer's name starts with its start time counted
//! down, a batch's id ends with its first number counted down.

use std::borrow::Cow;

use rp_base::{Digest, Id, Random, Timestamp, sha256};
use rp_database::Draft;
use rp_documents::Entry;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::AuditError;

/// Milliseconds that fit twelve hexadecimal digits: until the year 10889.
const TIMES: u64 = 0xffff_ffff_ffff;

/// The stored form. `entries` are kept byte for byte: their texts are what is hashed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) writer: String,
    pub(crate) first_seq: u64,
    pub(crate) count: u64,
    /// Digest of the entry before the first; zero for a writer's first.
    pub(crate) first_prev: Digest,
    /// Digest of the last entry.
    pub(crate) head: Digest,
    pub(crate) entries: Vec<Box<RawValue>>,
}

impl Batch {
    /// The document to be stored.
    pub(crate) fn draft(&self) -> Result<Draft, AuditError> {
        Ok(Draft {
            id: id(&self.writer, self.first_seq),
            partition: self.writer.clone(),
            unique_key: None,
            body: serde_json::to_string(self)?,
            expires_at: None,
        })
    }
}

/// A batch, read without copying its entries.
#[derive(Debug, Deserialize)]
pub struct BatchView<'a> {
    #[serde(borrow)]
    pub writer: Cow<'a, str>,
    /// Number of the first entry.
    pub first_seq: u64,
    /// Digest of the last entry.
    #[serde(default)]
    pub(crate) head: Digest,
    /// As they are stored, byte for byte.
    #[serde(borrow)]
    pub entries: Vec<&'a RawValue>,
}

impl BatchView<'_> {
    /// Number of the last entry.
    pub(crate) fn last_seq(&self) -> u64 {
        self.first_seq.saturating_add(u64::try_from(self.entries.len()).unwrap_or(0)).saturating_sub(1)
    }
}

/// The end of a chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) writer: String,
    pub(crate) seq: u64,
    pub(crate) digest: Digest,
}

impl Head {
    /// As the first entry of the next chain names it.
    pub(crate) fn named(&self) -> String {
        format!("predecessor={} seq={} digest={}", self.writer, self.seq, self.digest)
    }

    /// Reads what [`Head::named`] wrote.
    pub(crate) fn from_named(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let mut part = |key: &str| parts.next()?.strip_prefix(key)?.strip_prefix('=');
        let writer = part("predecessor")?.to_owned();
        let seq = part("seq")?.parse().ok()?;
        Some(Self { writer, seq, digest: Digest::parse(part("digest")?)? })
    }

    /// Puts entries at the end of the chain and makes a batch of them; `self` is the new end.
    pub(crate) fn append(&mut self, entries: &mut [Entry]) -> Result<(Batch, Vec<Digest>), AuditError> {
        let (first_seq, first_prev) = (self.seq + 1, self.digest);
        let (mut texts, mut digests) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
        let (mut seq, mut prev) = (self.seq, self.digest);
        for entry in entries {
            seq += 1;
            (entry.writer, entry.seq, entry.prev) = (self.writer.clone(), seq, prev);
            let text = serde_json::value::to_raw_value(entry)?;
            prev = sha256(text.get().as_bytes());
            texts.push(text);
            digests.push(prev);
        }
        let count = seq - self.seq;
        (self.seq, self.digest) = (seq, prev);
        Ok((
            Batch { writer: self.writer.clone(), first_seq, count, first_prev, head: prev, entries: texts },
            digests,
        ))
    }
}

/// The id of the batch that starts at `first_seq`.
pub(crate) fn id(writer: &str, first_seq: u64) -> String {
    format!("{writer}-{:016x}", u64::MAX - first_seq)
}

/// A new writer's name, which sorts before every earlier one's.
pub(crate) fn new_writer(now: Timestamp, predecessor: Option<&str>, random: &dyn Random) -> String {
    let now = u64::try_from(now.millis()).unwrap_or(0).min(TIMES);
    // A clock that went back must not put the new chain among older ones.
    let after = predecessor.and_then(started).map_or(0, |at| at.saturating_add(1));
    let tail: String = Id::random(random).as_str().chars().take(8).collect();
    format!("{:012x}-{tail}", TIMES - now.max(after).min(TIMES))
}

fn started(writer: &str) -> Option<u64> {
    let digits = writer.get(..12)?;
    Some(TIMES - u64::from_str_radix(digits, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rp_base::SystemRandom;

    use super::*;

    #[test]
    fn newer_sorts_first() {
        let at = Timestamp::from_seconds(1_800_000_000);
        let first = new_writer(at, None, &SystemRandom);
        let second = new_writer(at + Duration::from_secs(1), Some(&first), &SystemRandom);
        let clock_went_back = new_writer(Timestamp::default(), Some(&second), &SystemRandom);
        assert!(clock_went_back < second && second < first);
        assert!(id(&first, 513) < id(&first, 1));
        assert!(Id::parse(&id(&first, 1)).is_ok());
    }

    #[test]
    fn a_named_head_reads_back() {
        let head = Head { writer: "abc-1".to_owned(), seq: 7, digest: sha256(b"x") };
        assert_eq!(Head::from_named(&head.named()), Some(head));
        for bad in ["", "predecessor=a", "predecessor=a seq=x digest=00", "seq=1"] {
            assert_eq!(Head::from_named(bad), None);
        }
    }
}
