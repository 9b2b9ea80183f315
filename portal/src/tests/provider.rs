//! An OpenID provider of a few lines: real signatures, PKCE and client authentication are checked.

use async_trait::async_trait;
use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use parking_lot::Mutex;
use portal_session::exchange::{Exchange, ExchangeError};
use rp_base::{Clock as _, ManualClock};
use serde_json::{Value, json};

pub(super) const ISSUER: &str = "https://login.example/tenant/v2.0";

#[derive(Debug)]
pub(super) struct FakeProvider {
    clock: ManualClock,
    pub(super) with: Mutex<ProviderBehaviour>,
}

/// How it behaves.
pub(super) struct ProviderBehaviour {
    pub(super) away: bool,
    key: EncodingKey,
    kid: String,
    pub(super) nonce: String,
    pub(super) challenge: String,
    /// Merged over the good claims.
    pub(super) claims: Value,
    pub(super) requests: Vec<String>,
    /// Signs with a key that is not published.
    pub(super) forged: bool,
    /// Gives refresh tokens; each works once.
    pub(super) offline: bool,
    /// The refresh token that works now.
    pub(super) refresh: String,
    /// What it answers to a refresh in place of tokens.
    pub(super) no_refresh: Option<(u16, Value)>,
    pub(super) refreshed: usize,
    /// What userinfo and the list of groups say.
    pub(super) userinfo: Value,
    pub(super) listed: Value,
}

impl std::fmt::Debug for ProviderBehaviour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("With").field("away", &self.away).finish_non_exhaustive()
    }
}

fn key() -> EncodingKey {
    let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = pair.as_der().unwrap();
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(der.as_ref())
    );
    EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap()
}

impl FakeProvider {
    pub(super) fn new(clock: ManualClock) -> Self {
        let with = ProviderBehaviour {
            away: false,
            key: key(),
            kid: "k1".to_owned(),
            nonce: String::new(),
            challenge: String::new(),
            claims: json!({}),
            requests: Vec::new(),
            forged: false,
            offline: false,
            refresh: String::new(),
            no_refresh: None,
            refreshed: 0,
            userinfo: json!({}),
            listed: json!({}),
        };
        Self { clock, with: Mutex::new(with) }
    }

    /// Another signing key from now on.
    pub(super) fn roll_over(&self) {
        let mut with = self.with.lock();
        with.key = key();
        with.kid = "k2".to_owned();
    }

    fn metadata() -> Value {
        json!({
            "issuer": ISSUER, "authorization_endpoint": "https://login.example/authorize",
            "token_endpoint": "https://login.example/token", "jwks_uri": "https://login.example/keys",
            "userinfo_endpoint": "https://login.example/userinfo",
            "end_session_endpoint": "https://logout.example/end",
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        })
    }

    fn keys(with: &ProviderBehaviour) -> Value {
        let mut jwk = Jwk::from_encoding_key(&with.key, Algorithm::RS256).unwrap();
        jwk.common.key_id = Some(with.kid.clone());
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["use"] = json!("sig");
        json!({ "keys": [jwk] })
    }

    /// A token signed with the key of now.
    pub(super) fn sign(&self, kind: &str, claims: &Value) -> String {
        let with = self.with.lock();
        let mut header = Header::new(Algorithm::RS256);
        header.kid = Some(with.kid.clone());
        header.typ = Some(kind.to_owned());
        jsonwebtoken::encode(&header, claims, &with.key).unwrap()
    }

    fn token(&self, with: &mut ProviderBehaviour, body: &[u8], authorization: &str) -> (u16, Value) {
        let form: std::collections::HashMap<String, String> =
            url::form_urlencoded::parse(body).into_owned().collect();
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        let basic = format!("Basic {}", STANDARD.encode("client:s3cret"));
        let fresh = field("grant_type") == "refresh_token";
        if fresh {
            with.refreshed += 1;
            if let Some(answer) = &with.no_refresh {
                return answer.clone();
            }
        }
        let challenge = URL_SAFE_NO_PAD.encode(rp_base::sha256(field("code_verifier").as_bytes()).0);
        let good = if fresh {
            !with.refresh.is_empty() && field("refresh_token") == with.refresh
        } else {
            field("code") == "good" && challenge == with.challenge
        };
        if !good || authorization != basic {
            return (400, json!({"error": "invalid_grant", "error_description": "no such <code>"}));
        }
        let now = self.clock.now().seconds();
        let mut claims = json!({
            "iss": ISSUER, "aud": "client", "sub": "sub-sre", "iat": now, "exp": now + 300, "nonce": with.nonce,
            "preferred_username": "sre@example.com", "groups": ["g-sre", "other"], "auth_time": now, "sid": "s-1",
        });
        if fresh {
            claims["nonce"] = json!(null);
        }
        for (name, value) in with.claims.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let mut header = Header::new(Algorithm::RS256);
        header.kid = Some(with.kid.clone());
        let signed_by = if with.forged { key() } else { with.key.clone() };
        let id_token = jsonwebtoken::encode(&header, &claims, &signed_by).unwrap();
        let mut answer =
            json!({"access_token": "at", "token_type": "Bearer", "expires_in": 300, "id_token": id_token});
        if with.offline {
            with.refresh = format!("rt-{}", with.requests.len());
            answer["refresh_token"] = json!(with.refresh);
        }
        (200, answer)
    }
}

#[async_trait]
impl Exchange for FakeProvider {
    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<http::Response<Vec<u8>>, ExchangeError> {
        let mut with = self.with.lock();
        if with.away {
            return Err(ExchangeError::NoAnswer(Box::new(std::io::Error::other("connection refused"))));
        }
        let path = request.uri().path().to_owned();
        with.requests.push(path.clone());
        let authorization =
            request.headers().get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (status, body) = match path.as_str() {
            "/tenant/v2.0/.well-known/openid-configuration" => (200, Self::metadata()),
            "/keys" => (200, Self::keys(&with)),
            "/token" => self.token(&mut with, request.body(), authorization),
            "/userinfo" if authorization == "Bearer at" => (200, with.userinfo.clone()),
            "/groups" if authorization == "Bearer at" => (200, with.listed.clone()),
            _ => (404, json!({})),
        };
        let response = http::Response::builder().status(status).header("content-type", "application/json");
        Ok(response.body(body.to_string().into_bytes()).unwrap())
    }
}
