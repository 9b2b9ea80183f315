//! Follows the session of the portal behind a terminal: the terminal ends with it, and typing there is a use of it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use proxy::terminal::SignedIn;
use rp_documents::Role;
use tokio::time::Instant;

use crate::auth::{Still, StillSigned};
use crate::state::PortalState;

/// Between two looks; a look costs no query while nothing changes.
const CHECK: Duration = Duration::from_millis(300);
/// What is known of sessions may be that old before a terminal is cut (`contract/rules.md` §3.7).
const UNSURE: Duration = Duration::from_secs(15);

/// What terminals hold; followed until the last of them lets go of it.
pub(crate) fn follow(state: &PortalState, key: String) -> Arc<SignedIn> {
    let signed = Arc::new(SignedIn::default());
    tokio::spawn(until_over(state.clone(), key, Arc::downgrade(&signed)));
    signed
}

async fn until_over(state: PortalState, key: String, held: Weak<SignedIn>) {
    let (mut known, mut unsure) = (StillSigned::default(), None);
    loop {
        tokio::time::sleep(CHECK).await;
        let Some(signed) = held.upgrade() else { return };
        if signed.take_typed() {
            state.0.sign_in.sessions.used(&key).await;
        }
        let still = state.0.sign_in.sessions.still(&key, &mut known).await;
        if let Some(words) = over(&state, still, &mut unsure) {
            return signed.end(words);
        }
    }
}

fn over(state: &PortalState, still: Still, unsure: &mut Option<Instant>) -> Option<&'static str> {
    if matches!(still, Still::Unsure) {
        let since = *unsure.get_or_insert_with(Instant::now);
        return (since.elapsed() >= UNSURE)
            .then_some("The store has not answered for a while, so your sign-in cannot be vouched for.");
    }
    *unsure = None;
    match still {
        Still::Ended => Some("You are no longer signed in to the portal."),
        Still::Changed(person) if !state.0.access.policy().roles_of(&person.groups).has(Role::Sre) => {
            Some("Your groups no longer let you open terminals.")
        }
        Still::Changed(_) | Still::Same | Still::Unsure => None,
    }
}
