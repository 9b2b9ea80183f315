//! Signed tokens of the provider that are no ID tokens of a sign-in: logout tokens and access tokens of
//! applications (RFC 7519, RFC 8725).

use jsonwebtoken::Algorithm;
use rp_net::jwt::{Expected, JwtError, SignedToken};
use serde_json::{Map, Value};

use crate::provider::{Provider, SignInError};

/// Keys that only the provider has.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// The claims of a token of the provider.
#[derive(Debug, Clone)]
pub struct VerifiedToken {
    /// `typ` of the header as [`SignedToken::kind`] gives it.
    pub kind: String,
    claims: Map<String, Value>,
}

impl VerifiedToken {
    /// As if it had been proved.
    #[cfg(fuzzing)]
    pub(crate) fn unproved(kind: &str, claims: Map<String, Value>) -> Self {
        Self { kind: kind.to_owned(), claims }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name).and_then(Value::as_str)
    }

    /// Seconds since 1970.
    pub fn time(&self, name: &str) -> Option<i64> {
        let value = self.claims.get(name)?;
        #[expect(clippy::cast_possible_truncation, reason = "a NumericDate may have a fraction")]
        value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64))
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.claims.get(name)
    }
}

impl Provider {
    /// Checks signature, issuer and audience; the caller checks times and the other claims.
    ///
    /// # Errors
    /// [`SignInError::BadToken`] with the reason, or the provider's keys cannot be had.
    pub async fn signed(&self, token: &str, audience: &str) -> Result<VerifiedToken, SignInError> {
        let bad = |error: JwtError| SignInError::BadToken(error.to_string());
        let token = SignedToken::read(token, &ALGORITHMS).map_err(bad)?;
        let mut known = self.discovered().await?;
        if !known.keys.iter().any(|key| token.names(key)) {
            // The provider may have rotated its keys; they are fetched at most every few seconds.
            known = self.discover(Some(&known)).await?;
        }
        let expected = Expected { issuers: &[self.issuer()], audience, claims: &["iss", "aud"] };
        let claims = token.open(&known.keys, expected).map_err(bad)?;
        Ok(VerifiedToken { kind: token.kind(), claims })
    }
}
