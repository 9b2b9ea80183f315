//! Short identifiers that people read aloud and stores sort by.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::Random;

/// 20 lower-case letters and digits of Crockford's base 32: 100 random bits.
const LENGTH: usize = 20;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

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
    fn refuses_what_could_be_a_path_or_markup() {
        for bad in ["", "A", "a/b", "a b", "<", "..", &"x".repeat(65)] {
            assert_eq!(Id::parse(bad), Err(InvalidId), "{bad}");
        }
    }
}
