//! Access tokens that the provider gave to an application itself (RFC 6749 §4.4, RFC 9068): the application
//! is a robot of ours.

use crate::state::SessionState;
use http::StatusCode;
use rp_access::{Caller, Via};
use rp_base::{Timestamp, chain};
use rp_documents::Side;

use crate::context::Context;
use crate::fault::Fault;
use crate::jwt::VerifiedToken;
use crate::provider::{LEEWAY, SignInError};
use crate::user::CurrentUser;

/// Whether a bearer token has the form of the provider's.
pub fn is_client_token(token: &str) -> bool {
    !token.starts_with("aro1_") && token.bytes().filter(|byte| *byte == b'.').count() == 2
}

/// The robot that the token's application is.
pub async fn by_client_token(
    state: &SessionState,
    context: &Context,
    token: &str,
) -> Result<CurrentUser, Fault> {
    let Some(audience) = state.sign_in.provider.api_audience() else {
        return Err(refused("tokens of the provider are not taken here"));
    };
    let signed = match state.sign_in.provider.signed(token, audience).await {
        Ok(signed) => signed,
        Err(SignInError::BadToken(why)) => return Err(count_failure(state, context, &why)),
        Err(error) => {
            tracing::warn!(error = %chain(&error), "an application's token cannot be checked");
            return Err(Fault::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "provider_away",
                Side::Us,
                "The token cannot be checked now",
            )
            .why("The sign-in provider does not answer.")
            .action("Try again in a moment."));
        }
    };
    let client = client_of(&signed, state.clock.now()).map_err(|why| count_failure(state, context, why))?;
    let robot = state.access.robot_by_client(&client).await.map_err(|error| Fault::store(&error))?;
    let robot = robot.filter(|robot| robot.is_active(state.clock.now()));
    let robot =
        robot.ok_or_else(|| count_failure(state, context, "no living robot belongs to its client id"))?;
    let caller = Caller::robot(&robot, context.from.to_string(), context.id.clone(), Via::Client);
    Ok(CurrentUser { caller, csrf: String::new(), session_ends: None, session: None, auth_time: None })
}

/// The client id of a token that an application got for itself, and that is good now.
fn client_of(token: &VerifiedToken, now: Timestamp) -> Result<String, &'static str> {
    if !matches!(token.kind.as_str(), "" | "jwt" | "at+jwt") {
        return Err("its type is another");
    }
    let at = |name: &str| token.time(name).map(Timestamp::from_seconds);
    if at("exp").is_none_or(|end| now >= end + LEEWAY) {
        return Err("it has ended");
    }
    if at("nbf").or_else(|| at("iat")).is_some_and(|from| from > now + LEEWAY) {
        return Err("it is not valid yet");
    }
    let client = ["azp", "appid", "client_id"].iter().find_map(|name| token.text(name));
    let client = client.ok_or("it names no application")?;
    // Of a person who used the application: `scp` is Entra's delegated scope, `nonce` an ID token's.
    if token.get("scp").is_some() || token.get("nonce").is_some() {
        return Err("it is a person's");
    }
    let sub = token.text("sub");
    // RFC 9068 §2.2: the subject is the client itself; Entra names the service principal and marks such tokens.
    let own = sub == Some(client)
        || token.text("idtyp") == Some("app")
        || (sub.is_some() && sub == token.text("oid"));
    if own { Ok(client.to_owned()) } else { Err("it is a person's") }
}

fn count_failure(state: &SessionState, context: &Context, why: &str) -> Fault {
    match state.access.rates().miss(context.from) {
        Ok(()) => refused(why),
        Err(rp_net::TooOften(wait)) => Fault::too_often(wait),
    }
}

fn refused(why: &str) -> Fault {
    Fault::new(StatusCode::UNAUTHORIZED, "token_refused", Side::You, "The token is refused")
        .why(why)
        .action("Ask the provider for a token with our audience.")
}
