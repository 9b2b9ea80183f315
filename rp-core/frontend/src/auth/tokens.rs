//! Tokens checked here: signature by the issuer's published keys, issuer, audience, life, application, roles
//! (RFC 7519, RFC 8725).

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use http::header::AUTHORIZATION;
use http::{StatusCode, request};
use jsonwebtoken::Algorithm;
use jsonwebtoken::jwk::Jwk;
use rp_base::{SharedClock, Timestamp, chain};
use rp_net::http::client;
use rp_net::jwt::{Expected, JwtError, SignedToken};
use rp_net::tls::TlsError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use url::Url;

use super::TokenCheck;
use crate::not_ready::NotReady;

const TIME: Duration = Duration::from_secs(10);
/// Larger answers are not read.
const MOST_ANSWER: usize = 1 << 20;
/// Clocks may differ by this much.
const LEEWAY: Duration = Duration::from_secs(120);
/// Keys are fetched again after this time.
const FRESH: Duration = Duration::from_secs(24 * 3600);
/// After an unknown key or a failure, keys are fetched at most this often.
const LEAST_BETWEEN: Duration = Duration::from_secs(5);
/// Keys that only the issuer has.
const ALGORITHMS: [Algorithm; 8] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
];

/// Why a token is not taken, or none can be checked.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error(transparent)]
    Jwt(#[from] JwtError),
    #[error("it has expired")]
    Expired,
    #[error("it is not yet valid")]
    NotYetValid,
    #[error("its application may not call")]
    Application,
    #[error("it has none of the roles")]
    Roles,
    #[error("the issuer is no URL")]
    IssuerUrl,
    #[error("the configuration is another issuer's")]
    OtherIssuer,
    /// Its last failure is too recent to ask again.
    #[error("the issuer did not answer a moment ago")]
    IssuerAway,
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

/// Why something published could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    #[error("{host} answered {status}")]
    Status { host: String, status: StatusCode },
    #[error("{host} answered something else than JSON")]
    NotJson { host: String },
    #[error("{host} answered more than 1 MiB")]
    TooLarge { host: String },
    #[error("{host} answered what we cannot read")]
    Unreadable {
        host: String,
        #[source]
        cause: serde_json::Error,
    },
}

/// Requirements for the claims of a token.
#[derive(Debug, Clone)]
pub struct TokenRules {
    /// As its configuration writes it.
    pub issuer: String,
    pub audience: String,
    /// Any of these as `appid` or `azp`.
    pub applications: Vec<String>,
    /// Any of these in `roles`; empty: no role is required.
    pub roles: Vec<String>,
}

/// An OpenID provider whose tokens are accepted.
#[derive(Debug)]
pub struct TokenIssuer {
    rules: TokenRules,
    http: reqwest::Client,
    clock: SharedClock,
    keys: ArcSwapOption<Keys>,
    /// When the keys were last fetched; one fetch runs at a time.
    asking: Mutex<Option<Timestamp>>,
}

#[derive(Debug)]
struct Keys {
    read: Timestamp,
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Configuration {
    issuer: String,
    jwks_uri: Url,
}

#[derive(Deserialize)]
struct Published {
    keys: Vec<Value>,
}

impl TokenIssuer {
    /// Sends no request yet. `ca_pem`: CA to trust in addition to the system's.
    ///
    /// # Errors
    /// The CA cannot be used.
    pub fn new(rules: TokenRules, ca_pem: Option<&str>, clock: SharedClock) -> Result<Self, TlsError> {
        let http = client(ca_pem, TIME)?;
        Ok(Self { rules, http, clock, keys: ArcSwapOption::empty(), asking: Mutex::new(None) })
    }

    /// The issuer's keys; fetched when they are old, or when the `seen` ones did not verify the token.
    async fn keys(&self, seen: Option<&Arc<Keys>>) -> Result<Arc<Keys>, TokenError> {
        let now = self.clock.now();
        let good =
            |known: &Arc<Keys>| now < known.read + FRESH && seen.is_none_or(|seen| !Arc::ptr_eq(seen, known));
        if let Some(known) = self.keys.load_full().filter(good) {
            return Ok(known);
        }
        let mut last = self.asking.lock().await;
        let known = self.keys.load_full();
        if let Some(known) = known.clone().filter(good) {
            return Ok(known);
        }
        if last.is_some_and(|at| now < at + LEAST_BETWEEN) {
            return known.ok_or(TokenError::IssuerAway);
        }
        *last = Some(now);
        match self.discover(now).await {
            Ok(keys) => {
                let keys = Arc::new(keys);
                self.keys.store(Some(Arc::clone(&keys)));
                Ok(keys)
            }
            Err(error) => {
                tracing::error!(error = %chain(&error), "the issuer's keys cannot be read");
                known.ok_or(error)
            }
        }
    }

    async fn discover(&self, now: Timestamp) -> Result<Keys, TokenError> {
        let issuer = self.rules.issuer.trim_end_matches('/');
        let url = Url::parse(&format!("{issuer}/.well-known/openid-configuration"))
            .map_err(|_| TokenError::IssuerUrl)?;
        let told: Configuration = fetch(&self.http, url).await?;
        if told.issuer.trim_end_matches('/') != issuer {
            return Err(TokenError::OtherIssuer);
        }
        let published: Published = fetch(&self.http, told.jwks_uri).await?;
        // Unknown kinds of keys are skipped.
        let keys = published.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok());
        Ok(Keys { read: now, keys: keys.collect() })
    }

    /// The claims of a token after its signature, audience, issuer and lifetime were verified.
    async fn claims(&self, token: &str) -> Result<Map<String, Value>, TokenError> {
        let token = SignedToken::read(token, &ALGORITHMS)?;
        let issuer = self.rules.issuer.trim_end_matches('/');
        let expected = Expected {
            issuers: &[issuer, &format!("{issuer}/")],
            audience: &self.rules.audience,
            claims: &["iss", "aud", "exp"],
        };
        let open = |keys: &Keys| token.open(&keys.keys, expected);
        let keys = self.keys(None).await?;
        if let Ok(claims) = open(&keys) {
            return Ok(claims);
        }
        // The issuer may have rotated its keys. A known key that does not verify causes no fetch.
        if keys.keys.iter().any(|key| token.names(key)) {
            return Err(JwtError::Wrong.into());
        }
        let keys = self.keys(Some(&keys)).await?;
        Ok(open(&keys)?)
    }

    fn check(&self, claims: &Map<String, Value>) -> Result<(), TokenError> {
        let now = self.clock.now();
        let time = |name| claims.get(name).and_then(Value::as_f64);
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit a double exactly")]
        let (now, leeway) = (now.seconds() as f64, LEEWAY.as_secs_f64());
        if time("exp").is_none_or(|end| end + leeway <= now) {
            return Err(TokenError::Expired);
        }
        if time("nbf").is_some_and(|begin| begin - leeway > now) {
            return Err(TokenError::NotYetValid);
        }
        let text = |name| claims.get(name).and_then(Value::as_str);
        let application = text("appid").or_else(|| text("azp")).unwrap_or_default();
        if !self.rules.applications.iter().any(|known| known == application) {
            return Err(TokenError::Application);
        }
        let roles = claims.get("roles").and_then(Value::as_array);
        let has = |role: &String| {
            roles.is_some_and(|roles| roles.iter().any(|held| held.as_str() == Some(role.as_str())))
        };
        if !self.rules.roles.is_empty() && !self.rules.roles.iter().any(has) {
            return Err(TokenError::Roles);
        }
        Ok(())
    }
}

#[async_trait]
impl TokenCheck for TokenIssuer {
    async fn accepts(&self, head: &request::Parts) -> bool {
        let said = head.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = said.and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let Some(token) = token else { return false };
        let checked = self.claims(token).await.and_then(|claims| self.check(&claims));
        if let Err(error) = &checked {
            tracing::info!(reason = %chain(error), "a token was not taken");
        }
        checked.is_ok()
    }

    async fn ready(&self) -> Result<(), NotReady> {
        self.keys(None).await?;
        Ok(())
    }
}

/// A bounded JSON answer.
pub(super) async fn fetch<T: DeserializeOwned>(http: &reqwest::Client, url: Url) -> Result<T, FetchError> {
    let host = url.host_str().unwrap_or_default().to_owned();
    let mut answer = http.get(url).send().await?;
    let status = answer.status();
    if status != StatusCode::OK {
        return Err(FetchError::Status { host, status });
    }
    let kind = answer.headers().get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let json = kind.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json")
    });
    if !json {
        return Err(FetchError::NotJson { host });
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if body.len() + chunk.len() > MOST_ANSWER {
            return Err(FetchError::TooLarge { host });
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body).map_err(|cause| FetchError::Unreadable { host, cause })
}
