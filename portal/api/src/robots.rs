//! `/api/v1/robots`.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::grant_fields::{kinds, rights, words};
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::{GrantStatus, RobotRequest, RobotView};
use rp_base::{Id, Timestamp};
use rp_documents::grant::GrantState;
use rp_documents::robot::Scope;
use rp_documents::{GrantKind, ResourceId, Revocation, Rights, Robot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Items, Owner, Query, ReasonRequest, RevealedSecret, body, created};
use crate::grants::RevokedResponse;

#[derive(Debug, Serialize, JsonSchema)]
struct RobotDetails {
    name: String,
    /// `"all"`, or `{"only": [resource ids]}`.
    clusters: Scope,
    #[schemars(with = "Vec<GrantKind>")]
    kinds: Vec<&'static str>,
    #[schemars(with = "Rights")]
    rights: &'static str,
    reason: String,
    created: Timestamp,
    created_by: Owner,
    not_after: Timestamp,
    /// Living grants that it may hold at once.
    max_grants: usize,
    #[schemars(extend("enum" = ["active", "expired", "revoked"]))]
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<Revocation>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Robot")]
pub struct RobotRow {
    #[serde(flatten)]
    robot: RobotDetails,
    tokens: Vec<TokenView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<Timestamp>,
    streams: usize,
}

/// A token without its secret.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RobotTokenState")]
struct TokenView {
    id: Id,
    created: Timestamp,
    not_after: Timestamp,
    #[schemars(extend("enum" = ["active", "expired", "revoked"]))]
    state: &'static str,
}

fn details(robot: &Robot, now: Timestamp) -> RobotDetails {
    let by = &robot.created_by;
    RobotDetails {
        name: robot.name.clone(),
        clusters: robot.clusters.clone(),
        kinds: robot.kinds.iter().map(|kind| kind.name()).collect(),
        rights: robot.rights.name(),
        reason: robot.reason.clone(),
        created: robot.created,
        created_by: Owner { sub: by.sub.clone(), name: by.name.clone() },
        not_after: robot.not_after,
        max_grants: robot.max_grants,
        state: match (robot.revoked.is_some(), robot.is_active(now)) {
            (true, _) => "revoked",
            (false, true) => "active",
            (false, false) => "expired",
        },
        revoked: robot.revoked.clone(),
    }
}

fn row(view: &RobotView, now: Timestamp) -> RobotRow {
    let living = view.tokens.iter().filter(|token| token.state(now) == GrantState::Active);
    let token = |grant: &rp_documents::Grant| TokenView {
        id: grant.id.clone(),
        created: grant.created,
        not_after: grant.not_after,
        state: GrantStatus::by_document(grant, now).name(),
    };
    RobotRow {
        robot: details(&view.robot, now),
        tokens: living.map(token).collect(),
        last_used: view.last_used,
        streams: view.streams,
    }
}

/// All of them, by name.
pub async fn list(State(state): State<PortalState>) -> Result<Response, Fault> {
    let views = state.session.access.robots().await.map_err(|error| Fault::store(&error))?;
    let now = state.session.clock.now();
    json(&Items { items: views.iter().map(|view| row(view, now)).collect(), total: None, next: None })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(example = serde_json::json!({
    "name": "nightly", "clusters": "all", "kinds": ["kubeconfig"], "reason": "checks of every night", "life": 2_592_000
}))]
pub struct NewRobot {
    name: String,
    clusters: ScopeRequest,
    #[schemars(with = "Vec<GrantKind>")]
    kinds: Vec<String>,
    /// `read` without.
    #[serde(default)]
    #[schemars(with = "Option<Rights>")]
    rights: Option<String>,
    reason: String,
    /// Seconds.
    #[serde(default)]
    life: Option<u64>,
    /// Living grants that it may hold at once.
    #[serde(default)]
    max_grants: Option<usize>,
}

/// The clusters that it may ask for: `"all"`, or `{"only": [resource ids]}`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "NewRobotScope")]
enum ScopeRequest {
    All,
    Only(Vec<String>),
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RobotToken")]
pub struct RobotTokenResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    robot: Option<RobotDetails>,
    /// In this answer only.
    token: RevealedSecret<'a>,
    not_after: Timestamp,
}

/// Makes one; its token is in this answer only.
pub async fn create(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let asked: NewRobot = body(&bytes)?;
    user.require_fresh(&state.session, &context.came_from)?;
    let clusters = match asked.clusters {
        ScopeRequest::All => Scope::All,
        ScopeRequest::Only(ids) => {
            let ids: Result<Vec<_>, _> = ids.iter().map(|id| ResourceId::parse(id)).collect();
            Scope::Only(ids.map_err(|error| Fault::bad_input(error.to_string()))?)
        }
    };
    let wanted = asked.rights.as_deref().map_or(Some(Rights::Read), rights);
    let ask = RobotRequest {
        name: asked.name,
        clusters,
        kinds: kinds(&asked.kinds)?,
        rights: wanted.ok_or_else(|| Fault::bad_input("rights are read, write or admin"))?,
        reason: asked.reason,
        life: asked.life.map(Duration::from_secs),
        max_grants: asked.max_grants,
    };
    let made = state.session.access.create_robot(&user.caller, ask).await;
    let (robot, issued) = made.map_err(|error| refusals::robot(&error))?;
    created(&RobotTokenResponse {
        robot: Some(details(&robot, state.session.clock.now())),
        token: RevealedSecret::new(issued.token.expose().as_str()),
        not_after: issued.grant.not_after,
    })
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(example = serde_json::json!({"overlap": 600}))]
pub struct RotateRequest {
    /// Seconds that older tokens go on to work.
    overlap: Option<u64>,
}

/// A new token; the older ones end after the overlap.
pub async fn rotate(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
    Path(name): Path<String>,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let asked: RotateRequest = body(&bytes)?;
    user.require_fresh(&state.session, &context.came_from)?;
    let overlap = Duration::from_secs(asked.overlap.unwrap_or(0));
    let rotated = state.session.access.rotate_robot(&user.caller, &name, overlap).await;
    let issued = rotated.map_err(|error| refusals::robot(&error))?;
    json(&RobotTokenResponse {
        robot: None,
        token: RevealedSecret::new(issued.token.expose().as_str()),
        not_after: issued.grant.not_after,
    })
}

/// Revokes a robot and all its tokens.
pub async fn revoke(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(name): Path<String>,
    Query(query): Query<ReasonRequest>,
) -> Result<Response, Fault> {
    let revoked = state.session.access.revoke_robot(&user.caller, &name, words(query.why)).await;
    json(&RevokedResponse { revoked: revoked.map_err(|error| refusals::robot(&error))? })
}
