//! The client assertion of `private_key_jwt` (RFC 7523; `contract/portal.md` §5.4 with a shorter life).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rp_base::{Random, Secret, Timestamp, sha256};
use serde::Serialize;

use crate::tls::certificates;

/// `client_assertion_type` (RFC 7523 §2.2).
pub const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Seconds: made for one exchange.
const LIFE: i64 = 60;
/// Seconds: the provider's clock may be behind ours.
const EARLIER: i64 = 30;

/// Why no assertion can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AssertionError {
    #[error("the client key is no RSA key in PEM")]
    Key,
    #[error("the client certificate is not PEM")]
    Certificate,
    #[error("the client key cannot sign")]
    Signature,
}

/// Signs assertions.
pub struct Signer {
    key: EncodingKey,
    header: Header,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("kid", &self.header.kid).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    jti: String,
    nbf: i64,
    iat: i64,
    exp: i64,
}

impl Signer {
    /// From PEM. The thumbprints name the certificate to the provider: `x5t#S256` and `kid` (RFC 7515 §4.1),
    /// and `x5c`, by which subject and issuer are trusted: the whole chain of the file, leaf first.
    ///
    /// # Errors
    /// Says which of the two cannot be used.
    pub fn new(key_pem: &Secret<String>, certificate_pem: &str) -> Result<Self, AssertionError> {
        let key = EncodingKey::from_rsa_pem(key_pem.expose().as_bytes()).map_err(|_| AssertionError::Key)?;
        let chain = chain_of(certificate_pem);
        let leaf = chain.first().ok_or(AssertionError::Certificate)?;
        let thumbprint = URL_SAFE_NO_PAD.encode(sha256(leaf).0);
        let mut header = Header::new(Algorithm::RS256);
        header.kid = Some(thumbprint.clone());
        header.x5t_s256 = Some(thumbprint);
        header.x5c = Some(chain.iter().map(|each| STANDARD.encode(each)).collect());
        Ok(Self { key, header })
    }

    /// An assertion for `audience`, good for a minute and once.
    ///
    /// # Errors
    /// The key cannot sign.
    pub fn sign(
        &self,
        client_id: &str,
        audience: &str,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<Secret<String>, AssertionError> {
        let now = now.seconds();
        let claims = Claims {
            iss: client_id,
            sub: client_id,
            aud: audience,
            jti: random.uuid().to_string(),
            nbf: now - EARLIER,
            iat: now,
            exp: now + LIFE,
        };
        jsonwebtoken::encode(&self.header, &claims, &self.key)
            .map(Secret::new)
            .map_err(|_| AssertionError::Signature)
    }
}

/// The DER of the certificates of a PEM text, the leaf first; empty: it is none.
fn chain_of(pem: &str) -> Vec<Vec<u8>> {
    let chain = certificates(pem, "the client certificate").unwrap_or_default();
    chain.into_iter().map(|each| each.as_ref().to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use rp_base::SystemRandom;
    use serde_json::Value;

    use super::*;

    #[test]
    fn an_assertion_names_its_certificate_and_lives_a_minute() {
        let der: Pkcs8V1Der<'_> = KeyPair::generate(KeySize::Rsa2048).unwrap().as_der().unwrap();
        let body = STANDARD.encode(der.as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
        let key = rcgen::KeyPair::generate().unwrap();
        let leaf = || rcgen::CertificateParams::default().self_signed(&key).unwrap();
        let (first, second) = (leaf(), leaf());
        let certificate = format!("{}{}", first.pem(), second.pem());
        let signer = Signer::new(&Secret::new(pem), &certificate).unwrap();
        let now = Timestamp::from_seconds(1_800_000_000);
        let sign = || signer.sign("client", "https://login.example/token", now, &SystemRandom).unwrap();
        let part = |text: &str, at: usize| -> Value {
            let part = text.split('.').nth(at).unwrap();
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        let (first, second) = (sign(), sign());
        let (header, claims) = (part(first.expose(), 0), part(first.expose(), 1));
        let chain = chain_of(&certificate);
        let thumbprint = URL_SAFE_NO_PAD.encode(sha256(&chain[0]).0);
        let sent: Vec<String> = serde_json::from_value(header["x5c"].clone()).unwrap();
        assert_eq!(
            sent,
            [STANDARD.encode(&chain[0]), STANDARD.encode(&chain[1])],
            "the leaf, then the chain"
        );
        assert_eq!(
            (header["alg"].as_str(), header["x5t#S256"].as_str()),
            (Some("RS256"), Some(&*thumbprint))
        );
        assert_eq!(header["kid"], header["x5t#S256"]);
        assert_eq!((claims["iss"].as_str(), claims["sub"].as_str()), (Some("client"), Some("client")));
        assert_eq!(claims["aud"], "https://login.example/token");
        assert_eq!(claims["exp"].as_i64(), Some(1_800_000_060));
        assert_ne!(claims["jti"], part(second.expose(), 1)["jti"]);
        assert!(!format!("{signer:?}").contains(&body[..20]));
    }
}
