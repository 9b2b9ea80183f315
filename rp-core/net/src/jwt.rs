//! Signed tokens of a provider whose keys are published (RFC 7515, RFC 7519; what to be strict about: RFC 8725).
//!
//! Length, algorithm, key, signature, issuer and audience are checked here; times, by its own clock, and what a token
//! is good for are the caller's.

use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};
use serde::de::DeserializeOwned;

/// Bytes: longer tokens are not read.
const MOST: usize = 16 * 1024;

/// Why a token is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwtError {
    #[error("it is too long")]
    TooLong,
    #[error("it is no signed token")]
    NotSigned,
    #[error("it is signed in a way that is not allowed")]
    Algorithm,
    #[error("its signature, issuer or audience is wrong")]
    Wrong,
}

/// What a token must say.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// Any of these as `iss`.
    pub issuers: &'a [&'a str],
    /// Stands in `aud`.
    pub audience: &'a str,
    /// Claims that must be there; `iss` and `aud` belong among them.
    pub claims: &'a [&'a str],
}

/// A token whose header is acceptable; nothing that it says is proved yet.
pub struct SignedToken<'a> {
    token: &'a str,
    header: Header,
}

impl std::fmt::Debug for SignedToken<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedToken").field("alg", &self.header.alg).finish_non_exhaustive()
    }
}

impl<'a> SignedToken<'a> {
    /// Of the `allowed` algorithms: name those only whose keys nobody but the issuer has.
    ///
    /// # Errors
    /// It is too long, no token, or signed otherwise.
    pub fn read(token: &'a str, allowed: &[Algorithm]) -> Result<Self, JwtError> {
        if token.len() > MOST {
            return Err(JwtError::TooLong);
        }
        let header = decode_header(token).map_err(|_| JwtError::NotSigned)?;
        if !allowed.contains(&header.alg) {
            return Err(JwtError::Algorithm);
        }
        Ok(Self { token, header })
    }

    /// Whether that key may have signed it: a key for signatures, of the name that the token says, if it says one.
    pub fn names(&self, key: &Jwk) -> bool {
        let kid = self.header.kid.as_deref();
        matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature))
            && kid.is_none_or(|kid| key.common.key_id.as_deref() == Some(kid))
    }

    /// `typ` of the header, lower case, without `application/` (RFC 8725 §3.11).
    pub fn kind(&self) -> String {
        let kind = self.header.typ.as_deref().unwrap_or_default().to_ascii_lowercase();
        kind.trim_start_matches("application/").to_owned()
    }

    /// Its claims, when one of the keys that it names signed it and it says what is expected. Whether it has expired is
    /// not asked.
    ///
    /// # Errors
    /// [`JwtError::Wrong`].
    pub fn open<T: DeserializeOwned>(&self, keys: &[Jwk], expected: Expected<'_>) -> Result<T, JwtError> {
        let mut validation = Validation::new(self.header.alg);
        // By the caller's clock.
        validation.validate_exp = false;
        validation.set_required_spec_claims(expected.claims);
        validation.set_issuer(expected.issuers);
        validation.set_audience(&[expected.audience]);
        let opened = keys.iter().filter(|key| self.names(key)).find_map(|key| {
            let key = DecodingKey::from_jwk(key).ok()?;
            decode::<T>(self.token, &key, &validation).ok()
        });
        opened.map(|data| data.claims).ok_or(JwtError::Wrong)
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{EncodingKey, encode};
    use serde_json::{Value, json};

    use super::*;

    const EXPECTED: Expected<'static> =
        Expected { issuers: &["https://issuer"], audience: "us", claims: &["iss", "aud"] };

    fn key(name: &str) -> (EncodingKey, Jwk) {
        let pair = rcgen::KeyPair::generate().unwrap();
        let signing = EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap();
        let mut jwk = Jwk::from_encoding_key(&signing, Algorithm::ES256).unwrap();
        jwk.common.key_id = Some(name.to_owned());
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        (signing, jwk)
    }

    fn token(key: &EncodingKey, kid: Option<&str>, claims: &Value) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = kid.map(str::to_owned);
        header.typ = Some("application/Logout+JWT".to_owned());
        encode(&header, claims, key).unwrap()
    }

    #[test]
    fn a_token_opens_with_the_key_that_it_names_and_for_whom_it_was_made() {
        let ((signing, a), (_, mut b)) = (key("a"), key("b"));
        let good = json!({"iss": "https://issuer", "aud": ["them", "us"], "exp": 1, "sub": "p"});
        let text = token(&signing, Some("a"), &good);
        let read = SignedToken::read(&text, &[Algorithm::ES256]).unwrap();
        assert_eq!(read.kind(), "logout+jwt");
        assert!(read.names(&a) && !read.names(&b));
        let opened: Value = read.open(&[b.clone(), a.clone()], EXPECTED).unwrap();
        assert_eq!(opened, good);
        let wrong = |text: &str, keys: &[Jwk]| {
            let read = SignedToken::read(text, &[Algorithm::ES256]).unwrap();
            assert_eq!(read.open::<Value>(keys, EXPECTED), Err(JwtError::Wrong));
        };
        wrong(&text, &[]);
        // The right name on another key; the right key for another use.
        b.common.key_id = Some("a".to_owned());
        wrong(&text, &[b.clone()]);
        let mut sealing = a.clone();
        sealing.common.public_key_use = Some(PublicKeyUse::Encryption);
        wrong(&text, &[sealing]);
        // A token that names no key is tried with all of them.
        let nameless = token(&signing, None, &good);
        let read = SignedToken::read(&nameless, &[Algorithm::ES256]).unwrap();
        assert!(read.open::<Value>(&[b, a.clone()], EXPECTED).is_ok());
        for claims in [
            json!({"iss": "https://other", "aud": "us"}),
            json!({"iss": "https://issuer", "aud": "them"}),
            json!({"aud": "us"}),
            json!({"iss": "https://issuer"}),
        ] {
            wrong(&token(&signing, Some("a"), &claims), std::slice::from_ref(&a));
        }
    }

    #[test]
    fn other_algorithms_and_what_is_no_token_are_not_read() {
        let (signing, _) = key("a");
        let text = token(&signing, None, &json!({}));
        let read = |text: &str, allowed: &[Algorithm]| SignedToken::read(text, allowed).map(drop);
        assert_eq!(read(&text, &[Algorithm::RS256, Algorithm::EdDSA]), Err(JwtError::Algorithm));
        assert_eq!(read("a.b", &[Algorithm::ES256]), Err(JwtError::NotSigned));
        assert_eq!(read(&format!("{text}{}", "A".repeat(MOST)), &[Algorithm::ES256]), Err(JwtError::TooLong));
        let forged =
            encode(&Header::new(Algorithm::HS256), &json!({}), &EncodingKey::from_secret(b"x")).unwrap();
        assert_eq!(read(&forged, &[Algorithm::ES256]), Err(JwtError::Algorithm));
    }
}
