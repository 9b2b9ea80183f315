//! Whether a person may open a shell, or a way to a machine, in a cluster: the pages that do ask before they offer it.

use rp_documents::{Rights, Role};
use web::{ElevateForm, Link};

use crate::index::Entry;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// Why no access can be given now, and the way to change that; `None`: it can.
pub(super) async fn barred(
    state: &PortalState,
    user: &CurrentUser,
    entry: &Entry,
) -> Option<(String, Option<Link>)> {
    // Where the store does not answer, the way on is the same as without an elevation; taking the access tells why.
    if state.0.access.is_elevated(&user.caller, &entry.id, Rights::Write).await.unwrap_or_default() {
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
