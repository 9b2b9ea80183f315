//! Which algorithms each side is offered (`contract/portal.md` §16.1).
//!
//! Never: SHA-1, CBC, plain MACs towards people, compression before sign-in, and ChaCha20-Poly1305, whose order of
//! packets only strict key exchange protects (CVE-2023-48795): who has it has AES-GCM too.

use std::borrow::Cow;

use russh::keys::{Algorithm, EcdsaCurve, HashAlg};
use russh::{Preferred, cipher, compression, kex, mac};

const STRICT: [kex::Name; 4] = [
    kex::EXTENSION_SUPPORT_AS_CLIENT,
    kex::EXTENSION_SUPPORT_AS_SERVER,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_SERVER,
];

const MODERN_KEX: &[kex::Name] = &[kex::MLKEM768X25519_SHA256, kex::CURVE25519, kex::CURVE25519_PRE_RFC_8731];
const FIPS_KEX: &[kex::Name] =
    &[kex::ECDH_SHA2_NISTP256, kex::ECDH_SHA2_NISTP384, kex::ECDH_SHA2_NISTP521, kex::DH_G14_SHA256];

/// Not CTR beside them: the client's order decides, and OpenSSH's would take it.
const MODERN_CIPHERS: &[cipher::Name] = &[cipher::AES_256_GCM, cipher::AES_128_GCM];
const FIPS_CIPHERS: &[cipher::Name] = &[cipher::AES_256_CTR, cipher::AES_192_CTR, cipher::AES_128_CTR];

const MODERN_MACS: &[mac::Name] = &[mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM];
const FIPS_MACS: &[mac::Name] =
    &[mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM, mac::HMAC_SHA256, mac::HMAC_SHA512];

const P256: Algorithm = Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 };
const P384: Algorithm = Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 };
const P521: Algorithm = Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 };
const RSA_512: Algorithm = Algorithm::Rsa { hash: Some(HashAlg::Sha512) };
const RSA_256: Algorithm = Algorithm::Rsa { hash: Some(HashAlg::Sha256) };

/// Host keys and keys of people, most preferred first.
const MODERN_KEYS: &[Algorithm] = &[Algorithm::Ed25519, P256, P384, P521, RSA_512, RSA_256];
const FIPS_KEYS: &[Algorithm] = &[RSA_512, RSA_256, P256, P384, P521];
const NO_COMPRESSION: &[compression::Name] = &[compression::NONE];

/// What people's clients are offered.
pub(super) fn towards_people(fips: bool) -> Preferred {
    if fips { contract() } else { modern() }
}

/// What the machines of clusters are offered: `contract/portal.md` §16.1's; `modern` puts the newer ones
/// before them. `known` are the algorithms of the machine's pinned keys, so that it shows one that can be
/// compared; empty: any.
pub(super) fn towards_machines(fips: bool, modern_too: bool, known: &[Algorithm]) -> Preferred {
    let mut preferred = contract();
    if modern_too && !fips {
        preferred.kex = joined(MODERN_KEX, FIPS_KEX, &STRICT);
        preferred.cipher = joined(MODERN_CIPHERS, FIPS_CIPHERS, &[]);
    }
    if !fips {
        preferred.key = Cow::Borrowed(MODERN_KEYS);
    }
    let allowed: Vec<Algorithm> = preferred
        .key
        .iter()
        .filter(|each| known.is_empty() || known.iter().any(|key| signs_with(key, each)))
        .cloned()
        .collect();
    if !allowed.is_empty() {
        preferred.key = Cow::Owned(allowed);
    }
    preferred
}

/// The algorithms of keys that people may show: those that a signature is verified for.
pub(super) fn accepts(fips: bool, algorithm: &Algorithm) -> bool {
    let list = if fips { FIPS_KEYS } else { MODERN_KEYS };
    list.contains(algorithm)
}

/// Whether a signature algorithm is one of a key of that type.
fn signs_with(key: &Algorithm, signature: &Algorithm) -> bool {
    match (key, signature) {
        (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
        (key, signature) => key == signature,
    }
}

fn modern() -> Preferred {
    Preferred {
        kex: joined(MODERN_KEX, &[], &STRICT),
        key: Cow::Borrowed(MODERN_KEYS),
        host_key_certificates: Cow::Borrowed(&[]),
        cipher: Cow::Borrowed(MODERN_CIPHERS),
        mac: Cow::Borrowed(MODERN_MACS),
        compression: Cow::Borrowed(NO_COMPRESSION),
    }
}

fn contract() -> Preferred {
    Preferred {
        kex: joined(FIPS_KEX, &[], &STRICT),
        key: Cow::Borrowed(FIPS_KEYS),
        host_key_certificates: Cow::Borrowed(&[]),
        cipher: Cow::Borrowed(FIPS_CIPHERS),
        mac: Cow::Borrowed(FIPS_MACS),
        compression: Cow::Borrowed(NO_COMPRESSION),
    }
}

fn joined<T: Clone>(first: &[T], second: &[T], third: &[T]) -> Cow<'static, [T]> {
    Cow::Owned([first, second, third].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<T: AsRef<str>>(list: &[T]) -> Vec<&str> {
        list.iter()
            .map(AsRef::as_ref)
            .filter(|name| !name.starts_with("ext-info") && !name.starts_with("kex-strict"))
            .collect()
    }

    /// `contract/portal.md` §16.1, word for word.
    #[test]
    fn fips_offers_exactly_the_contracts_lists() {
        for preferred in
            [towards_people(true), towards_machines(true, true, &[]), towards_machines(false, false, &[])]
        {
            let kex = [
                "ecdh-sha2-nistp256",
                "ecdh-sha2-nistp384",
                "ecdh-sha2-nistp521",
                "diffie-hellman-group14-sha256",
            ];
            assert_eq!(names(&preferred.kex), kex);
            assert_eq!(names(&preferred.cipher), ["aes256-ctr", "aes192-ctr", "aes128-ctr"]);
            let macs = [
                "hmac-sha2-256-etm@openssh.com",
                "hmac-sha2-512-etm@openssh.com",
                "hmac-sha2-256",
                "hmac-sha2-512",
            ];
            assert_eq!(names(&preferred.mac), macs);
        }
        let keys: Vec<String> =
            towards_machines(true, true, &[]).key.iter().map(ToString::to_string).collect();
        let wanted = [
            "rsa-sha2-512",
            "rsa-sha2-256",
            "ecdsa-sha2-nistp256",
            "ecdsa-sha2-nistp384",
            "ecdsa-sha2-nistp521",
        ];
        assert_eq!(keys, wanted);
    }

    #[test]
    fn people_get_nothing_old_and_strict_key_exchange() {
        let preferred = towards_people(false);
        assert!(preferred.kex.contains(&kex::EXTENSION_OPENSSH_STRICT_KEX_AS_SERVER));
        assert_eq!(names(&preferred.kex)[0], "mlkem768x25519-sha256");
        let all: Vec<&str> =
            [names(&preferred.kex), names(&preferred.cipher), names(&preferred.mac)].concat();
        for bad in ["sha1", "cbc", "chacha20", "group1-", "group14-sha1", "3des"] {
            assert!(all.iter().all(|name| !name.contains(bad)), "{bad} in {all:?}");
        }
        assert!(preferred.key.iter().all(|key| *key != Algorithm::Rsa { hash: None }));
    }

    #[test]
    fn a_machine_shows_a_key_that_is_known() {
        let known = [Algorithm::Ed25519];
        assert_eq!(towards_machines(false, false, &known).key.as_ref(), &known);
        let rsa = [Algorithm::Rsa { hash: None }];
        assert_eq!(towards_machines(true, false, &rsa).key.as_ref(), &[RSA_512, RSA_256]);
        // A known key of a type that is not allowed: the refusal then says which key was shown.
        assert_eq!(towards_machines(true, false, &known).key.len(), 5);
    }

    #[test]
    fn sha1_signatures_are_not_accepted() {
        assert!(!accepts(false, &Algorithm::Rsa { hash: None }));
        assert!(accepts(false, &Algorithm::Ed25519) && !accepts(true, &Algorithm::Ed25519));
    }
}
