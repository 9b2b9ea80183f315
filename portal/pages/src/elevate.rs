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
use portal_session::user::{CurrentUser, missing_with_groups};
use rp_access::{ElevationError, ElevationRequest};
use rp_documents::elevation::ElevationMethod;
use rp_documents::{Elevation, ResourceId, Rights, Role};
use web::{ElevateChoice, ElevateErrors, ElevateForm, ElevatePage, Link, NavItem};

use crate::answer::{answer, see_other};
use crate::frame::frame;
use crate::rows;

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
        errors.cluster = Some(format!("No single cluster of this region is called so.{nearest}"));
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
        Ok(given) => Ok(redirect_after(&given)),
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

/// Redirects to the cluster when the person is elevated for it, else to the list.
fn redirect_after(given: &Elevation) -> Response {
    let flash = match given.way {
        ElevationMethod::Approval => Flash::ElevationRequested,
        ElevationMethod::SelfService => Flash::Elevated,
        ElevationMethod::BreakGlass => Flash::BrokeGlass,
    };
    let there = given.target.as_ref().filter(|_| given.way != ElevationMethod::Approval);
    flash.set_cookie_on(see_other(there.map_or("/elevations", ResourceId::key)))
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
