//! `GET /api/login`: redirects to the provider.

use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx, ResponseKind};
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::provider::{Prompt, SignInError};
use portal_session::return_path::return_path;
use portal_session::sign_in_rate::often;
use portal_session::signin_cookie::PendingSignIn;
use serde::Deserialize;
use web::{SoloPage, View as _};

use crate::answer::html;
use crate::frame::frame;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct LoginQuery {
    redirect_uri: Option<String>,
    prompt: Option<String>,
    fresh: Option<String>,
}

/// Remembers where to come back to in a sealed cookie, then redirects.
pub async fn login(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Query(query): Query<LoginQuery>,
) -> Response {
    if let Err(fault) = often(&state.session, &context) {
        return fault.into_response();
    }
    let back = return_path(query.redirect_uri.as_deref());
    let prompt = if query.fresh.as_deref() == Some("1") {
        Prompt::SignIn
    } else if query.prompt.as_deref() == Some("select_account") {
        Prompt::Account
    } else {
        Prompt::Nothing
    };
    begin(&state, &context, back, prompt).await
}

/// Begins a sign-in.
pub async fn begin(state: &PortalState, context: &Context, back: String, prompt: Prompt) -> Response {
    let begun =
        PendingSignIn::new(&*state.session.random, state.session.clock.now(), back, prompt == Prompt::SignIn);
    let url = match state.session.sign_in.provider.authorize(&begun, prompt).await {
        Ok(url) => url,
        Err(error) => return failed(state, context, &error, &begun.back),
    };
    let (Some(cookie), Ok(location)) =
        (begun.set_cookie(&state.session.keyring), HeaderValue::from_str(url.as_str()))
    else {
        return failed(
            state,
            context,
            &SignInError::Settings("the keyring cannot seal".to_owned()),
            &begun.back,
        );
    };
    let mut response = Response::default();
    // 307 as in the contract (`contract/portal.md` §5.2); the method is GET anyway.
    *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
    response.headers_mut().insert(header::LOCATION, location);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}

/// A sign-in that failed: logged once and shown to the person with a link to try again.
pub fn failed(state: &PortalState, context: &Context, error: &SignInError, back: &str) -> Response {
    tracing::warn!(error = %rp_base::chain(error), request_id = %context.id, "sign-in failed");
    let mut frame = frame(state, context);
    back.clone_into(&mut frame.path);
    let issuer = state.session.sign_in.provider.issuer();
    let (word, page) = match error {
        SignInError::Away(_) => ("provider_away", SoloPage::provider_away(frame, 502, issuer)),
        SignInError::Refused { code, description } => {
            let clean = rp_base::text::clean(description, 500);
            ("provider_refused", SoloPage::refused(frame, &rp_base::text::clean(code, 60), &clean))
        }
        SignInError::Clock(off) => ("clock_off", SoloPage::clock_off(frame, *off)),
        SignInError::Identity(why) => ("bad_identity", bad_identity(frame, why)),
        SignInError::NotFresh => ("not_fresh", SoloPage::not_fresh(frame)),
        SignInError::BadToken(_) => ("bad_id_token", bad_token(frame, back)),
        SignInError::Settings(_) => ("settings", SoloPage::status(frame, 500)),
    };
    count(state, word);
    answer(context, word, &page)
}

fn bad_token(frame: web::Frame, back: &str) -> SoloPage {
    let failure = web::Failure {
        status: 401,
        what: "The sign-in service's answer could not be trusted".to_owned(),
        why: "Its ID token did not pass the checks of signature, issuer, audience or nonce. Nobody was signed in."
            .to_owned(),
        side: web::Side::Us,
        actions: vec![web::Link::new(
            "Sign in again",
            format!("/api/login?redirect_uri={}", web::text::encode(back)),
        )],
        request_id: frame.request_id.clone(),
    };
    SoloPage::failure(frame, failure)
}

fn bad_identity(frame: web::Frame, problem: &str) -> SoloPage {
    let failure = web::Failure {
        status: 403,
        what: "The sign-in service's name for you cannot be used".to_owned(),
        why: format!("Clusters would know you by it: {problem}. Nobody was signed in."),
        side: web::Side::Us,
        actions: Vec::new(),
        request_id: frame.request_id.clone(),
    };
    SoloPage::failure(frame, failure)
}

pub fn count(state: &PortalState, result: &'static str) {
    state.session.metrics.sign_ins.with(&portal_session::metrics::SignInLabels { result }).inc();
}

/// A solo page, or the same as JSON for a script.
pub fn answer(context: &Context, code: &'static str, page: &SoloPage) -> Response {
    let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::OK);
    let mut response = if context.wants == ResponseKind::Json
        && status.is_client_error() | status.is_server_error()
    {
        let side = if status.is_server_error() { rp_documents::Side::Us } else { rp_documents::Side::You };
        let fault = Fault::new(status, code, side, page.head.clone()).why(page.text.join(" "));
        json(&fault.wire(context.id.as_str())).unwrap_or_default()
    } else {
        html(page.render(web::PageFragment::Page).unwrap_or_default())
    };
    *response.status_mut() = status;
    response
}
