//! The form of a sealed value: `v3.<key id>.<base64url(nonce | ciphertext | tag)>`.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rp_base::Secret;
use rp_documents::Sealed;
use zeroize::Zeroize as _;

use crate::SealError;

const FORM: &str = "v3";
const TAG_LEN: usize = 16;
/// No stored field comes near this; more is damage or an attack. Bytes of sealed text.
const MOST: usize = 64 * 1024 * 1024;

/// Key ids stand in sealed values and in logs: 1 to 32 of `[a-z0-9-]`.
pub(crate) fn is_key_id(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// A sealed value taken apart, not yet opened.
pub(crate) struct Envelope<'a> {
    pub(crate) key_id: &'a str,
    body: &'a str,
}

impl<'a> Envelope<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, SealError> {
        let mut parts = text.splitn(3, '.');
        let (Some(FORM), Some(key_id), Some(body)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(SealError::Unopenable);
        };
        if !is_key_id(key_id) || body.len() > MOST {
            return Err(SealError::Unopenable);
        }
        Ok(Self { key_id, body })
    }

    pub(crate) fn open(&self, key: &[u8; 32], aad: &str) -> Result<Secret<Vec<u8>>, SealError> {
        let mut bytes = URL_SAFE_NO_PAD.decode(self.body).map_err(|_| SealError::Unopenable)?;
        if bytes.len() < NONCE_LEN + TAG_LEN {
            return Err(SealError::Unopenable);
        }
        let (nonce, in_out) = bytes.split_at_mut(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::Unopenable)?;
        let key = RandomizedNonceKey::new(&AES_256_GCM, key).map_err(|_| SealError::Unopenable)?;
        let associated = associated(self.key_id, aad);
        let opened = key
            .open_in_place(nonce, Aad::from(associated.as_bytes()), in_out)
            .map(|plain| Secret::new(plain.to_vec()))
            .map_err(|_| SealError::Unopenable);
        bytes.zeroize();
        opened
    }
}

/// Seals `plain` with a fresh random nonce.
pub(crate) fn seal(key_id: &str, key: &[u8; 32], plain: &[u8], aad: &str) -> Result<Sealed, SealError> {
    let key = RandomizedNonceKey::new(&AES_256_GCM, key).map_err(|_| SealError::Unsealable)?;
    let mut body = Vec::with_capacity(NONCE_LEN + plain.len() + TAG_LEN);
    body.extend_from_slice(&[0; NONCE_LEN]);
    body.extend_from_slice(plain);
    let associated = associated(key_id, aad);
    let sealed = key.seal_in_place_separate_tag(Aad::from(associated.as_bytes()), &mut body[NONCE_LEN..]);
    let Ok((nonce, tag)) = sealed else {
        body.zeroize();
        return Err(SealError::Unsealable);
    };
    body[..NONCE_LEN].copy_from_slice(nonce.as_ref());
    body.extend_from_slice(tag.as_ref());
    Ok(Sealed(format!("{FORM}.{key_id}.{}", URL_SAFE_NO_PAD.encode(&body))))
}

/// The form and the key id are bound too: neither contains a dot, so the three parts cannot be mixed up.
fn associated(key_id: &str, aad: &str) -> String {
    format!("{FORM}.{key_id}.{aad}")
}
