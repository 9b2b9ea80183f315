//! `/elevate`: asks for rights above read-only, or takes them by break-glass.

use std::time::Duration;

use axum::extract::{Form, Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx, ResponseKind};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::refusals;
use portal_session::refusals::sentence;
use portal_session::return_path::own_path;
use portal_session::user::{CurrentUser, missing_with_groups};
use rp_access::{ElevationError, ElevationRequest};
use rp_documents::elevation::ElevationMethod;
use rp_documents::{Elevation, ResourceId, Rights, Role};
use web::{ElevateChoice, ElevateErrors, ElevateForm, ElevatePage, Link, NavItem};

use crate::answer::{answer, see_other};
use crate::elevations;
use crate::frame::frame;
use crate::rows;

/// The parameters of a page that take the reason and ticket of the elevation that it needs, see [`ElevateForm::back`].
pub(crate) const CARRIED: &str = "reason=&ticket=";

/// Lengths of life to choose from, up to what the policy allows.
fn lives(state: &PortalState) -> Vec<u64> {
    let most = state.session.access.policy().elevation.max_life.as_secs();
    let mut lives: Vec<u64> = [1800, 3600, 7200, most].into_iter().filter(|life| *life <= most).collect();
    lives.sort_unstable();
    lives.dedup();
    lives
}

fn page(state: &PortalState, context: &Context, user: &CurrentUser, form: ElevateForm) -> ElevatePage {
    let policy = state.session.access.policy();
    let mut frame = frame(state, context);
    frame.place = NavItem::Elevations;
    let choice = |rights| ElevateChoice {
        rights: rows::rights(rights),
        alone: policy.is_self_service(&user.caller.person.groups, rights),
    };
    let failure =
        (!user.has(Role::Elevated)).then(|| missing_with_groups(Role::Elevated, policy).failure(&frame));
    let stale = form.breaks_glass() && user.require_fresh(&state.session, &context.came_from).is_err();
    let again = || {
        let back = web::text::encode(&form.href()).replace("%2F", "/");
        Link::new("Sign in again", format!("/api/login?fresh=1&redirect_uri={back}"))
    };
    ElevatePage {
        choices: [Rights::Write, Rights::Admin].map(choice).into(),
        lives: lives(state),
        break_glass: policy.elevation.break_glass,
        sign_in_again: stale.then(again),
        request_minutes: Elevation::REQUEST_LIFE.as_secs() / 60,
        errors: ElevateErrors::default(),
        failure,
        form,
        frame,
    }
}

/// The form, filled in as the address says.
pub async fn form(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(form): Query<ElevateForm>,
) -> Result<Response, Fault> {
    let page = page(&state, &context, &user, form);
    let status = if page.failure.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
    answer(&context, status, &page)
}

/// What is asked for, or what is wrong with each field.
fn ask(state: &PortalState, form: &ElevateForm) -> Result<ElevationRequest, Box<ElevateErrors>> {
    let mut errors = ElevateErrors::default();
    let target = target(state, form, &mut errors);
    let rights = match form.rights.as_str() {
        "" | "write" => Rights::Write,
        "admin" => Rights::Admin,
        _ => {
            errors.rights = Some("Choose write or admin.".to_owned());
            Rights::Write
        }
    };
    let life = match form.life.trim() {
        "" => lives(state).get(1).copied().map(Duration::from_secs),
        text => text.parse().ok().map(Duration::from_secs).or_else(|| {
            errors.life = Some("Choose how long.".to_owned());
            None
        }),
    };
    if form.breaks_glass() && form.understood != "yes" {
        errors.understood = Some("Tick it, or ask for approval instead.".to_owned());
    }
    if errors.any() {
        return Err(Box::new(errors));
    }
    let ticket = form.ticket.trim();
    Ok(ElevationRequest {
        reason: form.reason.clone(),
        ticket: (!ticket.is_empty()).then(|| ticket.to_owned()),
        target,
        rights,
        life,
        break_glass: form.breaks_glass(),
    })
}

fn target(state: &PortalState, form: &ElevateForm, errors: &mut ElevateErrors) -> Option<ResourceId> {
    if form.everywhere() {
        return None;
    }
    let text = form.cluster.trim();
    if text.is_empty() {
        errors.cluster = Some("Name the cluster, or tick every cluster.".to_owned());
        return None;
    }
    let snapshot = state.model.index.snapshot();
    let found = portal_model::named_cluster::cluster(state, text).filter(|id| snapshot.get(id).is_some());
    if found.is_none() {
        let nearest = crate::clusters::nearest(text, &snapshot);
        let nearest = nearest.map(|link| format!(" Nearest: {}.", link.text)).unwrap_or_default();
        errors.cluster =
            Some(format!("No cluster of this region has this name or resource ID, or several do.{nearest}"));
    }
    found
}

/// Requests an elevation, or takes it immediately.
pub async fn post(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Form(mut form): Form<ElevateForm>,
) -> Result<Response, Fault> {
    let turn = std::mem::take(&mut form.turn);
    if !turn.is_empty() {
        form.way = if turn == "break-glass" { turn } else { String::new() };
        return answer(&context, StatusCode::OK, &page(&state, &context, &user, form));
    }
    let asked = match ask(&state, &form) {
        Ok(asked) => asked,
        Err(errors) => return form_with_errors(&state, &context, &user, form, *errors),
    };
    if asked.break_glass
        && let Err(fault) = user.require_fresh(&state.session, &context.came_from)
    {
        return refused(&state, &context, &user, form, fault);
    }
    match state.session.access.request_elevation(&user.caller, asked).await {
        Ok(given) => Ok(redirect_after(&given, &form)),
        Err(error) => {
            let mut errors = ElevateErrors::default();
            match &error {
                ElevationError::Reason { .. } => errors.reason = Some(sentence(&error)),
                ElevationError::Ticket { .. } => errors.ticket = Some(sentence(&error)),
                ElevationError::Life { .. } => errors.life = Some(sentence(&error)),
                ElevationError::Rights => errors.rights = Some(sentence(&error)),
                _ => return refused(&state, &context, &user, form, refusals::elevation(&error)),
            }
            form_with_errors(&state, &context, &user, form, errors)
        }
    }
}

/// The page to go on to, with reason and ticket in those of its parameters that are named empty; `None`: there is none, or
/// it is not of this portal.
fn going_on(form: &ElevateForm) -> Option<String> {
    let own = own_path(&form.back)?;
    let own = own.split_once('#').map_or(own, |(page, _)| page);
    let Some((path, query)) = own.split_once('?') else { return Some(own.to_owned()) };
    let filled = |reason: &str| {
        let mut url = web::Query::new(path);
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let value = match (name.as_ref(), value.as_ref()) {
                ("reason", "") => reason.trim(),
                ("ticket", "") => form.ticket.trim(),
                (_, value) => value,
            };
            url.add(&web::text::encode(&name), value);
        }
        url.done()
    };
    // A reason that is too long for an address is left out.
    let whole = filled(&form.reason);
    Some(if own_path(&whole).is_some() { whole } else { filled("") })
}

/// Redirects to where the person was going, or to the cluster, when they are elevated; else to the list, which leads there
/// later.
fn redirect_after(given: &Elevation, form: &ElevateForm) -> Response {
    let flash = match given.way {
        ElevationMethod::Approval => Flash::ElevationRequested,
        ElevationMethod::SelfService => Flash::Elevated,
        ElevationMethod::BreakGlass => Flash::BrokeGlass,
    };
    let next = going_on(form);
    let to = if given.way == ElevationMethod::Approval {
        let mut list = web::Query::new(elevations::HOME);
        list.add("back", &next.unwrap_or_default());
        list.done()
    } else {
        next.unwrap_or_else(|| given.target.as_ref().map_or(elevations::HOME, ResourceId::key).to_owned())
    };
    flash.set_cookie_on(see_other(&to))
}

fn form_with_errors(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    form: ElevateForm,
    errors: ElevateErrors,
) -> Result<Response, Fault> {
    let page = ElevatePage { errors, ..page(state, context, user, form) };
    answer(context, StatusCode::UNPROCESSABLE_ENTITY, &page)
}

fn refused(
    state: &PortalState,
    context: &Context,
    user: &CurrentUser,
    form: ElevateForm,
    fault: Fault,
) -> Result<Response, Fault> {
    if context.wants == ResponseKind::Json {
        return Err(fault);
    }
    let mut page = page(state, context, user, form);
    // The form already has the link to sign in again, with the typed values.
    if page.sign_in_again.is_none() || fault.code != "sign_in_again" {
        page.errors.form = Some(fault.failure(&page.frame));
    }
    answer(context, fault.status, &page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(back: &str, reason: &str) -> Option<String> {
        let form = ElevateForm {
            back: back.to_owned(),
            reason: reason.to_owned(),
            ticket: " INC-7 ".to_owned(),
            ..ElevateForm::default()
        };
        going_on(&form)
    }

    #[test]
    fn the_page_to_go_on_to_takes_reason_and_ticket_where_it_asks_for_them() {
        let dialog = to("/a/kubeconfig?rights=write&reason=&ticket=#x", "delete a stuck & bad pod");
        let filled = "/a/kubeconfig?rights=write&reason=delete%20a%20stuck%20%26%20bad%20pod&ticket=INC-7";
        assert_eq!(dialog.as_deref(), Some(filled));
        assert_eq!(to("/a/nodes?sort=age", "why").as_deref(), Some("/a/nodes?sort=age"), "it does not ask");
        assert_eq!(
            to("/a/ssh?reason=mine&ticket=", "why").as_deref(),
            Some("/a/ssh?reason=mine&ticket=INC-7")
        );
        assert_eq!(to("/a/nodes", "why").as_deref(), Some("/a/nodes"));
        let long = to("/a/ssh?reason=&ticket=", &"ä".repeat(900));
        assert_eq!(long.as_deref(), Some("/a/ssh?ticket=INC-7"), "an address has a limit");
    }

    #[test]
    fn only_pages_of_this_portal_are_gone_on_to() {
        for back in ["", "https://evil.example/", "//evil.example", "/\\evil.example", "/api/logout", "a/b"] {
            assert_eq!(to(back, "why"), None, "{back}");
        }
    }
}
