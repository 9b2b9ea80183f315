//! The signing key: RS256, which every OpenID client must know (Core §15.1). Generated at each start.

use jsonwebtoken::jwk::{Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use rcgen::{KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use rp_base::sha256;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OidcError;

/// Signs ID tokens.
pub(super) struct SigningKey {
    encoding: EncodingKey,
    decoding: DecodingKey,
    id: String,
    set: JwkSet,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// A fresh 2048-bit key.
    pub(super) fn generate() -> Result<Self, OidcError> {
        let failed = |error: jsonwebtoken::errors::Error| OidcError::Key(error.into());
        let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)
            .map_err(|error| OidcError::Key(error.into()))?;
        let encoding = EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes()).map_err(failed)?;
        let mut public = Jwk::from_encoding_key(&encoding, Algorithm::RS256).map_err(failed)?;
        let id = sha256(pair.public_key_raw()).to_string()[..16].to_owned();
        public.common.key_id = Some(id.clone());
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        public.common.key_algorithm = Some(KeyAlgorithm::RS256);
        let decoding = DecodingKey::from_jwk(&public).map_err(failed)?;
        Ok(Self { encoding, decoding, id, set: JwkSet { keys: vec![public] } })
    }

    /// The public half (RFC 7517).
    pub(super) const fn set(&self) -> &JwkSet {
        &self.set
    }

    /// A signed token of these claims.
    pub(super) fn sign<T: Serialize>(&self, claims: &T) -> jsonwebtoken::errors::Result<String> {
        self.sign_as("JWT", claims)
    }

    /// The same with a type of its own in the header (RFC 8725 §3.11).
    pub(super) fn sign_as<T: Serialize>(
        &self,
        kind: &str,
        claims: &T,
    ) -> jsonwebtoken::errors::Result<String> {
        let typ = Some(kind.to_owned());
        let header = Header { kid: Some(self.id.clone()), typ, ..Header::new(Algorithm::RS256) };
        jsonwebtoken::encode(&header, claims, &self.encoding)
    }

    /// The claims of a token of ours, whether or not it has expired (a logout hint may be old).
    pub(super) fn hint<T: DeserializeOwned + Clone>(
        &self,
        token: &str,
        issuer: &str,
        audience: &str,
    ) -> Option<T> {
        let mut validation = Validation::new(Algorithm::RS256);
        validation.validate_exp = false;
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        jsonwebtoken::decode::<T>(token, &self.decoding, &validation).ok().map(|data| data.claims)
    }
}
