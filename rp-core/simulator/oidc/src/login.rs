//! The sign-in form's answer.

use hyper::body::Incoming;
use hyper::header::SET_COOKIE;
use hyper::{Request, Response, StatusCode};
use rp_base::{Id, sha256};
use rp_simulator::body::Body;
use subtle::ConstantTimeEq as _;

use super::authorize::{AuthorizationError, AuthorizationRequest};
use super::request::{self, Parameters};
use super::state::Session;
use super::{Account, Shared, pages};

/// `POST /login`: name, password, and the authorisation request that led here.
pub(super) async fn login(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let form_cookie = request::cookie(shared, &request, "form");
    let old_session = request::cookie(shared, &request, "session");
    let Some((given, _)) = request::parameters(request).await else {
        return AuthorizationError::Here("The request is too large or not a form.").answer(shared);
    };
    let asked = given.get("request").unwrap_or_default();
    let ask =
        match Parameters::parse(asked.as_bytes()).map(|asked| AuthorizationRequest::read(shared, &asked)) {
            Some(Ok(ask)) => ask,
            Some(Err(refused)) => return refused.answer(shared),
            None => return AuthorizationError::Here("The request is too large.").answer(shared),
        };
    let name = given.get("name").unwrap_or_default();
    // Login CSRF: a form on another site must not sign a user in to another account.
    if form_cookie.is_none() || form_cookie.as_deref() != given.get("form") {
        let why = "The form was too old, or cookies are blocked. Please try again.";
        return pages::sign_in(shared, asked, name, Some(why), StatusCode::BAD_REQUEST);
    }
    let now = shared.clock.now();
    if !shared.state.lock().attempts.allowed(name, now) {
        let why = "Too many wrong passwords. Please wait a minute.";
        return pages::sign_in(shared, asked, name, Some(why), StatusCode::TOO_MANY_REQUESTS);
    }
    let Some(account) = matching(shared, name, given.get("password").unwrap_or_default()) else {
        shared.state.lock().attempts.wrong(name);
        let why = "Name or password is wrong.";
        return pages::sign_in(shared, asked, name, Some(why), StatusCode::FORBIDDEN);
    };
    let session = Session { sid: Id::random(&*shared.random), sub: account.sub, at: now };
    let secret = {
        let mut state = shared.state.lock();
        if let Some(old) = old_session {
            state.close_session(&old);
        }
        state.open_session(session.clone(), now, &*shared.random)
    };
    let mut response = ask.grant(shared, &session);
    let cookies = [("session", secret.unwrap_or_default()), ("form", String::new())];
    for header in cookies.iter().filter_map(|(name, value)| request::set_cookie(shared, name, value)) {
        response.headers_mut().append(SET_COOKIE, header);
    }
    response
}

/// The account of that name, when the password is its own. Every account is compared, whether or not the
/// name matches, so that the timing reveals nothing.
fn matching(shared: &Shared, name: &str, password: &str) -> Option<Account> {
    let given = sha256(password.as_bytes());
    let mut found = None;
    for account in shared.accounts.read().iter() {
        let own = sha256(account.password.expose().as_bytes());
        let same =
            own.0.ct_eq(&given.0) & sha256(account.name.as_bytes()).0.ct_eq(&sha256(name.as_bytes()).0);
        if bool::from(same) {
            found = Some(account.clone());
        }
    }
    found.filter(|account| shared.account(&account.sub).is_some())
}
