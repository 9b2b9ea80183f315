//! `/api/v1/login/…` and `/api/v1/logout`: how the command line comes to a token and gives it back
//! (RFC 6749 §4.1, RFC 7636, RFC 8628).

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use portal_model::state::PortalState;
use portal_session::codes::{CodeError, Consent, DEVICE_LIFE, INTERVAL, Poll};
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::refusals;
use portal_session::session_user::SessionUser;
use portal_session::sign_in_rate::often;
use portal_session::throttle::network;
use portal_session::user::CurrentUser;
use rp_access::{AccessError, Caller, IssueRequest, RevokeScope, Via};
use rp_base::{Secret, Timestamp};
use rp_documents::{GrantKind, Rights, Role, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{RevealedSecret, body};

/// What a program calls itself, in characters.
const MOST_CLIENT: usize = 80;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    rename = "SignInTokenRequest",
    example = serde_json::json!({"device_code": "the code that the sign-in began with"}),
    example = serde_json::json!({"code": "the code of the redirect", "code_verifier": "the text whose digest the sign-in began with"})
)]
pub struct TokenRequest {
    /// Of a sign-in with a redirect (RFC 6749 §4.1).
    code: Option<Secret<String>>,
    /// Of that code (RFC 7636).
    code_verifier: Option<Secret<String>>,
    /// Of a sign-in whose browser is elsewhere (RFC 8628).
    device_code: Option<Secret<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignInToken")]
pub struct TokenResponse<'a> {
    token: RevealedSecret<'a>,
    not_after: Timestamp,
    person: PersonView<'a>,
    portal: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignedInPerson")]
struct PersonView<'a> {
    sub: &'a str,
    name: &'a str,
    roles: Vec<&'static str>,
}

/// Exchanges a code for a token. Each code works once.
pub async fn token(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let ask: TokenRequest = body(&bytes)?;
    let agreed = match (&ask.code, &ask.device_code) {
        (Some(code), None) => {
            // A program that polls has its own rate limit.
            often(&state.session, &context)?;
            let verifier = ask.code_verifier.as_ref().map_or("", |verifier| verifier.expose().as_str());
            state
                .session
                .sign_in
                .codes
                .take(code.expose(), verifier)
                .await
                .map_err(|error| code_error(&state, &context, error))?
        }
        (None, Some(device_code)) => polled(&state, &context, device_code.expose()).await?,
        _ => return Err(Fault::bad_input("Either code with code_verifier, or device_code is needed")),
    };
    give(&state, &context, agreed).await
}

async fn polled(state: &PortalState, context: &Context, device_code: &str) -> Result<Consent, Fault> {
    let waiting = |code, what: &str| Fault::new(StatusCode::BAD_REQUEST, code, Side::You, what);
    match state.session.sign_in.codes.poll(device_code).await {
        Ok(Poll::Agreed(agreed)) => Ok(agreed),
        Ok(Poll::Pending) => Err(waiting("authorization_pending", "Nobody has decided yet")),
        Ok(Poll::SlowDown) => Err(waiting("slow_down", "You ask too often")
            .action(format!("Ask every {} s.", INTERVAL.as_secs()))
            .retry_after(INTERVAL)),
        Ok(Poll::Refused) => Err(waiting("access_denied", "The person said no")),
        Err(CodeError::Unknown) => {
            count_guess(state, context)?;
            Err(waiting("expired_token", "The code has ended, was used, or is none of ours"))
        }
        Err(error) => Err(code_error(state, context, error)),
    }
}

/// Gives a grant of kind cli: it opens the JSON API with the roles that the person's groups give. The session in which
/// the person agreed must live, before and after: what ends it ends the codes of it too.
async fn give(state: &PortalState, context: &Context, agreed: Consent) -> Result<Response, Fault> {
    let policy = state.session.access.policy();
    let user = live_session(state, context, &agreed).await?;
    let roles = policy.roles_of(&user.person.groups);
    let from = context.from.to_string();
    let ask = IssueRequest {
        life: Some(policy.access.cli_life.min(policy.longest(Rights::Read))),
        auth_time: user.auth_time,
        ..IssueRequest::new(GrantKind::Cli, None, Rights::Read, format!("aro login from {from}"))
    };
    let caller =
        Caller { person: user.person, roles, from, request_id: context.id.clone(), via: Via::default() };
    let issued = state.session.access.issue(&caller, ask).await.map_err(|error| refusals::issue(&error))?;
    if let Err(fault) = live_session(state, context, &agreed).await {
        let why = Some("the session ended in which the person agreed".to_owned());
        let ended = state.session.access.revoke(&caller, &issued.grant.id, why).await;
        return Err(ended.err().map_or(fault, |error| refusals::access(&error)));
    }
    json(&TokenResponse {
        token: RevealedSecret::new(issued.token.expose().as_str()),
        not_after: issued.grant.not_after,
        person: PersonView {
            sub: &issued.grant.owner.sub,
            name: &issued.grant.owner.name,
            roles: roles.iter().map(Role::name).collect(),
        },
        portal: state.session.site.urls.portal.origin().ascii_serialization(),
    })
}

/// The person who consented, while their session is active.
async fn live_session(
    state: &PortalState,
    context: &Context,
    agreed: &Consent,
) -> Result<SessionUser, Fault> {
    let found = state
        .session
        .sign_in
        .sessions
        .user_of(&agreed.session)
        .await
        .map_err(|error| Fault::store(&error))?;
    found.ok_or_else(|| code_error(state, context, CodeError::Unknown))
}

/// The error of a code that cannot be redeemed.
fn code_error(state: &PortalState, context: &Context, error: CodeError) -> Fault {
    match error {
        CodeError::Store(error) => Fault::store(&error),
        CodeError::Seal(_) => Fault::internal(),
        CodeError::Unknown | CodeError::Verifier => match count_guess(state, context) {
            Ok(()) => Fault::new(StatusCode::BAD_REQUEST, "invalid_grant", Side::You, "The code is refused")
                .why(error.to_string())
                .action("Run aro login again."),
            Err(fault) => fault,
        },
    }
}

/// Guesses are counted by address.
fn count_guess(state: &PortalState, context: &Context) -> Result<(), Fault> {
    state.session.access.rates().miss(context.from).map_err(|rp_net::TooOften(wait)| Fault::too_often(wait))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(example = serde_json::json!({"client": "aro on a build machine"}))]
pub struct DeviceCodeRequest {
    /// What the program calls itself; the person reads it.
    client: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeviceCode")]
pub struct DeviceCodeResponse<'a> {
    device_code: RevealedSecret<'a>,
    user_code: RevealedSecret<'a>,
    verification_uri: String,
    verification_uri_complete: RevealedSecret<'a>,
    /// Seconds until the codes end.
    expires_in: u64,
    /// Seconds between two questions whether the person has agreed.
    interval: u64,
}

/// Begins a sign-in whose browser is elsewhere.
pub async fn device(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let limit = state.session.sign_in.waiting.count(&network(context.from), state.session.clock.now());
    limit.map_err(Fault::too_often)?;
    let ask: DeviceCodeRequest = body(&bytes)?;
    let client = rp_base::text::clean(&ask.client, MOST_CLIENT);
    let made = state.session.sign_in.codes.ask(context.from.to_string(), client).await;
    let made = made.map_err(|error| code_error(&state, &context, error))?;
    let page = format!("{}/device", state.session.site.urls.portal.origin().ascii_serialization());
    json(&DeviceCodeResponse {
        device_code: RevealedSecret::new(made.device_code.expose().as_str()),
        user_code: RevealedSecret::new(made.user_code.as_str()),
        verification_uri_complete: RevealedSecret::new(format!("{page}?user_code={}", made.user_code)),
        verification_uri: page,
        expires_in: DEVICE_LIFE.as_secs(),
        interval: INTERVAL.as_secs(),
    })
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(example = serde_json::json!({"grants": true}))]
pub struct LogoutRequest {
    /// Every grant of the person, not the command line's token alone.
    grants: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignedOut")]
pub struct LogoutResponse {
    /// Grants that were ended, the token among them.
    revoked: u64,
}

/// Ends the token that asks; every grant of the person when asked. A session ends at `/api/logout`.
pub async fn logout(
    State(state): State<PortalState>,
    user: CurrentUser,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let ask: LogoutRequest = body(&bytes)?;
    let own = user.token_grant().ok_or_else(|| {
        Fault::bad_input("This ends a token of ours, and there is none")
            .action("A session ends at /api/logout.")
    })?;
    let access = &state.session.access;
    let why = Some("aro logout".to_owned());
    let mut revoked = 0;
    if ask.grants {
        let mine = RevokeScope::Person(user.caller.person.sub.clone());
        let ended = access.revoke_all(&user.caller, mine, why.clone()).await;
        revoked = ended.map_err(|error| refusals::access(&error))?;
    }
    match access.revoke(&user.caller, own, why).await {
        Ok(_) => revoked += 1,
        // Ended a moment ago, perhaps above.
        Err(AccessError::Ended) => {}
        Err(error) => return Err(refusals::access(&error)),
    }
    json(&LogoutResponse { revoked })
}
