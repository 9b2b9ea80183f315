//! The token endpoint (Core §3.1.3, §12) and userinfo (Core §5.3).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use rp_base::sha256;
use rp_simulator::body::Body;
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;

use super::request::{self, Parameters};
use super::state::{ACCESS_LIFE, Authorization};
use super::{Account, Shared};

/// RFC 6749 §5.2.
#[derive(Debug, Clone, Copy)]
struct TokenError(StatusCode, &'static str, &'static str);

const fn invalid_grant(why: &'static str) -> TokenError {
    TokenError(StatusCode::BAD_REQUEST, "invalid_grant", why)
}

const fn invalid_request(why: &'static str) -> TokenError {
    TokenError(StatusCode::BAD_REQUEST, "invalid_request", why)
}

const NO_CLIENT: TokenError =
    TokenError(StatusCode::UNAUTHORIZED, "invalid_client", "client authentication failed");

impl TokenError {
    fn answer(self) -> Response<Body> {
        let Self(status, error, why) = self;
        let mut response = request::json(status, &json!({"error": error, "error_description": why}));
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"token\""));
        }
        response
    }
}

/// `POST /token`.
pub(super) async fn token(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let headers = request.headers().clone();
    let Some((given, _)) = request::parameters(request).await else {
        return invalid_request("not a form, or too large").answer();
    };
    match exchange(shared, &headers, &given) {
        Ok(tokens) => request::json(StatusCode::OK, &tokens),
        Err(refused) => refused.answer(),
    }
}

/// `POST /revoke` (RFC 7009): unknown tokens are fine too.
pub(super) async fn revoke(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let headers = request.headers().clone();
    let Some((given, _)) = request::parameters(request).await else {
        return invalid_request("not a form, or too large").answer();
    };
    if let Err(refused) = authenticate(shared, &headers, &given) {
        return refused.answer();
    }
    match given.get("token") {
        Some(token) => {
            shared.state.lock().revoke_token(token, shared.clock.now());
            request::json(StatusCode::OK, &json!({}))
        }
        None => invalid_request("token is missing").answer(),
    }
}

fn exchange(shared: &Shared, headers: &HeaderMap, given: &Parameters) -> Result<Value, TokenError> {
    if given.repeated() {
        return Err(invalid_request("a parameter is given twice"));
    }
    authenticate(shared, headers, given)?;
    match given.get("grant_type") {
        Some("authorization_code") => by_code(shared, given),
        Some("refresh_token") => by_refresh(shared, given),
        _ => Err(TokenError(StatusCode::BAD_REQUEST, "unsupported_grant_type", "code or refresh token only")),
    }
}

/// `client_secret_basic` or `client_secret_post` (RFC 6749 §2.3.1), never both.
fn authenticate(shared: &Shared, headers: &HeaderMap, given: &Parameters) -> Result<(), TokenError> {
    let basic = headers.get(AUTHORIZATION).map(|value| basic(value).ok_or(NO_CLIENT)).transpose()?;
    let (id, secret) = match (basic, given.get("client_secret")) {
        (Some(_), Some(_)) => return Err(invalid_request("two ways of client authentication")),
        (Some(pair), None) => pair,
        (None, secret) => {
            (given.get("client_id").unwrap_or_default().to_owned(), secret.unwrap_or_default().to_owned())
        }
    };
    let same = sha256(secret.as_bytes()).0.ct_eq(&sha256(shared.client_secret.expose().as_bytes()).0)
        & sha256(id.as_bytes()).0.ct_eq(&sha256(shared.client_id.as_bytes()).0);
    if bool::from(same) { Ok(()) } else { Err(NO_CLIENT) }
}

fn basic(header: &HeaderValue) -> Option<(String, String)> {
    let encoded = header.to_str().ok()?.strip_prefix("Basic ")?;
    let pair = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = pair.split_once(':')?;
    let decode = |text: &str| {
        let text = text.replace('+', " ");
        percent_decode_str(&text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
    };
    Some((decode(id)?, decode(secret)?))
}

fn by_code(shared: &Shared, given: &Parameters) -> Result<Value, TokenError> {
    let secret = given.get("code").ok_or(invalid_request("code is missing"))?;
    let verifier = given.get("code_verifier").ok_or(invalid_grant("code_verifier is missing"))?;
    let now = shared.clock.now();
    let code = {
        let mut state = shared.state.lock();
        let code = state.codes.get_mut(secret, now).ok_or(invalid_grant("the code is unknown or too old"))?;
        let replayed = std::mem::replace(&mut code.used, true);
        let code = code.clone();
        if replayed {
            state.revoke(&code.granted.family);
            return Err(invalid_grant("the code was used before"));
        }
        code
    };
    if given.get("redirect_uri") != Some(code.redirect_uri.as_str()) {
        return Err(invalid_grant("redirect_uri is not that of the authorisation"));
    }
    let challenge = URL_SAFE_NO_PAD.encode(sha256(verifier.as_bytes()).0);
    if !bool::from(challenge.as_bytes().ct_eq(code.challenge.as_bytes())) {
        return Err(invalid_grant("code_verifier does not fit"));
    }
    issue(shared, &code.granted, code.granted.nonce.as_deref())
}

fn by_refresh(shared: &Shared, given: &Parameters) -> Result<Value, TokenError> {
    let secret = given.get("refresh_token").ok_or(invalid_request("refresh_token is missing"))?;
    let now = shared.clock.now();
    let granted = {
        let mut state = shared.state.lock();
        let unknown = invalid_grant("the refresh token is unknown, ended or was used before");
        let refresh = state.refresh.get_mut(secret, now).ok_or(unknown)?;
        let replayed = std::mem::replace(&mut refresh.used, true);
        let granted = refresh.granted.clone();
        if replayed {
            state.revoke(&granted.family);
            return Err(unknown);
        }
        granted
    };
    // A nonce belongs to the first ID token only (Core §12.2).
    issue(shared, &granted, None)
}

/// Access token, ID token and, when asked for, a refresh token.
fn issue(shared: &Shared, granted: &Authorization, nonce: Option<&str>) -> Result<Value, TokenError> {
    let account = shared.account(&granted.sub).ok_or(invalid_grant("the account is gone"))?;
    let now = shared.clock.now();
    let busy =
        TokenError(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", "too many tokens at once");
    let offline = granted.scope.split(' ').any(|scope| scope == "offline_access");
    let (access, refresh) = {
        let mut state = shared.state.lock();
        let access = state.issue_access(granted.clone(), now, &*shared.random).ok_or(busy)?;
        let refresh = offline.then(|| state.issue_refresh(granted.clone(), now, &*shared.random));
        (access, refresh.flatten())
    };
    let mut claims = claims(&account);
    let life = i64::try_from(ACCESS_LIFE.as_secs()).unwrap_or(3600);
    claims["iss"] = json!(shared.issuer);
    claims["aud"] = json!(shared.client_id);
    claims["iat"] = json!(now.seconds());
    claims["exp"] = json!(now.seconds() + life);
    claims["sid"] = json!(granted.sid);
    claims["auth_time"] = json!(granted.auth_time.seconds());
    // Core §3.1.3.6: the left half of the hash.
    claims["at_hash"] = json!(URL_SAFE_NO_PAD.encode(&sha256(access.as_bytes()).0[..16]));
    if let Some(nonce) = nonce {
        claims["nonce"] = json!(nonce);
    }
    let id_token = shared.key.sign(&claims).map_err(|error| {
        tracing::error!(error = %rp_base::chain(&error), "an ID token could not be signed");
        TokenError(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "the token could not be signed")
    })?;
    let mut tokens = json!({"access_token": access, "token_type": "Bearer", "expires_in": life,
        "scope": granted.scope, "id_token": id_token});
    if let Some(refresh) = refresh {
        tokens["refresh_token"] = json!(refresh);
    }
    Ok(tokens)
}

fn claims(account: &Account) -> Value {
    json!({
        "sub": account.sub,
        "name": account.name,
        "preferred_username": account.name,
        "email": format!("{}@dev.invalid", account.name),
        "groups": account.groups,
    })
}

/// `/userinfo` with a bearer token (RFC 6750).
pub(super) fn userinfo(shared: &Shared, request: &Request<Incoming>) -> Response<Body> {
    let granted = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .and_then(|token| shared.state.lock().access.get_mut(token, shared.clock.now()).cloned());
    match granted.and_then(|granted| shared.account(&granted.sub)) {
        Some(account) => request::json(StatusCode::OK, &claims(&account)),
        None => {
            let mut response = request::json(StatusCode::UNAUTHORIZED, &json!({"error": "invalid_token"}));
            let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            response
        }
    }
}
