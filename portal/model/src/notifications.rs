//! Tests of destinations of notifications, for pages and JSON alike.

use http::StatusCode;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use rp_base::text::clean;
use rp_documents::Side;
use rp_notify::UnknownDestination;

use crate::saved::record;
use crate::state::PortalState;

/// Records a test for a destination, on the record before; the sender sends it. Gives the id of the notification.
///
/// # Errors
/// No destination has the name; the audit trail or the store did not answer.
pub async fn send_test(state: &PortalState, user: &CurrentUser, destination: &str) -> Result<String, Fault> {
    let name = clean(destination, 40);
    if !state.model.notifications.has(destination) {
        return Err(unknown(&name));
    }
    record(state, user, "notification.test", &name, "", None).await?;
    let by = &user.caller.person.name;
    state.model.notifications.test(destination, by).await.map_err(|error| match error {
        UnknownDestination::Name => unknown(&name),
        UnknownDestination::Store(error) => Fault::store(&error),
    })
}

fn unknown(name: &str) -> Fault {
    let what = format!("No destination is named {name}");
    Fault::new(StatusCode::NOT_FOUND, "destination_not_found", Side::You, what)
        .why("Destinations are named in the settings, in notify.destinations.")
        .action("Choose one of the list.")
        .link("Open notifications", "/notifications")
}
