//! The authorisation endpoint (Core §3.1.2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use rp_base::Id;
use rp_simulator::body::Body;

use super::request::{self, Parameters};
use super::state::{Authorization, Code, Session};
use super::{Shared, pages};

/// A validated authorisation request.
#[derive(Debug)]
pub(super) struct AuthorizationRequest {
    pub redirect_uri: String,
    pub state: Option<String>,
    scope: String,
    nonce: Option<String>,
    challenge: String,
    prompt_none: bool,
    prompt_login: bool,
    max_age: Option<u64>,
    pub login_hint: Option<String>,
}

/// Why an authorisation request is refused, and where the error is shown.
#[derive(Debug)]
pub(super) enum AuthorizationError {
    /// The client or the redirect URI is unknown: no redirect.
    Here(&'static str),
    /// RFC 6749 §4.1.2.1.
    There { redirect_uri: String, state: Option<String>, error: &'static str, why: &'static str },
}

impl AuthorizationError {
    pub(super) fn answer(self, shared: &Shared) -> Response<Body> {
        match self {
            Self::Here(why) => pages::failure(shared, StatusCode::BAD_REQUEST, why),
            Self::There { redirect_uri, state, error, why } => {
                let mut added =
                    vec![("error", error), ("error_description", why), ("iss", shared.issuer.as_str())];
                added.extend(state.as_deref().map(|state| ("state", state)));
                request::redirect(&redirect_uri, &added)
            }
        }
    }
}

impl AuthorizationRequest {
    /// Checks the parameters of an authorisation request.
    pub(super) fn read(shared: &Shared, given: &Parameters) -> Result<Self, AuthorizationError> {
        if given.get("client_id") != Some(shared.client_id.as_str()) {
            return Err(AuthorizationError::Here(
                "The application that sent you here is not registered (client_id).",
            ));
        }
        let redirect_uri = given
            .get("redirect_uri")
            .filter(|uri| shared.redirect_uris.iter().any(|known| known == uri))
            .ok_or(AuthorizationError::Here("The address to return to is not registered (redirect_uri)."))?
            .to_owned();
        let state = given.get("state").map(str::to_owned);
        let refuse = |error, why| AuthorizationError::There {
            redirect_uri: redirect_uri.clone(),
            state: state.clone(),
            error,
            why,
        };
        check(given).map_err(|(error, why)| refuse(error, why))?;
        let max_age = given
            .get("max_age")
            .map(|text| text.parse().map_err(|_| refuse("invalid_request", "max_age is not a number")))
            .transpose()?;
        let prompts: Vec<&str> = given.get("prompt").unwrap_or_default().split(' ').collect();
        let prompt_none = prompts.contains(&"none");
        if prompt_none && prompts.len() > 1 {
            return Err(refuse("invalid_request", "prompt=none stands alone"));
        }
        Ok(Self {
            scope: given.get("scope").unwrap_or_default().to_owned(),
            nonce: given.get("nonce").map(str::to_owned),
            challenge: given.get("code_challenge").unwrap_or_default().to_owned(),
            prompt_none,
            prompt_login: prompts.iter().any(|prompt| matches!(*prompt, "login" | "select_account")),
            max_age,
            login_hint: given.get("login_hint").map(|hint| rp_base::text::clean(hint, 100)),
            redirect_uri,
            state,
        })
    }

    /// An error that is sent to the client by redirect.
    pub(super) fn refuse(&self, error: &'static str, why: &'static str) -> AuthorizationError {
        AuthorizationError::There {
            redirect_uri: self.redirect_uri.clone(),
            state: self.state.clone(),
            error,
            why,
        }
    }

    /// Issues a code and sends the browser back.
    pub(super) fn grant(&self, shared: &Shared, session: &Session) -> Response<Body> {
        let granted = Authorization {
            family: Id::random(&*shared.random),
            sub: session.sub.clone(),
            scope: self.scope.clone(),
            nonce: self.nonce.clone(),
            auth_time: session.at,
            sid: session.sid.clone(),
        };
        let code = Code {
            granted,
            redirect_uri: self.redirect_uri.clone(),
            challenge: self.challenge.clone(),
            used: false,
        };
        let issued = shared.state.lock().issue_code(code, shared.clock.now(), &*shared.random);
        let Some(code) = issued else {
            return self.refuse("temporarily_unavailable", "too many sign-ins at once").answer(shared);
        };
        let mut added = vec![("code", code.as_str()), ("iss", shared.issuer.as_str())];
        added.extend(self.state.as_deref().map(|state| ("state", state)));
        request::redirect(&self.redirect_uri, &added)
    }
}

/// What every ask must say, as error code and sentence when it does not.
fn check(given: &Parameters) -> Result<(), (&'static str, &'static str)> {
    if given.repeated() {
        return Err(("invalid_request", "a parameter is given twice"));
    }
    if given.get("request").is_some() {
        return Err(("request_not_supported", "request objects are not supported"));
    }
    if given.get("response_type") != Some("code") {
        return Err(("unsupported_response_type", "response_type must be code"));
    }
    if given.get("response_mode").is_some_and(|mode| mode != "query") {
        return Err(("invalid_request", "response_mode must be query"));
    }
    if !given.get("scope").unwrap_or_default().split(' ').any(|scope| scope == "openid") {
        return Err(("invalid_scope", "scope must contain openid"));
    }
    let challenge = given.get("code_challenge").unwrap_or_default();
    let digest = URL_SAFE_NO_PAD.decode(challenge).is_ok_and(|bytes| bytes.len() == 32);
    if !digest || given.get("code_challenge_method") != Some("S256") {
        return Err(("invalid_request", "PKCE with S256 is required"));
    }
    Ok(())
}

/// `/authorize`: back with a code for who has a session that is good enough, else the sign-in page.
pub(super) async fn authorize(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let cookie = request::cookie(shared, &request, "session");
    let Some((given, raw)) = request::parameters(request).await else {
        return AuthorizationError::Here("The request is too large or not a form.").answer(shared);
    };
    let ask = match AuthorizationRequest::read(shared, &given) {
        Ok(ask) => ask,
        Err(refused) => return refused.answer(shared),
    };
    let now = shared.clock.now();
    let session = cookie
        .and_then(|secret| shared.state.lock().sessions.get_mut(&secret, now).cloned())
        .filter(|session| shared.account(&session.sub).is_some());
    let fresh = |session: &Session| ask.max_age.is_none_or(|most| now.since(session.at).as_secs() <= most);
    match session {
        Some(session) if !ask.prompt_login && fresh(&session) => ask.grant(shared, &session),
        _ if ask.prompt_none => ask.refuse("login_required", "nobody is signed in").answer(shared),
        _ => {
            pages::sign_in(shared, &raw, ask.login_hint.as_deref().unwrap_or_default(), None, StatusCode::OK)
        }
    }
}
