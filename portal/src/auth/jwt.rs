//! Signed tokens of the provider that are no ID tokens of a sign-in: logout tokens and access tokens of
//! applications (RFC 7519, RFC 8725).

use std::sync::Arc;

use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::provider::{Known, Provider, SignInError};

/// Longer tokens are not read.
const MOST: usize = 16 * 1024;
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
pub(crate) struct Signed {
    /// `typ` of the header, lower case, without `application/` (RFC 8725 §3.11).
    pub(crate) kind: String,
    claims: Map<String, Value>,
}

impl Signed {
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name).and_then(Value::as_str)
    }

    /// Seconds since 1970.
    pub(crate) fn time(&self, name: &str) -> Option<i64> {
        let value = self.claims.get(name)?;
        #[expect(clippy::cast_possible_truncation, reason = "a NumericDate may have a fraction")]
        value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.claims.get(name)
    }
}

impl Provider {
    /// Checks signature, issuer and audience; times and the rest are the caller's.
    ///
    /// # Errors
    /// [`SignInError::BadToken`] with the reason, or the provider's keys cannot be had.
    pub(crate) async fn signed(&self, token: &str, audience: &str) -> Result<Signed, SignInError> {
        let bad = |why: &str| SignInError::BadToken(why.to_owned());
        if token.len() > MOST {
            return Err(bad("it is too long"));
        }
        let header = decode_header(token).map_err(|_| bad("it is no signed token"))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(bad("it is signed in a way that is not allowed"));
        }
        let known = self.known().await?;
        let keys = match keys(&known, header.kid.as_deref()) {
            keys if keys.is_empty() => keys_now(self, &known, header.kid.as_deref()).await?,
            keys => keys,
        };
        let mut validation = Validation::new(header.alg);
        validation.validate_exp = false;
        validation.set_required_spec_claims(&["iss", "aud"]);
        validation.set_issuer(&[self.issuer()]);
        validation.set_audience(&[audience]);
        let opened = keys.iter().find_map(|key| {
            let key = DecodingKey::from_jwk(key).ok()?;
            decode::<Map<String, Value>>(token, &key, &validation).ok()
        });
        let claims = opened.ok_or_else(|| bad("its signature, issuer or audience is wrong"))?.claims;
        let kind = header.typ.unwrap_or_default().to_ascii_lowercase();
        Ok(Signed { kind: kind.trim_start_matches("application/").to_owned(), claims })
    }
}

/// The signing keys of that name; all of them when the token names none.
fn keys(known: &Known, kid: Option<&str>) -> Vec<Jwk> {
    let signs = |key: &&Jwk| {
        matches!(key.common.public_key_use, None | Some(PublicKeyUse::Signature))
            && kid.is_none_or(|kid| key.common.key_id.as_deref() == Some(kid))
    };
    known.keys.iter().filter(signs).cloned().collect()
}

/// The provider may have rolled its keys over; it is asked at most every few seconds.
async fn keys_now(
    provider: &Provider,
    seen: &Arc<Known>,
    kid: Option<&str>,
) -> Result<Vec<Jwk>, SignInError> {
    Ok(keys(&*provider.discover(Some(seen)).await?, kid))
}
