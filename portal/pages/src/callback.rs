//! `GET /callback`: back from the provider (`contract/portal.md` §5.3, "Do better" 2–5).

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use portal_model::state::PortalState;
use portal_session::claims::Groups;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::provider::Prompt;
use portal_session::provider::SignInError;
use portal_session::redeem::Redeemed;
use portal_session::revalidate::{end_everything, regroup};
use portal_session::session_user::SessionStart;
use portal_session::sign_in_rate::often;
use portal_session::signin_cookie;
use portal_session::signin_cookie::PendingSignIn;
use rp_access::{Caller, Policy};
use rp_documents::{Outcome, Person, Role, Roles, Side};
use serde::Deserialize;
use subtle::ConstantTimeEq as _;
use tower_sessions::Session;
use web::{Group, SoloPage};

use crate::frame::frame;
use crate::login::{answer, begin, count, failed};

/// What the provider sends along.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct CallbackQuery {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

impl std::fmt::Debug for CallbackQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallbackQuery").field("error", &self.error).finish_non_exhaustive()
    }
}

/// Ends a sign-in: a session, or a page that says why there is none.
pub async fn callback(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    session: Session,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Result<Response, Fault> {
    often(&state.session, &context)?;
    let now = state.session.clock.now();
    let begun = PendingSignIn::read(&state.session.keyring, &headers, now);
    let mut response = match begun {
        // A callback without a pending sign-in starts a new one, as the contract requires.
        None if query.state.is_none() && query.error.is_none() => {
            return Ok(begin(&state, &context, "/".to_owned(), Prompt::Nothing).await);
        }
        None => sign_in_lost(&state, &context, "/"),
        Some(begun) => finish(&state, &context, &session, &begun, query).await?,
    };
    response.headers_mut().append(header::SET_COOKIE, signin_cookie::clear());
    Ok(response)
}

fn sign_in_lost(state: &PortalState, context: &Context, back: &str) -> Response {
    count(state, "sign_in_lost");
    let mut frame = frame(state, context);
    back.clone_into(&mut frame.path);
    answer(context, "sign_in_lost", &SoloPage::sign_in_lost(frame))
}

async fn finish(
    state: &PortalState,
    context: &Context,
    session: &Session,
    begun: &PendingSignIn,
    query: CallbackQuery,
) -> Result<Response, Fault> {
    let given = query.state.unwrap_or_default();
    if !bool::from(given.as_bytes().ct_eq(begun.state.as_bytes())) {
        return Ok(sign_in_lost(state, context, &begun.back));
    }
    if let Some(code) = query.error {
        let error = SignInError::Refused { code, description: query.error_description.unwrap_or_default() };
        return Ok(failed(state, context, &error, &begun.back));
    }
    let Some(code) = query.code.filter(|code| !code.is_empty()) else {
        return Ok(sign_in_lost(state, context, &begun.back));
    };
    let redeemed = state
        .session
        .sign_in
        .provider
        .redeem(code, begun, state.session.clock.now(), &*state.session.random)
        .await;
    let redeemed = match redeemed {
        Ok(redeemed) => redeemed,
        Err(error) => return Ok(failed(state, context, &error, &begun.back)),
    };
    let person = person(state, &redeemed);
    let roles = state.session.access.policy().roles_of(&person.groups);
    let caller = Caller {
        person,
        roles,
        from: context.from.to_string(),
        request_id: context.id.clone(),
        via: rp_access::Via::Session,
    };
    if roles.is_empty() {
        return Ok(no_role(state, context, &caller, &redeemed.groups, &begun.back).await);
    }
    let started = start_session(state, session, &caller, redeemed, &begun.back).await;
    started.inspect_err(|_| count(state, "not_stored"))
}

/// The person, with the groups that the policy knows.
fn person(state: &PortalState, redeemed: &Redeemed) -> Person {
    let groups = match &redeemed.groups {
        Groups::Named(named) => state.session.access.policy().known_groups(named),
        Groups::TooMany => Vec::new(),
    };
    Person { sub: redeemed.sub.clone(), name: redeemed.name.clone(), groups }
}

async fn start_session(
    state: &PortalState,
    session: &Session,
    caller: &Caller,
    redeemed: Redeemed,
    back: &str,
) -> Result<Response, Fault> {
    let roles: Vec<&str> = caller.roles.iter().map(Role::name).collect();
    state
        .session
        .promise(caller, "sign-in", |entry| entry.query = format!("roles {}", roles.join(", ")))
        .await
        .map_err(|error| Fault::audit(&error))?;
    let at = state.session.clock.now();
    // Stored before the session, so that every session has the record by which the provider can end it.
    let sign_ins = &state.session.sign_in.sign_ins;
    let kept = match &redeemed.refresh {
        Some(token) => {
            let kept = sign_ins.keep(&caller.person, token, at).await;
            Some(kept.map_err(|error| not_stored(&rp_base::chain(&error)))?)
        }
        None => {
            sign_ins
                .none_of(&caller.person.sub)
                .await
                .map_err(|error| not_stored(&rp_base::chain(&error)))?;
            None
        }
    };
    let start = SessionStart {
        person: caller.person.clone(),
        at,
        auth_time: redeemed.auth_time,
        id_token: Some(redeemed.id_token),
        sid: redeemed.sid,
    };
    start.fill(session).await.map_err(|error| not_stored(&rp_base::chain(&error)))?;
    // Existing sessions and grants of the person get the current groups.
    let groups = &caller.person.groups;
    let mut followed = regroup(&state.session, &caller.person.sub, groups).await;
    if let (Ok(()), Some(kept)) = (&followed, kept) {
        followed = sign_ins.regrouped(kept, groups).await;
    }
    if let Err(error) = followed {
        tracing::warn!(error = %rp_base::chain(&error), "older sessions and grants get their groups with the next look");
    }
    count(state, "ok");
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SEE_OTHER;
    let location = HeaderValue::from_str(back).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

fn not_stored(error: &dyn std::fmt::Display) -> Fault {
    tracing::error!(%error, "a session could not begin");
    Fault::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", Side::Us, "The store did not answer")
        .why("Your sign-in was good, but no session could be stored.")
        .link("Sign in again", "/api/login")
}

/// No session comes into being (`contract/portal.md` §5.3); the page names the groups that open the portal.
async fn no_role(
    state: &PortalState,
    context: &Context,
    caller: &Caller,
    groups: &Groups,
    back: &str,
) -> Response {
    let mut frame = frame(state, context);
    back.clone_into(&mut frame.path);
    let open = opening_groups(state.session.access.policy());
    let (word, page) = match groups {
        Groups::TooMany => ("too_many_groups", SoloPage::too_many_groups(frame, &caller.person.name, open)),
        Groups::Named(named) => {
            ("no_group", SoloPage::no_group(frame, &caller.person.name, named.len(), open))
        }
    };
    count(state, word);
    // A complete list without a group of ours is current information; a list that did not fit into the token is none.
    if matches!(groups, Groups::Named(_)) {
        let sub = &caller.person.sub;
        if let Err(error) =
            end_everything(&state.session, sub, "no group of theirs opens the portal any more").await
        {
            tracing::error!(error = %rp_base::chain(&*error), "what a person without a role holds could not be ended");
        }
    }
    let result = Outcome { status: 403, word: "refused".to_owned(), side: Some(Side::You) };
    state.session.note(caller, "sign-in", result, |entry| word.clone_into(&mut entry.query)).await;
    answer(context, word, &page)
}

/// Each group with what it gives.
fn opening_groups(policy: &Policy) -> Vec<Group> {
    let mut by_group: BTreeMap<&str, Roles> = BTreeMap::new();
    for role in Role::ALL {
        for name in policy.groups(role) {
            let roles = by_group.entry(name).or_insert(Roles::NONE);
            *roles = roles.with(role);
        }
    }
    let words = |roles: Roles| roles.iter().map(Role::name).collect::<Vec<_>>().join(", ");
    by_group
        .into_iter()
        .map(|(name, roles)| Group {
            name: name.to_owned(),
            id: name.to_owned(),
            allows: words(roles),
            ask: String::new(),
        })
        .collect()
}
