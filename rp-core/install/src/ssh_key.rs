//! The key of the machines' user `core`, as the installer takes it (`contract/installer.md` §2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The largest key that is read, in bytes: RSA of 16384 bits has some 9,000.
const MOST_KEY: usize = 16 << 10;
const KIND: &[u8] = b"ssh-rsa";

/// Why a stored key cannot be read. It holds nothing of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the SSH key of the cluster is no RSA key as PKCS#1 DER")]
pub struct SshKeyError;

/// The public half of a private RSA key (PKCS#1 DER, RFC 8017 A.1.2) as a line of `authorized_keys` without a comment:
/// `ssh-rsa BASE64` (RFC 4253 §6.6).
///
/// # Errors
/// [`SshKeyError`]: it has another form.
pub fn authorized_key(pkcs1: &[u8]) -> Result<String, SshKeyError> {
    let (modulus, exponent) = public_numbers(pkcs1).ok_or(SshKeyError)?;
    let mut blob = Vec::with_capacity(modulus.len() + 64);
    for part in [KIND, exponent, modulus] {
        // Bounded by MOST_KEY.
        blob.extend_from_slice(&u32::try_from(part.len()).map_err(|_| SshKeyError)?.to_be_bytes());
        blob.extend_from_slice(part);
    }
    Ok(format!("ssh-rsa {}", STANDARD.encode(blob)))
}

/// Modulus and public exponent. DER and SSH write a positive number alike: with a zero before a first bit that is set.
fn public_numbers(pkcs1: &[u8]) -> Option<(&[u8], &[u8])> {
    if pkcs1.len() > MOST_KEY {
        return None;
    }
    let (0x30, inside, []) = element(pkcs1)? else { return None };
    let (0x02, [0], rest) = element(inside)? else { return None };
    let (0x02, modulus, rest) = element(rest)? else { return None };
    let (0x02, exponent, _) = element(rest)? else { return None };
    let positive = |number: &[u8]| number.first().is_some_and(|first| *first < 0x80) && number.len() < 2049;
    (modulus.len() > 128 && positive(modulus) && positive(exponent)).then_some((modulus, exponent))
}

/// Tag, contents and what follows, of an element in DER with a definite length.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (contents, after) = rest.split_at_checked(length)?;
    Some((tag, contents, after))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use proptest::prelude::*;

    use super::*;

    /// PKCS#8 has PKCS#1 as its last element.
    fn pkcs1() -> Vec<u8> {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let pkcs8: Pkcs8V1Der<'static> = pair.as_der().unwrap();
        let (_, inside, _) = element(pkcs8.as_ref()).unwrap();
        let (_, _, rest) = element(inside).unwrap();
        let (_, _, rest) = element(rest).unwrap();
        element(rest).unwrap().1.to_vec()
    }

    #[test]
    fn the_public_half_is_a_line_of_openssh() {
        let line = authorized_key(&pkcs1()).unwrap();
        let blob = STANDARD.decode(line.strip_prefix("ssh-rsa ").unwrap()).unwrap();
        // Length and kind, length and 65537, length and 257 bytes of modulus.
        assert_eq!(blob.len(), 4 + 7 + 4 + 3 + 4 + 257);
        assert_eq!(blob[..18], *b"\0\0\0\x07ssh-rsa\0\0\0\x03\x01\x00\x01");
    }

    #[test]
    fn half_a_key_is_refused() {
        let key = pkcs1();
        for length in [0, 1, 4, 20, key.len() - 1] {
            assert_eq!(authorized_key(&key[..length]), Err(SshKeyError), "{length}");
        }
        assert_eq!(authorized_key(b"-----BEGIN RSA PRIVATE KEY-----"), Err(SshKeyError));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = authorized_key(&bytes);
        }
    }
}
