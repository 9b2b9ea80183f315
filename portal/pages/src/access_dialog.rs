//! What the dialogs of all kinds of access have in common: who may have it, what is asked, how the posted form is read, and
//! where it is shown what is wrong with it. A terminal asks the same question on its own page.

use std::time::Duration;

use portal_model::access_offer::{AccessOffer, Lack};
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::Context;
use portal_session::fault::Fault;
use portal_session::refusals::sentence;
use rp_access::IssueError;
use rp_documents::Rights;
use web::{
    AccessDialog, AccessDialogKind, AccessErrors, AccessForm, AccessQuestion, ElevateForm, Frame, Link,
    NavItem,
};

use crate::frame::frame;

/// The dialog of a kind of access before anything was filled in, or what stands in its place.
pub fn dialog(
    state: &PortalState,
    context: &Context,
    entry: &Entry,
    offer: &AccessOffer,
    kind: AccessDialogKind,
) -> AccessDialog {
    let frame = Frame { place: NavItem::Clusters, ..frame(state, context) };
    AccessDialog {
        cluster: entry.id.name().to_owned(),
        path: entry.path(),
        question: question(entry, offer),
        kind,
        given: None,
        failure: offer.refusal.map(|refusal| refusal.fault().failure(&frame)),
        frame,
    }
}

/// What is asked before an access is given, whatever its kind.
pub fn question(entry: &Entry, offer: &AccessOffer) -> AccessQuestion {
    let barred = offer.barred().map(|(rights, lack)| match lack {
        Lack::Role => ("It takes the role elevated, which your groups do not give.".to_owned(), None),
        Lack::Elevation => {
            let (why, way) = elevate_first(entry, rights);
            (why, Some(way))
        }
    });
    AccessQuestion { barred, lives: offer.lives.clone(), ..AccessQuestion::default() }
}

/// That the person has to elevate first, and the form that does it, filled in.
pub fn elevate_first(entry: &Entry, rights: Rights) -> (String, Link) {
    let form = ElevateForm {
        cluster: entry.id.to_string(),
        rights: rights.name().to_owned(),
        ..ElevateForm::default()
    };
    let why = format!("You are not elevated to {} on this cluster.", rights.name());
    (why, Link::new("Elevate first", form.href()))
}

/// The fields of a posted form by name; unknown ones are ignored, the last of a name wins.
///
/// # Errors
/// The body is no text.
pub fn read_form(body: &[u8]) -> Result<AccessForm, Fault> {
    if std::str::from_utf8(body).is_err() {
        return Err(Fault::bad_input("The form cannot be read"));
    }
    let mut form = AccessForm::default();
    for (name, value) in url::form_urlencoded::parse(body) {
        let field = match name.as_ref() {
            "rights" => &mut form.rights,
            "machine" => &mut form.machine,
            "life" => &mut form.life,
            "reason" => &mut form.reason,
            "ticket" => &mut form.ticket,
            "agent_forwarding" => &mut form.agent_forwarding,
            "destinations" => &mut form.destinations,
            _ => continue,
        };
        *field = value.into_owned();
    }
    Ok(form)
}

/// The length of life that was filled in; `None`: the default.
pub fn life(form: &AccessForm, errors: &mut AccessErrors) -> Option<Duration> {
    let text = form.life.trim();
    if text.is_empty() {
        return None;
    }
    let life = text.parse().ok().map(Duration::from_secs);
    if life.is_none() {
        errors.life = Some("A number of seconds.".to_owned());
    }
    life
}

/// The ticket that was filled in.
pub fn ticket(form: &AccessForm) -> Option<String> {
    Some(form.ticket.trim().to_owned()).filter(|ticket| !ticket.is_empty())
}

/// The destinations that were filled in, each as it was written.
pub fn destinations(form: &AccessForm) -> impl Iterator<Item = &str> {
    form.destinations.split([',', ' ', '\t', '\r', '\n']).filter(|word| !word.is_empty())
}

/// Says beside its field why an access was not given; `false`: it is about none of the fields that every kind has.
pub fn shown_at_field(errors: &mut AccessErrors, error: &IssueError) -> bool {
    let field = match error {
        IssueError::Reason { .. } => &mut errors.reason,
        IssueError::Ticket { .. } => &mut errors.ticket,
        IssueError::Life { .. } => &mut errors.life,
        IssueError::NotAllowed { .. }
        | IssueError::ElevationNeeded { .. }
        | IssueError::OutOfScope { .. }
        | IssueError::TooMany { .. }
        | IssueError::TooOften(_)
        | IssueError::Store(_)
        | IssueError::Audit(_)
        | IssueError::NoKey => return false,
    };
    *field = Some(sentence(error));
    true
}
