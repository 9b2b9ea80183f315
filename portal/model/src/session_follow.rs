//! Follows the session of the portal behind a terminal: the terminal ends with it, and typing there is a use of it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use portal_session::session_store::{SessionStatus, SessionWatch};
use proxy::terminal::PortalSession;
use rp_documents::Role;
use tokio::time::Instant;

use crate::state::PortalState;

/// Interval of checks; a check costs no query while nothing changes.
const CHECK: Duration = Duration::from_millis(300);
/// A terminal ends when the state of its session is older than this (`contract/rules.md` §3.7).
const UNSURE: Duration = Duration::from_secs(15);

/// The handle that terminals hold; the session is followed until the last handle is dropped.
pub fn follow(state: &PortalState, key: String) -> Arc<PortalSession> {
    let signed = Arc::new(PortalSession::default());
    tokio::spawn(end_with_session(state.clone(), key, Arc::downgrade(&signed)));
    signed
}

async fn end_with_session(state: PortalState, key: String, held: Weak<PortalSession>) {
    let (mut known, mut unsure) = (SessionWatch::default(), None);
    loop {
        tokio::time::sleep(CHECK).await;
        let Some(signed) = held.upgrade() else { return };
        if signed.take_typed() {
            state.session.sign_in.sessions.record_use(&key).await;
        }
        let still = state.session.sign_in.sessions.status(&key, &mut known).await;
        if let Some(words) = end_reason(&state, still, &mut unsure) {
            return signed.end(words);
        }
    }
}

fn end_reason(
    state: &PortalState,
    still: SessionStatus,
    unsure: &mut Option<Instant>,
) -> Option<&'static str> {
    if matches!(still, SessionStatus::Unsure) {
        let since = *unsure.get_or_insert_with(Instant::now);
        return (since.elapsed() >= UNSURE)
            .then_some("The store has not answered for a while, so your sign-in cannot be vouched for.");
    }
    *unsure = None;
    match still {
        SessionStatus::Ended => Some("You are no longer signed in to the portal."),
        SessionStatus::Changed(person)
            if !state.session.access.policy().roles_of(&person.groups).has(Role::Sre) =>
        {
            Some("Your groups no longer let you open terminals.")
        }
        SessionStatus::Changed(_) | SessionStatus::Same | SessionStatus::Unsure => None,
    }
}
