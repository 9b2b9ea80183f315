//! `/api/v1/elevations`.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::grant_fields::{rights, words};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::{ElevationError, ElevationFilter, ElevationRequest};
use rp_base::{Id, Timestamp};
use rp_documents::elevation::{Decision, Review};
use rp_documents::{Elevation, ResourceId, Revocation, Rights, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Items, MOST, Owner, Query, ReasonRequest, body};

/// An elevation as scripts see it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Elevation")]
pub struct ElevationView {
    id: Id,
    #[schemars(extend("enum" = ["waiting", "lapsed", "refused", "active", "expired", "ended"]))]
    state: &'static str,
    owner: Owner,
    /// Absent: every cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<ResourceId>,
    #[schemars(with = "Rights")]
    rights: &'static str,
    /// How it comes into force: by oneself, by approval, or as a break-glass.
    #[schemars(extend("enum" = ["self_service", "approval", "break_glass"]))]
    way: &'static str,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<String>,
    asked: Timestamp,
    /// How long it lasts, in seconds.
    life_secs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_before: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_after: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<DecisionView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Revocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<ReviewView>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ElevationDecision")]
struct DecisionView {
    at: Timestamp,
    by: Owner,
    approved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ElevationReview")]
struct ReviewView {
    at: Timestamp,
    by: Owner,
    fine: bool,
    note: String,
}

fn owner(person: &rp_documents::Person) -> Owner {
    Owner { sub: person.sub.clone(), name: person.name.clone() }
}

impl ElevationView {
    pub fn new(elevation: &Elevation, now: Timestamp) -> Self {
        let decided = |d: &Decision| DecisionView {
            at: d.at,
            by: owner(&d.by),
            approved: d.approved,
            why: d.why.clone(),
        };
        let reviewed =
            |r: &Review| ReviewView { at: r.at, by: owner(&r.by), fine: r.fine, note: r.note.clone() };
        Self {
            id: elevation.id.clone(),
            state: elevation.state(now).name(),
            owner: owner(&elevation.owner),
            target: elevation.target.clone(),
            rights: elevation.rights.name(),
            way: elevation.way.name(),
            reason: elevation.reason.clone(),
            ticket: elevation.ticket.clone(),
            asked: elevation.asked,
            life_secs: elevation.life_secs,
            not_before: elevation.not_before,
            not_after: elevation.not_after,
            decision: elevation.decision.as_ref().map(decided),
            ended: elevation.ended.clone(),
            review: elevation.review.as_ref().map(reviewed),
        }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ElevationsQuery {
    /// One's own: the default where nothing else is asked for.
    mine: bool,
    /// Everybody's: approvers, auditors and admins.
    all: bool,
    /// Those that wait for a decision.
    waiting: bool,
    /// Those in force; everybody's, unless `mine` is there too.
    active: bool,
    /// Break-glass elevations that nobody has reviewed.
    unreviewed: bool,
    /// Rows, 1 to 500.
    limit: Option<usize>,
}

/// One's own, newest first; those that wait, that are in force or that need a review for those who may see them.
pub async fn list(
    State(state): State<PortalState>,
    user: CurrentUser,
    Query(query): Query<ElevationsQuery>,
) -> Result<Response, Fault> {
    let narrowed = query.waiting || query.unreviewed || query.all || query.active;
    let everybody = narrowed && !query.mine;
    if everybody && !user.has(Role::Auditor) && !user.has(Role::Admin) {
        user.require(Role::Approver, state.session.access.policy())?;
    }
    let filter = ElevationFilter {
        owner_sub: (!everybody).then(|| user.caller.person.sub.clone()),
        waiting_only: query.waiting,
        active_only: query.active,
        unreviewed_only: query.unreviewed,
        limit: query.limit.unwrap_or(MOST).clamp(1, MOST),
    };
    let found = state.session.access.elevations(&filter).await.map_err(|error| Fault::store(&error))?;
    let now = state.session.clock.now();
    let items = found.iter().map(|elevation| ElevationView::new(elevation, now)).collect();
    json(&Items { items, total: None, next: None })
}

fn parse(id: &str) -> Result<Id, Fault> {
    Id::parse(id).map_err(|_| refusals::elevation(&ElevationError::Unknown))
}

fn answer(state: &PortalState, outcome: Result<Elevation, ElevationError>) -> Result<Response, Fault> {
    let elevation = outcome.map_err(|error| refusals::elevation(&error))?;
    json(&ElevationView::new(&elevation, state.session.clock.now()))
}

/// The reason in a body.
fn reason(bytes: &[u8]) -> Result<Option<String>, Fault> {
    let asked: ReasonRequest = body(bytes)?;
    Ok(words(asked.why))
}

async fn decide(
    state: &PortalState,
    user: &CurrentUser,
    id: &str,
    approved: bool,
    why: Option<String>,
) -> Result<Response, Fault> {
    answer(state, state.session.access.decide(&user.caller, &parse(id)?, approved, why).await)
}

/// One elevation: its owner, approvers, auditors and admins.
pub async fn get(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    answer(&state, state.session.access.elevation(&user.caller, &parse(&id)?).await)
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    extend("required" = ["reason"]),
    example = serde_json::json!({"reason": "etcd has no leader", "ticket": "INC-1042", "rights": "write", "life": 1800})
)]
pub struct NewElevation {
    reason: String,
    ticket: Option<String>,
    /// Resource id of the one cluster that it is for; without, every cluster.
    target: Option<String>,
    /// `write` without.
    #[schemars(with = "Option<Rights>")]
    rights: Option<String>,
    /// Seconds.
    life: Option<u64>,
    /// In force at once, and reviewed afterwards.
    break_glass: bool,
}

/// Requests an elevation; self-service and break-glass take effect immediately.
pub async fn create(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let asked: NewElevation = body(&bytes)?;
    if asked.break_glass {
        user.require_fresh(&state.session, &context.came_from)?;
    }
    let target =
        asked.target.filter(|target| !target.is_empty()).as_deref().map(ResourceId::parse).transpose();
    let target = target.map_err(|error| Fault::bad_input(error.to_string()))?;
    if target.as_ref().is_some_and(|id| state.model.index.snapshot().get(id).is_none()) {
        return Err(Fault::no_cluster());
    }
    let wanted = asked.rights.as_deref().map_or(Some(Rights::Write), rights);
    let ask = ElevationRequest {
        reason: asked.reason,
        ticket: asked.ticket.filter(|ticket| !ticket.trim().is_empty()),
        target,
        rights: wanted.ok_or_else(|| Fault::bad_input("rights are write or admin"))?,
        life: asked.life.map(Duration::from_secs),
        break_glass: asked.break_glass,
    };
    answer(&state, state.session.access.request_elevation(&user.caller, ask).await)
}

/// Approves another person's request.
pub async fn approve(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let why = reason(&bytes)?;
    user.require_fresh(&state.session, &context.came_from)?;
    decide(&state, &user, &id, true, why).await
}

/// Refuses a request.
pub async fn refuse(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<Response, Fault> {
    decide(&state, &user, &id, false, reason(&bytes)?).await
}

/// Ends an elevation, or withdraws a request.
pub async fn end(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let why = reason(&bytes)?;
    answer(&state, state.session.access.end_elevation(&user.caller, &parse(&id)?, why).await)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(example = serde_json::json!({"fine": true, "note": "The incident needed it."}))]
pub struct ReviewRequest {
    /// Whether the use was right.
    fine: bool,
    #[serde(default)]
    note: String,
}

/// Stores the review of a break-glass elevation.
pub async fn review(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let finding: ReviewRequest = body(&bytes)?;
    let note = words(Some(finding.note)).unwrap_or_default();
    answer(&state, state.session.access.review(&user.caller, &parse(&id)?, finding.fine, note).await)
}
