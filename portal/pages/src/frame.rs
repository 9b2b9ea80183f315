//! What is around every page.

use std::sync::Arc;

use portal_model::index::Entry;
use portal_model::state::PortalState;
use portal_session::context::Context;
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::user::CurrentUser;
use rp_documents::elevation::ElevationMethod;
use rp_documents::{ResourceId, Role};
use web::{Elevation, Frame, Link, NavItem, Notice, Person, Tone};

use crate::rows;

/// The cluster that a page is about, and the page's frame.
///
/// # Errors
/// There is no such cluster.
pub fn place(state: &PortalState, context: &Context, id: &ResourceId) -> Result<(Arc<Entry>, Frame), Fault> {
    let entry = state.model.index.snapshot().get(id).cloned().ok_or_else(Fault::no_cluster)?;
    let frame = Frame { place: NavItem::Clusters, ..frame(state, context) };
    Ok((entry, frame))
}

/// What is around every page. Works before sign-in too.
pub fn frame(state: &PortalState, context: &Context) -> Frame {
    let user = context.user.get();
    let clusters = u64::try_from(state.model.index.snapshot().entries.len()).ok();
    let mut notices = Vec::new();
    if state.model.index.stale().is_some() {
        notices.push(Notice {
            tone: Tone::Warn,
            lead: "The store does not answer.".to_owned(),
            text: "What you see may be old, and nothing can be changed now.".to_owned(),
            action: None,
        });
    }
    Frame {
        region: state.session.site.region.clone(),
        now: state.session.clock.now().seconds(),
        person: user.map(person),
        csrf: user.map(|user| user.csrf.clone()).unwrap_or_default(),
        request_id: context.id.to_string(),
        path: context.target.clone(),
        place: NavItem::Elsewhere,
        clusters: user.and(clusters),
        grants: None,
        regions: state.session.site.regions.iter().map(|link| Link::new(&link.text, &link.url)).collect(),
        simulated: state.session.site.simulated,
        elevations: user.map(|user| elevated(state, user)).unwrap_or_default(),
        waiting: user.filter(|user| user.has(Role::Approver)).map(|user| {
            let now = state.session.clock.now();
            state.model.index.snapshot().waiting_for(&user.caller.person.sub, now)
        }),
        notices,
        toasts: context.flash.map(Flash::notice).into_iter().collect(),
        session_ended: false,
    }
}

/// The person's elevations in force, the one that gives most first.
fn elevated(state: &PortalState, user: &CurrentUser) -> Vec<Elevation> {
    let mut active = state.session.access.active_elevations(&user.caller.person.sub);
    active.sort_by_key(|each| (std::cmp::Reverse(each.rights), each.target.is_some()));
    let shown = active.iter().map(|each| Elevation {
        id: each.id.to_string(),
        rights: rows::rights(each.rights),
        cluster: each.target.as_ref().map(|id| Link::new(id.name(), id.key())),
        break_glass: each.way == ElevationMethod::BreakGlass,
        reason: each.reason.clone(),
        ticket: each.ticket.clone().unwrap_or_default(),
        approved_by: each.decision.as_ref().map(|decision| decision.by.name.clone()).unwrap_or_default(),
        since: each.not_before.unwrap_or(each.asked).seconds(),
        until: each.not_after.unwrap_or(each.asked).seconds(),
    });
    shown.collect()
}

fn person(user: &CurrentUser) -> Person {
    let person = &user.caller.person;
    Person {
        name: person.name.clone(),
        account: person.name.clone(),
        roles: user.caller.roles.iter().map(|role| role.name().to_owned()).collect(),
        may_take: user.has(Role::Sre),
        may_audit: user.has(Role::Auditor),
        may_import: user.has(Role::Admin),
        may_elevate: user.has(Role::Elevated),
        may_approve: user.has(Role::Approver),
        may_admin: user.has(Role::Admin),
    }
}
