//! Whether a person may open a shell or an SSH access in a cluster: its pages check this before they offer it.

use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::user::CurrentUser;
use rp_documents::{Rights, Role};
use web::{ElevateForm, Link};

/// Why access cannot be issued now, with a link that helps; `None`: it can.
pub async fn denial_reason(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
) -> Option<(String, Option<Link>)> {
    // A store error counts as "not elevated" here; issuing the access reports the error.
    if state.session.access.is_elevated(&user.caller, &entry.id, Rights::Write).await.unwrap_or_default() {
        return None;
    }
    if !user.has(Role::Elevated) {
        return Some(("It takes the role elevated, which your groups do not give.".to_owned(), None));
    }
    let form = ElevateForm {
        cluster: entry.id.to_string(),
        rights: Rights::Write.name().to_owned(),
        ..ElevateForm::default()
    };
    Some((
        "You are not elevated to write on this cluster.".to_owned(),
        Some(Link::new("Elevate first", form.href())),
    ))
}
