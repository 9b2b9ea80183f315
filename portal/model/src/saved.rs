//! What changes of people share: the names of what they keep, the entry of each change, and why one is refused.

use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::{BadReason, ReasonLimits};
use rp_documents::{Outcome, ResourceId, Side};

use crate::state::PortalState;

const MOST_NAME: usize = 100;

/// The bounds of a reason for a change of a cluster: it is always needed.
pub fn reason_limits(state: &PortalState) -> ReasonLimits {
    state.session.access.policy().reason_limits().required()
}

/// A durable entry before the change.
///
/// # Errors
/// The entry cannot be written.
pub async fn record(
    state: &PortalState,
    user: &CurrentUser,
    verb: &str,
    name: &str,
    query: &str,
    cluster: Option<&ResourceId>,
) -> Result<(), Fault> {
    let fill = |entry: &mut rp_documents::Entry| {
        entry.target = cluster.cloned();
        name.clone_into(&mut entry.name);
        entry.query = query.chars().take(2000).collect();
        entry.result = Outcome { status: 200, word: "ok".to_owned(), side: None };
    };
    state.session.promise(&user.caller, verb, fill).await.map_err(|error| Fault::audit(&error))
}

/// Why a change that wants a reason was not made. Pages show the first beside its field.
#[derive(Debug, PartialEq, Eq)]
pub enum ChangeError {
    Reason(BadReason),
    Refused(Fault),
}

impl From<BadReason> for ChangeError {
    fn from(bad: BadReason) -> Self {
        Self::Reason(bad)
    }
}

impl From<Fault> for ChangeError {
    fn from(fault: Fault) -> Self {
        Self::Refused(fault)
    }
}

impl From<ChangeError> for Fault {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Reason(bad) => refusals::invalid(&bad),
            ChangeError::Refused(fault) => fault,
        }
    }
}

/// 422 with that sentence.
pub fn invalid(what: impl Into<String>) -> Fault {
    Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", Side::You, what)
}

/// A name without blanks around it.
///
/// # Errors
/// 422: it is empty or too long.
pub fn name(text: &str) -> Result<String, Fault> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MOST_NAME {
        return Err(invalid(format!("A name has 1 to {MOST_NAME} characters")));
    }
    Ok(text.to_owned())
}
