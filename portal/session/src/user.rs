//! The caller of a request.

use crate::state::SessionState;
use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;
use rp_access::{Caller, Policy, Via};
use rp_base::{Id, Timestamp};
use rp_documents::{Role, Side};

use crate::fault::Fault;

/// The signed-in caller, by session or by token. The gate adds it to the request's extensions.
#[derive(Debug, Clone)]
pub struct CurrentUser {
    pub caller: Caller,
    /// A masked CSRF token; empty with a bearer token, which needs none.
    pub csrf: String,
    /// When the session ends in any case; `None` with a bearer token.
    pub session_ends: Option<Timestamp>,
    /// The stored id of the session; `None` with a bearer token.
    pub session: Option<String>,
    /// When the person last authenticated at the provider; `None`: unknown.
    pub auth_time: Option<Timestamp>,
}

impl CurrentUser {
    pub fn has(&self, role: Role) -> bool {
        self.caller.roles.has(role)
    }

    /// Whether that is this person's subject or account.
    pub fn is(&self, text: &str) -> bool {
        let person = &self.caller.person;
        person.sub == text || person.name.eq_ignore_ascii_case(text)
    }

    /// The refusal when the role is missing, with the groups that give it.
    pub fn require(&self, role: Role, policy: &Policy) -> Result<(), Fault> {
        if self.has(role) { Ok(()) } else { Err(missing_with_groups(role, policy)) }
    }

    /// The grant of the bearer token; `None` with a session.
    pub const fn token_grant(&self) -> Option<&Id> {
        if let Via::Token(id) = &self.caller.via { Some(id) } else { None }
    }

    /// For dangerous actions: the refusal when the sign-in is older than the settings allow
    /// (`[access] fresh_sign_in`). `came_from` is the page to come back to.
    pub fn require_fresh(&self, state: &SessionState, came_from: &str) -> Result<(), Fault> {
        let now = state.clock.now();
        let within = state.access.policy().access.fresh_sign_in;
        if self.auth_time.is_some_and(|at| now < at + within) {
            return Ok(());
        }
        let minutes = within.as_secs().div_ceil(60);
        let back = web::text::encode(came_from).replace("%2F", "/");
        let login = format!("/api/login?fresh=1&redirect_uri={back}");
        let how = if self.token_grant().is_some() {
            "Run aro login --fresh, then try again."
        } else {
            "Sign in again; you come back here."
        };
        let why = format!(
            "This can do harm, so it takes a sign-in of the last {minutes} min. Nothing was changed."
        );
        Err(Fault::new(StatusCode::FORBIDDEN, "sign_in_again", Side::You, "Sign in again first")
            .why(why)
            .action(how)
            .link("Sign in again", login))
    }
}

/// Names the role that is missing.
pub fn missing(role: Role) -> Fault {
    Fault::new(
        StatusCode::FORBIDDEN,
        "role_missing",
        Side::You,
        format!("This needs the role {}", role.name()),
    )
    .why("Your groups do not give it. Roles are read at sign-in.")
    .action("Ask for a group that gives it, then sign in again.")
}

/// How a person gets a role: the groups that give it, as a sentence.
fn how_to_get(role: Role, policy: &Policy) -> String {
    match policy.groups(role) {
        [] => "No group gives it here: ask the administrator of this portal.".to_owned(),
        [one] => format!("Ask for the group {one}, then sign in again."),
        groups => format!("Ask for one of the groups {}, then sign in again.", groups.join(", ")),
    }
}

/// That a person lacks a role, and how they get it. `to`: what for, as " to query", or empty.
pub fn lacking(role: Role, to: &str, policy: &Policy) -> String {
    let way = how_to_get(role, policy);
    format!("You need the {} role{to}; your groups do not include it. {way}", role.name())
}

/// As [`missing`], with the groups that give the role. Without the role viewer no page of the portal opens, so the way on
/// is another account.
pub fn missing_with_groups(role: Role, policy: &Policy) -> Fault {
    let fault = missing(role).action(how_to_get(role, policy));
    if role == Role::Viewer {
        return fault.link("Use another account", "/api/login?prompt=select_account");
    }
    fault
}

impl<S: Sync> FromRequestParts<S> for CurrentUser {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Fault::internal)
    }
}
