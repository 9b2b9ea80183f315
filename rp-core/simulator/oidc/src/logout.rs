//! RP-Initiated Logout 1.0.

use hyper::body::Incoming;
use hyper::header::SET_COOKIE;
use hyper::{Method, Request, Response, StatusCode};
use rp_simulator::body::Body;
use serde::Deserialize;

use super::{Shared, backchannel, pages, request};

#[derive(Clone, Deserialize)]
struct Hint {
    sub: String,
}

/// `/logout`: ends the browser's session at the provider. Without an ID token of the person as a hint the
/// person is asked first, so that no other site can sign anybody out (RP-Initiated Logout 1.0 §2, §6).
pub(super) async fn logout(shared: &Shared, request: Request<Incoming>) -> Response<Body> {
    let posted = request.method() == Method::POST;
    let cookie = request::cookie(shared, &request, "session");
    let form_cookie = request::cookie(shared, &request, "form");
    let Some((given, _)) = request::parameters(request).await else {
        return pages::failure(shared, StatusCode::BAD_REQUEST, "The request is too large or not a form.");
    };
    let back = given
        .get("post_logout_redirect_uri")
        .filter(|uri| shared.post_logout_redirect_uris.iter().any(|known| known == uri));
    let now = shared.clock.now();
    let session =
        cookie.as_deref().and_then(|secret| shared.state.lock().sessions.get_mut(secret, now).cloned());
    let hint = given
        .get("id_token_hint")
        .and_then(|token| shared.key.hint::<Hint>(token, &shared.issuer, &shared.client_id));
    let hinted =
        session.as_ref().is_none_or(|session| hint.as_ref().is_some_and(|hint| hint.sub == session.sub));
    let confirmed = posted && form_cookie.is_some() && form_cookie.as_deref() == given.get("form");
    if !hinted && !confirmed {
        return pages::sign_out(shared, back.unwrap_or_default(), given.get("state").unwrap_or_default());
    }
    if let Some(secret) = cookie {
        shared.state.lock().close_session(&secret);
        if let Some(session) = &session {
            backchannel::notify(shared, Some(&session.sub), Some(&session.sid));
        }
    }
    let mut response = match back {
        Some(uri) => {
            let state: Vec<_> = given.get("state").map(|state| ("state", state)).into_iter().collect();
            request::redirect(uri, &state)
        }
        None => pages::signed_out(shared),
    };
    if let Some(header) = request::set_cookie(shared, "session", "") {
        response.headers_mut().append(SET_COOKIE, header);
    }
    response
}
