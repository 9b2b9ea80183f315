//! The token endpoint and the metadata service.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap};
use parking_lot::Mutex;
use rp_base::{SharedClock, SharedRandom, Timestamp};
use serde_json::{Value, json};

use super::Application;
use super::access::Caller;
use super::kinds::object_id_of;
use super::response::ArmResponse;

/// The metadata endpoint for tokens of managed identities.
pub(super) const METADATA: &str = "/metadata/identity/oauth2/token";
/// Lifetime of a token.
const LIFE: Duration = Duration::from_hours(1);
/// Tokens that are remembered.
const MOST: usize = 100_000;
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

#[derive(Debug)]
pub(super) struct Issuer {
    url: String,
    applications: Vec<Application>,
    clock: SharedClock,
    random: SharedRandom,
    /// By token.
    tokens: Mutex<HashMap<String, IssuedToken>>,
    /// Any application that shows a secret may have tokens.
    open: AtomicBool,
}

/// Whose token it is.
#[derive(Debug, Clone)]
pub(super) struct IssuedToken {
    /// `None`: the machine's, valid in every tenant.
    pub(super) tenant: Option<String>,
    pub(super) who: Caller,
    until: Timestamp,
}

/// The client id of the machine's managed identity.
const MACHINE: &str = "00000000-0000-4000-8000-00000000a11e";

/// The tenant of a discovery path `/{tenant}/v2.0/.well-known/openid-configuration`.
pub(super) fn discovered_in(path: &str) -> Option<String> {
    let tenant = path.strip_prefix('/')?.strip_suffix("/v2.0/.well-known/openid-configuration")?;
    (!tenant.is_empty() && !tenant.contains('/')).then(|| tenant.to_ascii_lowercase())
}

/// The tenant of a token path `/{tenant}/oauth2/v2.0/token`.
pub(super) fn tenant_in(path: &str) -> Option<String> {
    let tenant = path.strip_prefix('/')?.strip_suffix("/oauth2/v2.0/token")?;
    (!tenant.is_empty() && !tenant.contains('/')).then(|| tenant.to_ascii_lowercase())
}

impl Issuer {
    pub(super) fn new(
        url: &str,
        applications: Vec<Application>,
        clock: SharedClock,
        random: SharedRandom,
    ) -> Self {
        Self {
            url: url.to_owned(),
            applications,
            clock,
            random,
            tokens: Mutex::default(),
            open: AtomicBool::new(false),
        }
    }

    /// Client credentials by secret (RFC 6749 §4.4) or by assertion (RFC 7523 §2.2); an assertion is checked by its
    /// shape and its claims, its signature is believed.
    pub(super) fn token(&self, tenant: &str, form: &[u8]) -> ArmResponse {
        let form: HashMap<String, String> = url::form_urlencoded::parse(form).into_owned().collect();
        let of = |name: &str| form.get(name).map_or("", String::as_str);
        // Tenants are UUIDs here; any other word is an unknown tenant.
        if uuid_like(tenant).is_none() {
            return refused(
                "invalid_request",
                90002,
                &format!(
                    "Tenant '{tenant}' not found. Check to make sure you have the correct tenant ID and are signing into the correct cloud."
                ),
            );
        }
        if of("grant_type") != "client_credentials" {
            return refused("unsupported_grant_type", 70003, "The app requested an unsupported grant type.");
        }
        if of("scope") != format!("{}/.default", self.url) {
            return refused("invalid_scope", 70011, "The provided value for scope is not valid.");
        }
        let known = self.applications.iter().find(|known| known.client_id == of("client_id"));
        let stranger = Application {
            client_id: of("client_id").to_owned(),
            secret: Some(of("client_secret").to_owned()).filter(|secret| !secret.is_empty()),
        };
        let open = self.open.load(Ordering::Relaxed) && uuid_like(&stranger.client_id).is_some();
        let Some(application) = known.or_else(|| open.then_some(&stranger)) else {
            return refused("unauthorized_client", 700_016, "Application was not found in the directory.");
        };
        let proven = if of("client_assertion_type") == ASSERTION {
            self.assertion(tenant, &application.client_id, of("client_assertion"))
        } else if application.secret.as_deref().is_some_and(|secret| secret == of("client_secret")) {
            Ok(())
        } else {
            Err((7_000_215, "Invalid client secret provided."))
        };
        match proven {
            Ok(()) => {
                let token = self.issue(Some(tenant.to_owned()), &application.client_id);
                let life = LIFE.as_secs();
                ArmResponse::with_body(
                    StatusCode::OK,
                    json!({"token_type": "Bearer", "expires_in": life, "ext_expires_in": life, "access_token": token}),
                )
            }
            Err((code, message)) => refused("invalid_client", code, message),
        }
    }

    /// The metadata service: requires `Metadata: true`, which web pages cannot send.
    pub(super) fn metadata(&self, headers: &HeaderMap, query: &str) -> ArmResponse {
        let pairs: HashMap<String, String> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let known = headers.get("metadata").is_some_and(|value| value == "true");
        if !known || !pairs.contains_key("api-version") || pairs.get("resource") != Some(&self.url) {
            let body = json!({"error": "invalid_request", "error_description": "Required metadata header not specified"});
            return ArmResponse::with_body(StatusCode::BAD_REQUEST, body);
        }
        let token = self.issue(None, pairs.get("client_id").map_or(MACHINE, String::as_str));
        // Numbers as texts, as the service writes them.
        let life = LIFE.as_secs().to_string();
        ArmResponse::with_body(
            StatusCode::OK,
            json!({"access_token": token, "expires_in": life, "resource": self.url, "token_type": "Bearer"}),
        )
    }

    /// Opens the directory: any application with any secret may have tokens.
    pub(super) fn open(&self) {
        self.open.store(true, Ordering::Relaxed);
    }

    /// Whether the directory knows an application.
    pub(super) fn knows(&self, client_id: &str) -> bool {
        let known = self.applications.iter().any(|known| known.client_id.eq_ignore_ascii_case(client_id));
        known || (self.open.load(Ordering::Relaxed) && uuid_like(client_id).is_some())
    }

    /// Where a tenant's endpoints are (OpenID Connect Discovery 1.0): libraries ask before they sign in.
    pub(super) fn discovery(&self, tenant: &str) -> ArmResponse {
        let url = &self.url;
        ArmResponse::ok(json!({"issuer": format!("{url}/{tenant}/v2.0"),
            "authorization_endpoint": format!("{url}/{tenant}/oauth2/v2.0/authorize"),
            "token_endpoint": format!("{url}/{tenant}/oauth2/v2.0/token"),
            "jwks_uri": format!("{url}/{tenant}/discovery/v2.0/keys")}))
    }

    /// Whose token the request bears.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<IssuedToken, &'static str> {
        let bearer =
            headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let tokens = self.tokens.lock();
        match bearer.and_then(|bearer| tokens.get(bearer)) {
            None => Err("InvalidAuthenticationToken"),
            Some(issued) if issued.until <= self.clock.now() => Err("ExpiredAuthenticationToken"),
            Some(issued) => Ok(issued.clone()),
        }
    }

    /// A token in the form of a JWT (RFC 7519), with claims that clients look at; its signature is chance.
    fn issue(&self, tenant: Option<String>, client_id: &str) -> String {
        let (client_id, now) = (client_id.to_ascii_lowercase(), self.clock.now());
        let who = Caller { object_id: object_id_of(&client_id), client_id };
        let mut bytes = [0_u8; 32];
        self.random.fill(&mut bytes);
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let claims = json!({"aud": self.url, "iss": format!("{}/{}/", self.url, tenant.as_deref().unwrap_or("machine")),
            "tid": tenant, "appid": who.client_id, "oid": who.object_id, "sub": who.object_id, "idtyp": "app",
            "iat": now.seconds(), "nbf": now.seconds(), "exp": now.seconds() + 3600, "ver": "1.0"});
        let header = part(json!({"alg": "RS256", "typ": "JWT", "kid": "simulated"}));
        let token = format!("{header}.{}.{}", part(claims), URL_SAFE_NO_PAD.encode(bytes));
        let mut tokens = self.tokens.lock();
        if tokens.len() >= MOST {
            tokens.retain(|_, issued| issued.until > now);
        }
        tokens.insert(token.clone(), IssuedToken { tenant, who, until: now + LIFE });
        token
    }

    fn assertion(&self, tenant: &str, client_id: &str, jwt: &str) -> Result<(), (u32, &'static str)> {
        let wrong = (700_027, "Client assertion failed signature validation.");
        let parts: Vec<&str> = jwt.split('.').collect();
        let [header, claims, signature] = parts.as_slice() else { return Err(wrong) };
        let read = |part: &str| -> Option<Value> {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
        };
        let (Some(header), Some(claims)) = (read(header), read(claims)) else { return Err(wrong) };
        let signed = URL_SAFE_NO_PAD.decode(signature).is_ok_and(|bytes| bytes.len() >= 64);
        let known = matches!(header["alg"].as_str(), Some("RS256" | "PS256"))
            && ["x5t", "x5t#S256", "kid"].iter().any(|name| header[*name].is_string());
        if !signed || !known {
            return Err(wrong);
        }
        // A federated token names its own issuer and the exchange as its audience.
        let federated = claims["aud"] == "api://AzureADTokenExchange";
        let audience = format!("{}/{tenant}/oauth2/v2.0/token", self.url);
        if !federated
            && (claims["iss"] != client_id
                || claims["sub"] != client_id
                || claims["aud"] != audience.as_str())
        {
            return Err((50_027, "JWT token is invalid or malformed: iss, sub or aud."));
        }
        let now = self.clock.now().seconds();
        let times = claims["exp"].as_i64().is_some_and(|exp| exp > now)
            && claims["nbf"].as_i64().is_none_or(|nbf| nbf <= now);
        if times { Ok(()) } else { Err((700_024, "Client assertion is not within its valid time range.")) }
    }
}

fn refused(error: &str, code: u32, message: &str) -> ArmResponse {
    let status = if error == "invalid_client" { StatusCode::UNAUTHORIZED } else { StatusCode::BAD_REQUEST };
    let told = format!("AADSTS{code}: {message}");
    ArmResponse::with_body(status, json!({"error": error, "error_description": told, "error_codes": [code]}))
}

fn uuid_like(text: &str) -> Option<()> {
    let bytes = text.as_bytes();
    let fits = |(at, b): (usize, &u8)| {
        if [8, 13, 18, 23].contains(&at) { *b == b'-' } else { b.is_ascii_hexdigit() }
    };
    (bytes.len() == 36 && bytes.iter().enumerate().all(fits)).then_some(())
}
