//! Tokens: `aro1_<kind>_<id>_<secret>_<mac>` (`contract/rules.md` §5.8).
//!
//! The MAC lets a forgery be refused without a look-up; the fixed shape lets leaks be scanned for; the
//! store keeps the SHA-256 of the secret only.

use aws_lc_rs::hmac;
use rp_base::{Digest, Id, Random, Secret, sha256};
use rp_documents::GrantKind;
use rp_seal::Keyring;

const PREFIX: &str = "aro1";
/// 160 random bits in Crockford's base 32.
const SECRET_LENGTH: usize = 32;
/// 80 bits of HMAC-SHA-256: a guess costs a request, and the secret stands behind it.
const MAC_LENGTH: usize = 16;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// No token of ours is longer; anything longer is refused unread.
const MOST: usize = 256;

/// Makes and reads tokens with the keys of a keyring, newest first.
#[derive(Debug)]
pub struct TokenCodec {
    keys: Vec<hmac::Key>,
}

/// A token whose MAC is right; the secret is not compared yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedToken<'a> {
    pub kind: GrantKind,
    pub id: &'a str,
    pub secret_sha256: Digest,
}

impl TokenCodec {
    /// Uses the keyring's keys, derived for this purpose.
    pub fn new(keyring: &Keyring) -> Self {
        let derived = keyring.derive("aro1-token-mac");
        let keys = derived.iter().map(|key| hmac::Key::new(hmac::HMAC_SHA256, key.bytes.expose())).collect();
        Self { keys }
    }

    /// A new token for a grant, and the digest to store.
    pub fn make(&self, kind: GrantKind, id: &Id, random: &dyn Random) -> Option<(Secret<String>, Digest)> {
        let mut bytes = [0u8; SECRET_LENGTH];
        random.fill(&mut bytes);
        let secret: String = bytes.iter().map(|b| char::from(ALPHABET[usize::from(b & 31)])).collect();
        let body = format!("{PREFIX}_{}_{id}_{secret}", kind.name());
        let mac = encode_mac(&hmac::sign(self.keys.first()?, body.as_bytes()));
        let digest = sha256(secret.as_bytes());
        Some((Secret::new(format!("{body}_{mac}")), digest))
    }

    /// Reads a token and checks its MAC; `None` when it is not one of ours.
    pub fn read<'a>(&self, token: &'a str) -> Option<ParsedToken<'a>> {
        if token.len() > MOST {
            return None;
        }
        let (body, mac) = token.rsplit_once('_')?;
        let mut parts = body.split('_');
        let (prefix, kind) = (parts.next()?, GrantKind::from_name(parts.next()?)?);
        let (id, secret) = (parts.next()?, parts.next()?);
        if prefix != PREFIX || parts.next().is_some() || secret.len() != SECRET_LENGTH {
            return None;
        }
        let right = self.keys.iter().any(|key| {
            let expected = encode_mac(&hmac::sign(key, body.as_bytes()));
            subtle::ConstantTimeEq::ct_eq(expected.as_bytes(), mac.as_bytes()).into()
        });
        right.then(|| ParsedToken { kind, id, secret_sha256: sha256(secret.as_bytes()) })
    }
}

/// Each character takes five bits of its own byte: 16 bytes of the tag give 80 bits.
fn encode_mac(tag: &hmac::Tag) -> String {
    tag.as_ref().iter().take(MAC_LENGTH).map(|b| char::from(ALPHABET[usize::from(b & 31)])).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rp_base::SystemRandom;

    use super::*;

    fn codec() -> TokenCodec {
        TokenCodec::new(&Keyring::generate(&SystemRandom))
    }

    #[test]
    fn reads_what_it_made_and_nothing_else() {
        let (codec, other) = (codec(), codec());
        let id = Id::random(&SystemRandom);
        let (token, digest) = codec.make(GrantKind::Kubeconfig, &id, &SystemRandom).unwrap();
        let token = token.expose();
        let parsed = codec.read(token).unwrap();
        assert_eq!(
            (parsed.kind, parsed.id, parsed.secret_sha256),
            (GrantKind::Kubeconfig, id.as_str(), digest)
        );
        assert_eq!(other.read(token), None, "another keyring's token");
        assert_eq!(codec.read(&token.replace("kubeconfig", "robot")), None, "another kind");
        for cut in 0..token.len() {
            assert_eq!(codec.read(&token[..cut]), None);
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_accepts_no_forgery(text in "\\PC{0,300}") {
            prop_assert_eq!(codec().read(&text), None);
            let shaped = format!("aro1_kubeconfig_{text}");
            prop_assert_eq!(codec().read(&shaped), None);
        }
    }
}
