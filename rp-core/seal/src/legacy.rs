//! Openers of the contract's two older forms (`contract/database.md` §11.3), for migration. Nothing seals
//! with them.
//!
//! They name no key and are bound to no place, so every key is tried, and a value can have been moved unnoticed.

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_256, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rp_base::Secret;
use zeroize::{Zeroize as _, Zeroizing};

use crate::SealError;

/// No stored field comes near this. Bytes of sealed text.
const MOST: usize = 64 * 1024 * 1024;
const IV: usize = 16;
const TAG: usize = 32;
const XNONCE: usize = 24;
const POLY_TAG: usize = 16;

/// Keys of the older forms, each list in the order in which it is tried: first v2, then v1
/// (`contract/database.md` §11.4).
#[derive(Default)]
pub(crate) struct LegacyKeys {
    pub(crate) v2: Vec<Secret<[u8; 64]>>,
    pub(crate) v1: Vec<Secret<[u8; 32]>>,
}

/// The format of a sealed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealVersion {
    /// XChaCha20-Poly1305.
    V1,
    /// AES-256-CBC with HMAC-SHA-512.
    V2,
    /// The current format.
    V3,
}

impl LegacyKeys {
    pub(crate) fn is_empty(&self) -> bool {
        self.v1.is_empty() && self.v2.is_empty()
    }

    /// Opens base64 (standard, padded) of either form.
    pub(crate) fn open(&self, text: &str) -> Result<(Secret<Vec<u8>>, SealVersion), SealError> {
        if text.len() > MOST {
            return Err(SealError::Unopenable);
        }
        let sealed = STANDARD.decode(text).map_err(|_| SealError::Unopenable)?;
        let v2 = self
            .v2
            .iter()
            .find_map(|key| open_v2(key.expose(), &sealed).map(|plain| (plain, SealVersion::V2)));
        let v1 = || {
            self.v1
                .iter()
                .find_map(|key| open_v1(key.expose(), &sealed).map(|plain| (plain, SealVersion::V1)))
        };
        v2.or_else(v1).ok_or(SealError::Unopenable)
    }
}

/// IV, ciphertext, tag. The first half of the key is for AES, the second for the MAC, which comes first: nothing is
/// decrypted that was not made with the key.
fn open_v2(key: &[u8; 64], sealed: &[u8]) -> Option<Secret<Vec<u8>>> {
    let (aes, mac) = key.split_at(32);
    let (made, tag) = sealed.split_at_checked(sealed.len().checked_sub(TAG)?)?;
    let mut over = Vec::with_capacity(made.len() + 8);
    over.extend_from_slice(made);
    // The length in bits of the associated data, of which there is none.
    over.extend_from_slice(&[0; 8]);
    let full = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA512, mac), &over);
    verify_slices_are_equal(full.as_ref().get(..TAG)?, tag).ok()?;
    let (iv, ciphertext) = made.split_at_checked(IV)?;
    let iv: [u8; IV] = iv.try_into().ok()?;
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(UnboundCipherKey::new(&AES_256, aes).ok()?).ok()?;
    let mut in_out = Zeroizing::new(ciphertext.to_vec());
    let plain = key.decrypt(&mut in_out, DecryptionContext::Iv128(iv.into())).ok()?;
    Some(Secret::new(plain.to_vec()))
}

/// Nonce, ciphertext, tag (draft-irtf-cfrg-xchacha-03 §2.3): ChaCha20-Poly1305 with a key made of the first 16 bytes of
/// the nonce, and the other 8 as its nonce.
fn open_v1(key: &[u8; 32], sealed: &[u8]) -> Option<Secret<Vec<u8>>> {
    if sealed.len() < XNONCE + POLY_TAG {
        return None;
    }
    let (nonce, ciphertext) = sealed.split_at_checked(XNONCE)?;
    let (first, last) = nonce.split_at_checked(16)?;
    let mut subkey = hchacha20(key, first.try_into().ok()?);
    let unbound = UnboundKey::new(&CHACHA20_POLY1305, &subkey);
    subkey.zeroize();
    let mut short = [0; 12];
    short.get_mut(4..)?.copy_from_slice(last);
    let mut in_out = Zeroizing::new(ciphertext.to_vec());
    let key = LessSafeKey::new(unbound.ok()?);
    let nonce = Nonce::assume_unique_for_key(short);
    let plain = key.open_in_place(nonce, Aad::empty(), &mut in_out).ok()?;
    Some(Secret::new(plain.to_vec()))
}

/// HChaCha20 (draft-irtf-cfrg-xchacha-03 §2.2): the rounds of ChaCha20 over constants, key and nonce, without the last
/// addition; of the result the first and the last row.
fn hchacha20(key: &[u8; 32], nonce: &[u8; 16]) -> [u8; 32] {
    const ROUNDS: [[usize; 4]; 8] = [
        [0, 4, 8, 12],
        [1, 5, 9, 13],
        [2, 6, 10, 14],
        [3, 7, 11, 15],
        [0, 5, 10, 15],
        [1, 6, 11, 12],
        [2, 7, 8, 13],
        [3, 4, 9, 14],
    ];
    let mut state = Zeroizing::new([0u32; 16]);
    let words = b"expand 32-byte k".chunks_exact(4).chain(key.chunks_exact(4)).chain(nonce.chunks_exact(4));
    for (word, bytes) in state.iter_mut().zip(words) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for _ in 0..10 {
        for at in ROUNDS {
            quarter_round(&mut state, at);
        }
    }
    let mut out = [0; 32];
    for (bytes, word) in out.chunks_exact_mut(4).zip(state.iter().take(4).chain(state.iter().skip(12))) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    out
}

/// RFC 8439 §2.1.
fn quarter_round(state: &mut [u32; 16], [a, b, c, d]: [usize; 4]) {
    for (first, second, third, bits) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
        state[first] = state[first].wrapping_add(state[second]);
        state[third] = (state[third] ^ state[first]).rotate_left(bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting<const N: usize>() -> [u8; N] {
        std::array::from_fn(|n| u8::try_from(n).unwrap())
    }

    /// draft-irtf-cfrg-xchacha-03 §2.2.1.
    #[test]
    fn the_subkey_is_the_drafts() {
        let nonce = [0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0, 0x31, 0x41, 0x59, 0x27];
        let wanted = [
            0x82, 0x41, 0x3b, 0x42, 0x27, 0xb2, 0x7b, 0xfe, 0xd3, 0x0e, 0x42, 0x50, 0x8a, 0x87, 0x7d, 0x73,
            0xa0, 0xf9, 0xe4, 0xd5, 0x8a, 0x74, 0xa8, 0x53, 0xc1, 0x2e, 0xc4, 0x13, 0x26, 0xd3, 0xec, 0xdc,
        ];
        assert_eq!(hchacha20(&counting(), &nonce), wanted);
    }

    /// Made with Go's own libraries; the second of v2 is the contract's vector
    /// (`contract/database.md` §11.3).
    const VECTORS: &[(SealVersion, &str, &str)] = &[
        (SealVersion::V1, "", "QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXYdhIm9WM++PsbVkTZxw3eQ=="),
        (SealVersion::V1, "test", "QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXoFx2BDR/WPD7sdSgl3JS3VyiNAA="),
        (
            SealVersion::V1,
            "a text that is longer than one block of the cipher, which has sixty-four bytes",
            "QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXtRlxFaiUWWLnlfOexu9F/v3UyqFheSfyC1/dKmdhA/J6lmEFdf3iMIvakWxps6qZ/hlRyBjt3f/e3GCVYJI/PSJfgV9y3DC6pWHJi7kKxtcLV9jbEMWPUZMHFHsZTg==",
        ),
        (
            SealVersion::V2,
            "",
            "AAECAwQFBgcICQoLDA0OD+nD74qyNFPm8HSc1jbnqI7WFdEh2Ew4miadWFpPKeLlqARNrZvvIw2ex/Bb6mNIGA==",
        ),
        (
            SealVersion::V2,
            "test",
            "AAECAwQFBgcICQoLDA0OD0RqzgelPXexsvzJd2Xg+/5HdVXAq8Tlu5zGNxyTKIChab0FViHwiWe8cclNoVxF1Q==",
        ),
        (
            SealVersion::V2,
            "sixteen bytes!!!",
            "AAECAwQFBgcICQoLDA0OD+RbN+mMLEL0Mx8E1NJSUApU5Iix7em/RmOkvgoQpme91k2crCaRMsSLfIJfOk//B7BEKPmV7AxwKWH4jUrxLPU=",
        ),
        (
            SealVersion::V2,
            "a text that is longer than one block of the cipher, which has sixteen bytes",
            "AAECAwQFBgcICQoLDA0OD+dCuBrMZpbk9Izvtlcv0ih9a1aJX9B6w6uJVOMPsGEHZrylVBoZTTQGOiNh1JL/hZGGAYIdOWtrkX/kPqauPfcm/Hjyqp2PipXytKcBTgfkYYrD/4XoauGqYB9KeAC6Xcdkjmexg0OeAMLOz9RLXv4=",
        ),
    ];

    fn keys() -> LegacyKeys {
        // The right ones come last: all are tried.
        LegacyKeys {
            v2: vec![Secret::new([9; 64]), Secret::new(counting())],
            v1: vec![Secret::new([9; 32]), Secret::new(counting())],
        }
    }

    #[test]
    fn opens_what_others_sealed() {
        for (form, plain, text) in VECTORS {
            let (opened, found) = keys().open(text).unwrap();
            assert_eq!((opened.expose().as_slice(), found), (plain.as_bytes(), *form), "{text}");
        }
    }

    #[test]
    fn damage_and_other_keys_open_nothing() {
        let other = LegacyKeys { v2: vec![Secret::new([9; 64])], v1: vec![Secret::new([9; 32])] };
        for (_, _, text) in VECTORS {
            assert!(matches!(other.open(text), Err(SealError::Unopenable)));
            let bytes = STANDARD.decode(text).unwrap();
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1;
                assert!(keys().open(&STANDARD.encode(damaged)).is_err(), "byte {at} of {text}");
                assert!(keys().open(&STANDARD.encode(&bytes[..at])).is_err(), "{at} bytes of {text}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(0u8.., 0..120)) {
            proptest::prop_assert!(keys().open(&STANDARD.encode(bytes)).is_err());
        }
    }
}
