//! `POST /backchannel-logout`: the provider says that a session there, or all of a person, has ended
//! (OpenID Connect Back-Channel Logout 1.0).

use std::sync::Arc;
use std::time::Duration;

use crate::state::SessionState;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode, header};
use rp_access::{Caller, Via};
use rp_base::{Timestamp, chain};
use rp_documents::{Person, Roles, Side};

use crate::codes::CodeError;
use crate::context::{Context, Ctx};
use crate::fault::Fault;
use crate::jwt::VerifiedToken;
use crate::provider::{LEEWAY, SignInError};

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// Older tokens are refused, so that their marks need not be kept for longer.
const YOUNG: Duration = Duration::from_secs(600);

/// Ends sessions; grants where the settings say so.
pub async fn backchannel(
    State(state): State<Arc<SessionState>>,
    Ctx(context): Ctx,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Fault> {
    let token = logout_token(&headers, &body).ok_or_else(|| refused("there is no logout_token"))?;
    let signed = match state.sign_in.provider.signed(&token, state.sign_in.provider.client_id()).await {
        Ok(signed) => signed,
        Err(SignInError::BadToken(why)) => return Err(count_failure(&state, &context, &why)),
        Err(error) => {
            tracing::warn!(error = %chain(&error), "a logout token cannot be checked");
            return Err(Fault::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "provider_away",
                Side::Us,
                "The token cannot be checked now",
            ));
        }
    };
    let asked = check(&signed, state.clock.now()).map_err(|why| count_failure(&state, &context, why))?;
    let mark = format!("logout {}", asked.jti);
    if state.sign_in.codes.is_mark_stored(&mark).await.map_err(not_stored)? {
        return Err(refused("it was used before"));
    }
    // The mark is stored last: after a failure the provider may send the same token again.
    end(&state, &context, &asked).await?;
    state.sign_in.codes.store_mark(&mark, YOUNG + 2 * LEEWAY).await.map_err(not_stored)?;
    Ok(Response::default())
}

/// The session or person whose sessions the provider wants to end.
struct LogoutTarget {
    jti: String,
    sub: Option<String>,
    sid: Option<String>,
}

/// Back-Channel Logout 1.0 §2.6; signature, issuer and audience are checked already.
fn check(token: &VerifiedToken, now: Timestamp) -> Result<LogoutTarget, &'static str> {
    if !matches!(token.kind.as_str(), "" | "jwt" | "logout+jwt") {
        return Err("its type is another");
    }
    let issued = token.time("iat").map(Timestamp::from_seconds).ok_or("it has no iat")?;
    if issued > now + LEEWAY || now > issued + YOUNG + LEEWAY {
        return Err("it was issued too long ago, or in our future");
    }
    if token.time("exp").is_some_and(|end| now > Timestamp::from_seconds(end) + LEEWAY) {
        return Err("it has ended");
    }
    let event = token.get("events").and_then(|events| events.get(EVENT));
    if !event.is_some_and(serde_json::Value::is_object) {
        return Err("it is no logout");
    }
    if token.get("nonce").is_some() {
        return Err("it has a nonce");
    }
    let text = |name: &str| token.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let jti = text("jti").ok_or("it has no jti")?;
    let (sub, sid) = (text("sub"), text("sid"));
    if sub.is_none() && sid.is_none() { Err("it names nobody") } else { Ok(LogoutTarget { jti, sub, sid }) }
}

async fn end(state: &SessionState, context: &Context, asked: &LogoutTarget) -> Result<(), Fault> {
    let person = asked.sub.clone().unwrap_or_else(|| "unknown".to_owned());
    let caller = Caller {
        person: Person { name: person.clone(), sub: person, groups: Vec::new() },
        roles: Roles::NONE,
        from: context.from.to_string(),
        request_id: context.id.clone(),
        via: Via::default(),
    };
    let what =
        if asked.sid.is_some() { "by the provider: one session" } else { "by the provider: all sessions" };
    let promised = state.promise(&caller, "sign-out", |entry| what.clone_into(&mut entry.query)).await;
    promised.map_err(|error| Fault::audit(&error))?;
    let store = |error| Fault::store(&error);
    let mut people = match (&asked.sid, &asked.sub) {
        (Some(sid), sub) => {
            state.sign_in.sessions.end_provider_session(sid, sub.as_deref()).await.map_err(store)?
        }
        (None, Some(sub)) => {
            state.sign_in.sessions.end_all(sub).await.map_err(store)?;
            vec![sub.clone()]
        }
        (None, None) => Vec::new(),
    };
    people.sort_unstable();
    people.dedup();
    for sub in people.iter().filter(|_| state.sign_in.rules.backchannel_ends_grants) {
        let ended = state.access.end_person(sub, "signed out at the provider", "sign-in provider").await;
        ended.map_err(|error| {
            tracing::error!(error = %chain(&error), "grants could not be ended");
            Fault::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "store_unavailable",
                Side::Us,
                "The store did not answer",
            )
        })?;
    }
    tracing::info!(people = people.len(), "the provider ended sessions");
    Ok(())
}

fn logout_token(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return None;
    }
    let mut pairs = url::form_urlencoded::parse(body);
    pairs.find(|(name, _)| name == "logout_token").map(|(_, value)| value.into_owned())
}

/// Counts the failure per address, so that guessing is rate-limited.
fn count_failure(state: &SessionState, context: &Context, why: &str) -> Fault {
    match state.access.rates().miss(context.from) {
        Ok(()) => refused(why),
        Err(rp_net::TooOften(wait)) => Fault::too_often(wait),
    }
}

fn refused(why: &str) -> Fault {
    Fault::new(StatusCode::BAD_REQUEST, "invalid_request", Side::You, "The logout token is refused").why(why)
}

fn not_stored(error: CodeError) -> Fault {
    match error {
        CodeError::Store(error) => Fault::store(&error),
        CodeError::Unknown | CodeError::Verifier | CodeError::Seal(_) => Fault::internal(),
    }
}

/// For `tests/fuzz`.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    use rp_base::Timestamp;
    use serde_json::{Map, Value};

    use crate::jwt::VerifiedToken;

    /// Whether a proved token of that type and with those claims ends sessions.
    pub fn ends_sessions(kind: &str, claims: Map<String, Value>, now: Timestamp) -> bool {
        super::check(&VerifiedToken::unproved(kind, claims), now).is_ok()
    }
}
