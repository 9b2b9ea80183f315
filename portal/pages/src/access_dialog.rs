//! What the dialogs of all kinds of access have in common: who may have it, what is asked, how the posted form is read, and
//! where it is shown what is wrong with it. A terminal asks the same question on its own page.

use std::time::Duration;

use portal_model::access_offer::{AccessOffer, Lack};
use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::Context;
use portal_session::fault::Fault;
use portal_session::refusals::{ELEVATION_NEEDED, sentence};
use portal_session::user::lacking;
use rp_access::IssueError;
use rp_documents::{Rights, Role};
use web::{
    AccessDialog, AccessDialogKind, AccessErrors, AccessForm, AccessQuestion, ElevateForm, Frame, Link,
    NavItem,
};

use crate::frame::frame;

/// The dialog of a kind of access before anything was filled in, or what stands in its place.
pub(crate) fn dialog(
    state: &PortalState,
    context: &Context,
    entry: &Entry,
    offer: &AccessOffer,
    kind: AccessDialogKind,
) -> AccessDialog {
    let frame = Frame { place: NavItem::Clusters, ..frame(state, context) };
    let back = address(entry, kind.segment(), None);
    AccessDialog {
        cluster: entry.id.name().to_owned(),
        path: entry.path(),
        question: question(state, entry, offer, &back),
        kind,
        given: None,
        failure: offer.refusal.map(|refusal| refusal.fault(state.session.access.policy()).failure(&frame)),
        frame,
    }
}

/// What is asked before an access is given, whatever its kind.
pub(crate) fn question(
    state: &PortalState,
    entry: &Entry,
    offer: &AccessOffer,
    back: &str,
) -> AccessQuestion {
    let barred = offer.barred().map(|(rights, lack)| what_is_missing(state, entry, rights, lack, back));
    AccessQuestion { barred, lives: offer.lives.clone(), ..AccessQuestion::default() }
}

/// Address of the form of an access, which takes the reason and ticket of an elevation.
pub(crate) fn address(entry: &Entry, segment: &str, rights: Option<Rights>) -> String {
    let rights = rights.map(|rights| format!("rights={}&", rights.name())).unwrap_or_default();
    format!("{}/{segment}?{rights}{}", entry.path(), crate::elevate::CARRIED)
}

/// What a person lacks for rights on a cluster, and the way to it. `back` is the address to go on to, as in
/// [`ElevateForm::back`].
pub(crate) fn what_is_missing(
    state: &PortalState,
    entry: &Entry,
    rights: Rights,
    lack: Lack,
    back: &str,
) -> (String, Option<Link>) {
    match lack {
        Lack::Role => (lacking(Role::Elevated, "", state.session.access.policy()), None),
        Lack::Elevation => {
            let (why, way) = elevate_first(entry, rights, back);
            (why, Some(way))
        }
    }
}

/// That the person has to elevate first, and the form that does it, filled in.
pub(crate) fn elevate_first(entry: &Entry, rights: Rights, back: &str) -> (String, Link) {
    let form = ElevateForm {
        cluster: entry.id.to_string(),
        rights: rights.name().to_owned(),
        back: back.to_owned(),
        ..ElevateForm::default()
    };
    let why = format!("You are not elevated to {} on this cluster.", rights.name());
    (why, Link::new("Elevate first", form.href()))
}

/// The fault; a missing elevation leads to the form that gives it, and from there to `back`.
pub(crate) fn with_way(mut fault: Fault, entry: &Entry, rights: Rights, back: &str) -> Fault {
    if fault.code == ELEVATION_NEEDED {
        let (_, way) = elevate_first(entry, rights, back);
        fault.links = vec![(way.text, way.href)];
    }
    fault
}

/// The fields of a posted form, or of a query, by name; those that the form of the kind does not have are ignored, the last of
/// a name wins. `to` is another name of `destinations`.
///
/// # Errors
/// The body is no text.
pub(crate) fn read_form(body: &[u8], fields: &[&str]) -> Result<AccessForm, Fault> {
    if std::str::from_utf8(body).is_err() {
        return Err(Fault::bad_input("The form cannot be read"));
    }
    let mut form = AccessForm::default();
    for (name, value) in url::form_urlencoded::parse(body) {
        let name = if name == "to" { "destinations" } else { name.as_ref() };
        if !fields.contains(&name) {
            continue;
        }
        let field = match name {
            "rights" => &mut form.rights,
            "namespace" => &mut form.namespace,
            "pod" => &mut form.pod,
            "container" => &mut form.container,
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
pub(crate) fn life(form: &AccessForm, errors: &mut AccessErrors) -> Option<Duration> {
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
pub(crate) fn ticket(form: &AccessForm) -> Option<String> {
    Some(form.ticket.trim().to_owned()).filter(|ticket| !ticket.is_empty())
}

/// The destinations that were filled in, each as it was written.
pub(crate) fn destinations(form: &AccessForm) -> impl Iterator<Item = &str> {
    form.destinations.split([',', ' ', '\t', '\r', '\n']).filter(|word| !word.is_empty())
}

/// Says beside its field why an access was not given; `false`: it is about none of the fields that every kind has.
pub(crate) fn shown_at_field(errors: &mut AccessErrors, error: &IssueError) -> bool {
    let field = match error {
        IssueError::Rights { .. } => &mut errors.rights,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_the_fields_of_its_kind() {
        let read = |text: &str, fields: &[&str]| read_form(text.as_bytes(), fields).unwrap();
        let all = "csrf_token=x&life=3600&machine=master-0&reason=first&reason=the+last+wins";
        let form = read(all, &["life", "reason"]);
        assert_eq!((&*form.life, &*form.machine, &*form.reason), ("3600", "", "the last wins"));
        assert_eq!(read("machine=master-0", &["life", "reason"]), AccessForm::default(), "it is empty");
        assert_eq!(read("machine=master-0", &["machine"]).machine, "master-0");
        for query in ["to=a.example%3A443", "destinations=a.example:443"] {
            assert_eq!(read(query, &["destinations"]).destinations, "a.example:443", "{query}");
            assert_eq!(read(query, &["reason"]), AccessForm::default(), "{query}");
        }
        assert!(read_form(b"reason=\xff", &["reason"]).is_err());
    }
}
