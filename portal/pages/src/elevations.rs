//! `/elevations`: who waits, who is elevated, what is to be reviewed; and the banner.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::extract::{Query, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::state::PortalState;
use portal_session::context::{Ctx, ResponseKind};
use portal_session::fault::Fault;
use portal_session::return_path::own_path;
use portal_session::user::CurrentUser;
use rp_access::ElevationFilter;
use rp_base::Timestamp;
use rp_documents::elevation::{ElevationMethod, ElevationState};
use rp_documents::{Elevation, Role};
use serde::Deserialize;
use web::{ElevationRow, ElevationsPage, Link, NavItem, Notice, Tone};

use crate::answer::html;
use crate::answer::{answer, unchanged};
use crate::frame::frame;
use crate::poll::{PollQuery, poll_address};
use crate::rows;

pub const HOME: &str = "/elevations";
/// Rows of each list.
const ROWS: usize = 100;
/// One's own.
const OWN: usize = 25;

/// An elevation as a row, with what this person may do about it.
pub fn row(elevation: &Elevation, user: &CurrentUser, now: Timestamp) -> ElevationRow {
    let state = elevation.state(now);
    let mine = elevation.owner.sub == user.caller.person.sub;
    let approver = user.has(Role::Approver);
    let open = matches!(state, ElevationState::Waiting | ElevationState::Active);
    let named = |name: &str| if name == user.caller.person.name { "you".to_owned() } else { name.to_owned() };
    let words = |why: &Option<String>| why.clone().unwrap_or_default();
    ElevationRow {
        id: elevation.id.to_string(),
        person: elevation.owner.name.clone(),
        mine,
        rights: rows::rights(elevation.rights),
        cluster: elevation.target.as_ref().map(|id| Link::new(id.name(), id.key())),
        way: match elevation.way {
            ElevationMethod::SelfService => web::ElevationMethod::SelfService,
            ElevationMethod::Approval => web::ElevationMethod::Approval,
            ElevationMethod::BreakGlass => web::ElevationMethod::BreakGlass,
        },
        state: match state {
            ElevationState::Waiting => web::ElevationState::Waiting,
            ElevationState::Lapsed => web::ElevationState::Lapsed,
            ElevationState::Refused => web::ElevationState::Refused,
            ElevationState::Active => web::ElevationState::Active,
            ElevationState::Expired => web::ElevationState::Expired,
            ElevationState::Ended => web::ElevationState::Ended,
        },
        reason: elevation.reason.clone(),
        ticket: elevation.ticket.clone().unwrap_or_default(),
        asked: elevation.asked.seconds(),
        life: elevation.life_secs,
        lapses: (elevation.asked + Elevation::REQUEST_LIFE).seconds(),
        ends: elevation.not_after.map(Timestamp::seconds),
        finished: finished(elevation, state).map(Timestamp::seconds),
        decided: elevation.decision.as_ref().map(|d| (named(&d.by.name), words(&d.why))),
        ended: elevation.ended.as_ref().map(|end| (named(&end.by), words(&end.why))),
        review: elevation.review.as_ref().map(|r| (named(&r.by.name), r.fine, r.note.clone())),
        may_decide: approver && !mine && state == ElevationState::Waiting,
        may_end: open
            && (mine || approver || user.has(Role::Admin))
            && (mine || state == ElevationState::Active),
        may_review: !mine
            && (approver || user.has(Role::Auditor))
            && elevation.needs_review()
            && elevation.not_before.is_some(),
    }
}

/// When an elevation lapsed, was refused, expired or was ended; none while it waits or is in force.
fn finished(elevation: &Elevation, state: ElevationState) -> Option<Timestamp> {
    match state {
        ElevationState::Waiting | ElevationState::Active => None,
        ElevationState::Lapsed => Some(elevation.asked + Elevation::REQUEST_LIFE),
        ElevationState::Refused => elevation.decision.as_ref().map(|decision| decision.at),
        ElevationState::Expired => elevation.not_after,
        ElevationState::Ended => elevation.ended.as_ref().map(|ended| ended.at),
    }
}

/// The query of the page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ElevationsQuery {
    /// The digest of what the page shows.
    seen: String,
    /// Path and query of the page that a requested elevation is for; empty: none.
    back: String,
}

/// All that concerns this person.
pub async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Query(query): Query<ElevationsQuery>,
) -> Result<Response, Fault> {
    let mut frame = frame(&state, &context);
    frame.place = NavItem::Elevations;
    let notice = own_path(&query.back).map(|back| Notice {
        tone: Tone::Mute,
        lead: "Continue where you were when your request is approved.".to_owned(),
        text: "Reason and ticket are kept.".to_owned(),
        action: Some(Link::new("Continue", back)),
    });
    let mut page = ElevationsPage { frame, notice, ..ElevationsPage::default() };
    match fill(&state, &user, &mut page).await {
        Ok(digest) if context.wants == ResponseKind::Fragment && digest == query.seen => {
            return Ok(unchanged());
        }
        Ok(digest) => page.live = poll_address(HOME, &digest),
        Err(fault) => page.failure = Some(fault.failure(&page.frame)),
    }
    let mut response = answer(&context, StatusCode::OK, &page)?;
    // The list may have changed because an elevation began or ended: the banner reloads too.
    response.headers_mut().insert("hx-trigger-after-swap", http::HeaderValue::from_static("banner"));
    Ok(response)
}

async fn fill(state: &PortalState, user: &CurrentUser, page: &mut ElevationsPage) -> Result<String, Fault> {
    let now = state.session.clock.now();
    let own = user.caller.person.sub.clone();
    let mut hasher = DefaultHasher::new();
    let mut read = async |filter: ElevationFilter| -> Result<Vec<ElevationRow>, Fault> {
        let found = state.session.access.elevations(&filter).await.map_err(|error| Fault::store(&error))?;
        for each in &found {
            (each.id.as_str(), each.state(now).name(), each.review.is_some()).hash(&mut hasher);
        }
        found.len().hash(&mut hasher);
        Ok(found.iter().map(|each| row(each, user, now)).collect())
    };
    let (approver, auditor) = (user.has(Role::Approver), user.has(Role::Auditor));
    if approver {
        page.waiting =
            read(ElevationFilter { waiting_only: true, limit: ROWS, ..ElevationFilter::default() }).await?;
        page.waiting.sort_by_key(|each| each.asked);
        page.frame.waiting = u64::try_from(page.waiting.iter().filter(|each| !each.mine).count()).ok();
    }
    if approver || auditor {
        let filter = ElevationFilter { unreviewed_only: true, limit: ROWS, ..ElevationFilter::default() };
        page.unreviewed = read(filter).await?;
    }
    if approver || auditor || user.has(Role::Admin) {
        let filter = ElevationFilter { active_only: true, limit: ROWS, ..ElevationFilter::default() };
        page.others = read(filter).await?.into_iter().filter(|each| !each.mine).collect();
    }
    let filter = ElevationFilter { owner_sub: Some(own), limit: OWN, ..ElevationFilter::default() };
    page.mine = read(filter).await?;
    if approver {
        // Waiting requests are listed above already.
        page.mine.retain(|each| each.state != web::ElevationState::Waiting);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// The banner alone; 204 when the client already has it.
pub async fn banner(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    Query(query): Query<PollQuery>,
) -> Result<Response, Fault> {
    let frame = frame(&state, &context);
    if frame.elevated() == query.seen {
        return Ok(unchanged());
    }
    web::banner(&frame).map(html).map_err(|_| Fault::internal())
}
