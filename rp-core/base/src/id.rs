//! Short identifiers that people read aloud and stores sort by.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Random, Timestamp};

/// 20 lower-case letters and digits of Crockford's base 32: 100 random bits.
const LENGTH: usize = 20;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Of an identifier that sorts by time: 45 bits of milliseconds, counted down, in nine characters ...
const TIME_LENGTH: usize = 9;
const LAST_TIME: u64 = (1 << 45) - 1;
/// ... and 80 random bits.
const TAIL_LENGTH: usize = 16;

/// An opaque identifier of something we made: 1 to 64 of `[a-z0-9-]`. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Id(Arc<str>);

/// The text is no identifier of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an identifier is 1 to 64 lower-case letters, digits and dashes")]
pub struct InvalidId;

impl Id {
    /// A new identifier of 100 random bits.
    pub fn random(random: &dyn Random) -> Self {
        let mut bytes = [0u8; LENGTH];
        random.fill(&mut bytes);
        let text: String = bytes.iter().map(|b| char::from(ALPHABET[usize::from(b & 31)])).collect();
        Self(text.into())
    }

    /// A new identifier that sorts before all those made in an earlier millisecond, with 80 random bits.
    pub fn newest_first(at: Timestamp, random: &dyn Random) -> Self {
        let left = LAST_TIME - u64::try_from(at.millis()).unwrap_or(0).min(LAST_TIME);
        let time = (0..TIME_LENGTH).rev().map(|place| (left >> (5 * place)) & 31);
        let mut tail = [0u8; TAIL_LENGTH];
        random.fill(&mut tail);
        let digits = time.chain(tail.iter().map(|byte| u64::from(byte & 31)));
        let text: String = digits
            .map(|digit| usize::try_from(digit).map_or('0', |digit| char::from(ALPHABET[digit])))
            .collect();
        Self(text.into())
    }

    /// When an identifier of [`Id::newest_first`] was made; `None` for any other.
    pub fn made(&self) -> Option<Timestamp> {
        if self.0.len() != TIME_LENGTH + TAIL_LENGTH {
            return None;
        }
        let mut left = 0u64;
        for byte in self.0.bytes().take(TIME_LENGTH) {
            left = left << 5 | u64::try_from(ALPHABET.iter().position(|digit| *digit == byte)?).ok()?;
        }
        i64::try_from(LAST_TIME - left).ok().map(Timestamp::from_millis)
    }

    /// Reads an identifier.
    ///
    /// # Errors
    /// The text is empty, too long or has other characters.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let good = (1..=64).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if good { Ok(Self(text.into())) } else { Err(InvalidId) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Id {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemRandom;

    #[test]
    fn random_ids_parse_and_differ() {
        let (a, b) = (Id::random(&SystemRandom), Id::random(&SystemRandom));
        assert_ne!(a, b);
        assert_eq!(Id::parse(a.as_str()), Ok(a.clone()));
    }

    #[test]
    fn newest_sorts_first_and_tells_its_time() {
        let at = |millis| Id::newest_first(Timestamp::from_millis(millis), &SystemRandom);
        let ids: Vec<Id> = [-1, 0, 1, 1_700_000_000_000, 1_700_000_000_001, 1 << 44].map(at).to_vec();
        assert!(ids[1..].windows(2).all(|pair| pair[1] < pair[0]), "{ids:?}");
        let made: Vec<_> = ids.iter().map(|id| id.made().unwrap().millis()).collect();
        assert_eq!(made, [0, 0, 1, 1_700_000_000_000, 1_700_000_000_001, 1 << 44]);
        assert_eq!(Id::parse(ids[3].as_str()), Ok(ids[3].clone()));
        assert_eq!(Id::random(&SystemRandom).made(), None);
    }

    #[test]
    fn refuses_what_could_be_a_path_or_markup() {
        for bad in ["", "A", "a/b", "a b", "<", "..", &"x".repeat(65)] {
            assert_eq!(Id::parse(bad), Err(InvalidId), "{bad}");
        }
    }
}
