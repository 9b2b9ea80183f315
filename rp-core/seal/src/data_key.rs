//! Keys of single objects that are too large or too remote to be sealed again when the keyring changes: the
//! object is sealed with its own key, and only that key is sealed by the keyring.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use rp_base::{Random, Secret};
use rp_documents::Sealed;

use crate::{Keyring, SealError};

const TAG_LEN: usize = 16;

/// A key for one thing. Prints nothing of itself.
#[derive(Debug)]
pub struct DataKey(Secret<[u8; 32]>);

impl DataKey {
    /// What a sealed value is longer than the plain one, bytes.
    pub const OVERHEAD: usize = NONCE_LEN + TAG_LEN;

    /// A fresh key.
    pub fn generate(random: &dyn Random) -> Self {
        Self(crate::keyring::fresh(random))
    }

    /// The key as it is stored, bound to its place as every value that the keyring seals.
    ///
    /// # Errors
    /// As [`Keyring::seal`].
    pub fn wrap(&self, keyring: &Keyring, aad: &str) -> Result<Sealed, SealError> {
        keyring.seal(self.0.expose(), aad)
    }

    /// The key that was stored.
    ///
    /// # Errors
    /// As [`Keyring::open`]; [`SealError::Unopenable`] also for a value that is no key.
    pub fn unwrap(keyring: &Keyring, sealed: &Sealed, aad: &str) -> Result<Self, SealError> {
        let plain = keyring.open(sealed, aad)?;
        let key: [u8; 32] = plain.expose().as_slice().try_into().map_err(|_| SealError::Unopenable)?;
        Ok(Self(Secret::new(key)))
    }

    /// Appends `nonce | ciphertext | tag` of `plain` to `out`, with a fresh random nonce.
    ///
    /// # Errors
    /// [`SealError::Unsealable`]: the value is too large for the cipher.
    pub fn seal(&self, plain: &[u8], aad: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
        let key =
            RandomizedNonceKey::new(&AES_256_GCM, self.0.expose()).map_err(|_| SealError::Unsealable)?;
        let start = out.len();
        out.reserve(plain.len() + Self::OVERHEAD);
        out.extend_from_slice(&[0; NONCE_LEN]);
        out.extend_from_slice(plain);
        let (nonce, in_out) = out[start..].split_at_mut(NONCE_LEN);
        let (made, tag) =
            key.seal_in_place_separate_tag(Aad::from(aad), in_out).map_err(|_| SealError::Unsealable)?;
        nonce.copy_from_slice(made.as_ref());
        out.extend_from_slice(tag.as_ref());
        Ok(())
    }

    /// Opens what [`DataKey::seal`] appended.
    ///
    /// # Errors
    /// [`SealError::Unopenable`] for damage, another key and another place alike.
    pub fn open(&self, sealed: &[u8], aad: &[u8]) -> Result<Vec<u8>, SealError> {
        if sealed.len() < Self::OVERHEAD {
            return Err(SealError::Unopenable);
        }
        let key =
            RandomizedNonceKey::new(&AES_256_GCM, self.0.expose()).map_err(|_| SealError::Unopenable)?;
        let (nonce, sealed) = sealed.split_at(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::Unopenable)?;
        let mut in_out = sealed.to_vec();
        let plain =
            key.open_in_place(nonce, Aad::from(aad), &mut in_out).map_err(|_| SealError::Unopenable)?.len();
        in_out.truncate(plain);
        Ok(in_out)
    }
}

#[cfg(test)]
mod tests {
    use rp_base::SystemRandom;

    use super::*;

    #[test]
    fn opens_with_its_own_key_in_its_own_place_only() {
        let keyring = Keyring::generate(&SystemRandom);
        let key = DataKey::generate(&SystemRandom);
        let mut sealed = Vec::new();
        key.seal(b"what was written", b"place/1", &mut sealed).unwrap();
        assert_eq!(sealed.len(), 16 + DataKey::OVERHEAD);
        let wrapped = key.wrap(&keyring, "Recordings/a/sealed").unwrap();
        let key = DataKey::unwrap(&keyring, &wrapped, "Recordings/a/sealed").unwrap();
        assert_eq!(key.open(&sealed, b"place/1").unwrap(), b"what was written");
        assert!(key.open(&sealed, b"place/2").is_err());
        assert!(DataKey::unwrap(&keyring, &wrapped, "Recordings/b/sealed").is_err());
        assert!(DataKey::generate(&SystemRandom).open(&sealed, b"place/1").is_err());
        assert!(key.open(&sealed[..27], b"place/1").is_err() && key.open(&[], b"").is_err());
    }
}
