//! Who asks.

use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;
use rp_access::Caller;
use rp_base::Timestamp;
use rp_documents::{Role, Side};

use crate::fault::Fault;

/// Somebody who is signed in, by session or by token. Put into the request by the gate.
#[derive(Debug, Clone)]
pub(crate) struct CurrentUser {
    pub(crate) caller: Caller,
    /// A masked CSRF token; empty with a bearer token, which needs none.
    pub(crate) csrf: String,
    /// When the session ends in any case; `None` with a bearer token.
    pub(crate) session_ends: Option<Timestamp>,
}

impl CurrentUser {
    pub(crate) fn has(&self, role: Role) -> bool {
        self.caller.roles.has(role)
    }

    /// The refusal when the role is missing.
    pub(crate) fn require(&self, role: Role) -> Result<(), Fault> {
        if self.has(role) { Ok(()) } else { Err(missing(role)) }
    }
}

/// Names the role that is missing.
pub(crate) fn missing(role: Role) -> Fault {
    Fault::new(
        StatusCode::FORBIDDEN,
        "role_missing",
        Side::You,
        format!("This needs the role {}", role.name()),
    )
    .why("Your groups do not give it. Roles are read at sign-in.")
    .action("Ask for a group that gives it, then sign in again.")
}

impl<S: Sync> FromRequestParts<S> for CurrentUser {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Fault::ours)
    }
}
