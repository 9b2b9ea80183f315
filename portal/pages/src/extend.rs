//! `/access/{id}/extend`: the confirmation dialog, and the extension of one grant.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::grant_fields::parse;
use portal_model::state::PortalState;
use portal_session::context::{Context, Ctx};
use portal_session::fault::Fault;
use portal_session::flash::Flash;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::GrantView;
use rp_base::Timestamp;
use rp_documents::elevation::ElevationState;
use rp_documents::grant::GrantState;
use web::{ConfirmChoices, ConfirmPage, Link, NavItem};

use crate::answer::answer;
use crate::confirm::{DialogForm, back_to, done, question, refused};
use crate::frame::frame;
use crate::revoke::{HOME, about, view};
use crate::rows;

/// The latest end that a grant may be given.
fn latest(state: &PortalState, view: &GrantView) -> Timestamp {
    let now = state.session.clock.now();
    let latest = view.grant.created + state.session.access.policy().access.max_total_life;
    let active = view.elevation.as_ref().filter(|each| each.state(now) == ElevationState::Active);
    active.and_then(|each| each.not_after).map_or(latest, |end| latest.min(end))
}

/// The longest life from now that it can be given, in seconds: whole minutes.
fn longest(state: &PortalState, view: &GrantView) -> u64 {
    let left = latest(state, view).since(state.session.clock.now());
    // The policy counts from the time of the POST: this leaves some seconds for it.
    left.saturating_sub(Duration::from_secs(120)).as_secs() / 60 * 60
}

/// Whether it can be made to live longer: it is not offered where it would be refused.
pub(crate) fn is_possible(state: &PortalState, view: &GrantView) -> bool {
    longest(state, view) > view.grant.not_after.since(state.session.clock.now()).as_secs()
}

fn extend_page(state: &PortalState, context: &Context, user: &CurrentUser, view: &GrantView) -> ConfirmPage {
    let (now, grant) = (state.session.clock.now(), &view.grant);
    let latest = latest(state, view);
    let left = grant.not_after.since(now);
    let most = longest(state, view);
    let mut lives: Vec<u64> = [3600, 4 * 3600, 8 * 3600]
        .into_iter()
        .filter(|life| *life < most && *life > left.as_secs())
        .collect();
    if most > left.as_secs() {
        lives.push(most);
    }
    let values: Vec<(String, String)> = lives
        .iter()
        .map(|life| {
            let words = web::when::span(i64::try_from(*life).unwrap_or(i64::MAX));
            (life.to_string(), if *life == most { format!("{words} (maximum)") } else { words })
        })
        .collect();
    let end = web::when::exact(latest.seconds());
    let mut page = ConfirmPage {
        name: "extend",
        icon: "clock",
        title: format!("Extend this {}?", rows::kind(grant.kind).words().to_lowercase()),
        text: vec![format!(
            "It ends {}, and may live until {end} at most.",
            web::when::coming(grant.not_after.seconds(), now.seconds())
        )],
        facts: about(view, user),
        command: format!("aro grants extend {} --life 4h", grant.id),
        action: format!("/access/{}/extend", grant.id),
        submit: "Extend".to_owned(),
        running: "Extending…".to_owned(),
        ..question(frame(state, context), NavItem::Access, Link::new("Access", back_to(context, HOME)))
    };
    if values.is_empty() {
        let fault = Fault::new(
            StatusCode::CONFLICT,
            "at_the_most",
            rp_documents::Side::You,
            "Already at its maximum",
        )
        .why(format!("It may live until {end} at most, which it does. Take a new one when it ends."));
        page.failure = Some(fault.failure(&page.frame));
    }
    let chosen = values.first().map(|(value, _)| value.clone()).unwrap_or_default();
    let legend = "From now on for".to_owned();
    page.choices = Some(ConfirmChoices { legend, name: "life", values, chosen, error: None });
    page
}

/// Asks how long to extend one.
pub async fn extend_dialog(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let view = view(&state, &user, &id).await?;
    let page = extend_page(&state, &context, &user, &view);
    if view.grant.owner.sub != user.caller.person.sub {
        return refused(&context, page, refusals::extend(&rp_access::ExtendError::NotYours));
    }
    if view.state != GrantState::Active {
        return refused(&context, page, refusals::extend(&rp_access::ExtendError::Ended));
    }
    answer(&context, StatusCode::OK, &page)
}

/// Moves the end of one of my grants.
pub async fn extend(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Fault> {
    let answered = DialogForm::read(&body);
    let life = answered.life.parse().map(Duration::from_secs).unwrap_or_default();
    match state.session.access.extend(&user.caller, &parse(&id)?, life).await {
        Ok(_) => Ok(done(&answered, HOME, Flash::Extended)),
        Err(error) => {
            let fault = refusals::extend(&error);
            let Ok(view) = view(&state, &user, &id).await else { return Err(fault) };
            let mut page = extend_page(&state, &context, &user, &view);
            page.back.href = portal_session::return_path::return_path(Some(&answered.back));
            refused(&context, page, fault)
        }
    }
}
