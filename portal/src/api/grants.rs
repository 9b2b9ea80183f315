//! `/api/v1/grants`.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use rp_access::{GrantFilter, GrantView};
use rp_base::{Id, Timestamp};
use rp_documents::grant::{GrantState, Revocation};
use rp_documents::{Grant, ResourceId, Role};
use serde::{Deserialize, Serialize};

use super::{Items, MOST};
use crate::fault::Fault;
use crate::pages::access::refusal;
use crate::state::PortalState;
use crate::user::{CurrentUser, missing};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GrantsQuery {
    /// Everybody's: auditors and admins.
    all: bool,
    /// Only those that work.
    active: bool,
    target: Option<String>,
    limit: Option<usize>,
}

/// A grant as scripts see it: without the hash of its secret.
#[derive(Serialize)]
struct Shown {
    id: Id,
    kind: &'static str,
    state: &'static str,
    owner: Owner,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<ResourceId>,
    rights: &'static str,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<String>,
    created: Timestamp,
    not_after: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<Revocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<Timestamp>,
    streams: usize,
}

#[derive(Serialize)]
struct Owner {
    sub: String,
    name: String,
}

fn shown(grant: &Grant, now: Timestamp, last_used: Option<Timestamp>, streams: usize) -> Shown {
    Shown {
        id: grant.id.clone(),
        kind: grant.kind.name(),
        state: match grant.state(now) {
            GrantState::Active => "active",
            GrantState::Expired => "expired",
            GrantState::Revoked => "revoked",
        },
        owner: Owner { sub: grant.owner.sub.clone(), name: grant.owner.name.clone() },
        target: grant.target.clone(),
        rights: grant.rights.name(),
        reason: grant.reason.clone(),
        ticket: grant.ticket.clone(),
        created: grant.created,
        not_after: grant.not_after,
        revoked: grant.revoked.clone(),
        last_used,
        streams,
    }
}

/// My grants, newest first; `all=true` for auditors and admins.
pub(crate) async fn list(
    State(state): State<PortalState>,
    user: CurrentUser,
    Query(query): Query<GrantsQuery>,
) -> Result<Response, Fault> {
    if query.all && !user.has(Role::Admin) {
        user.require(Role::Auditor).map_err(|_| missing(Role::Auditor))?;
    }
    let target = query.target.as_deref().map(ResourceId::parse).transpose();
    let filter = GrantFilter {
        owner_sub: (!query.all).then(|| user.caller.person.sub.clone()),
        target: target.map_err(|error| Fault::bad_input(error.to_string()))?,
        active_only: query.active,
        limit: query.limit.unwrap_or(MOST).clamp(1, MOST),
    };
    let views: Vec<GrantView> = state.0.access.list(&filter).await.map_err(|error| Fault::store(&error))?;
    let now = state.0.clock.now();
    let items = views.iter().map(|view| shown(&view.grant, now, view.last_used, view.streams)).collect();
    super::json(&Items { items, total: None, next: None })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Why {
    why: Option<String>,
}

/// Ends a grant.
pub(crate) async fn revoke(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(query): Query<Why>,
) -> Result<Response, Fault> {
    let id = Id::parse(&id).map_err(|_| refusal(&rp_access::AccessError::Unknown))?;
    let why = query.why.map(|why| rp_base::text::clean(&why, 1000)).filter(|why| !why.is_empty());
    let grant = state.0.access.revoke(&user.caller, &id, why).await.map_err(|error| refusal(&error))?;
    super::json(&shown(&grant, state.0.clock.now(), None, 0))
}
