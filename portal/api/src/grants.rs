//! `/api/v1/grants`.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::access_kinds::AccessKind;
use portal_model::grant_fields::{parse, rights, words};
use portal_model::grant_search::{GrantStateFilter, Search};
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::refusals;
use portal_session::user::CurrentUser;
use rp_access::{EndReason, GrantStatus, GrantView, IssueRequest, RevokeScope};
use rp_base::{Id, Timestamp};
use rp_documents::grant::Revocation;
use rp_documents::{Grant, GrantKind, GrantOptions, ResourceId, Rights, Role, StreamRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Items, MOST, Owner, Query, ReasonRequest, RevealedSecret, body};
use crate::elevations::ElevationView;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GrantsQuery {
    /// Everybody's: auditors and admins.
    all: bool,
    /// One's own: the default.
    mine: bool,
    /// Only those that work.
    active: bool,
    /// Resource id of a cluster.
    target: Option<String>,
    /// Subject or account.
    owner: Option<String>,
    #[schemars(extend("enum" = ["active", "expired", "revoked", "ended", "any"]))]
    state: Option<String>,
    #[schemars(with = "Option<GrantKind>")]
    kind: Option<String>,
    /// Words of the reason, the ticket or the cluster.
    q: Option<String>,
    /// Rows, 1 to 500.
    limit: Option<usize>,
    /// Where the answer before ended.
    #[serde(rename = "continue")]
    next: Option<String>,
}

/// A grant as scripts see it: without the hash of its secret.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Grant")]
pub struct GrantSummary {
    id: Id,
    #[schemars(with = "GrantKind")]
    kind: &'static str,
    /// `active`, `expired`, `revoked`, or `ended`: it opens nothing any more for the reason in `end_reason`.
    #[schemars(extend("enum" = ["active", "expired", "revoked", "ended"]))]
    state: &'static str,
    /// Of a grant that is `ended`: `elevation_over`, `rights_lost`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    end_reason: Option<&'static str>,
    owner: Owner,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<ResourceId>,
    /// The rights as issued.
    #[schemars(with = "Rights")]
    rights: &'static str,
    /// The rights in force now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Rights>")]
    rights_now: Option<&'static str>,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    destinations: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elevation_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Id>,
    created: Timestamp,
    not_after: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<Revocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_from: Option<String>,
}

/// A row of a list: how many streams are open.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GrantRow {
    #[serde(flatten)]
    grant: GrantSummary,
    streams: usize,
}

/// One grant in full: which streams are open, and the elevation behind it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GrantDetail {
    #[serde(flatten)]
    grant: GrantSummary,
    streams: Vec<ReplicaStreams>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elevation: Option<ElevationView>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ReplicaStreams {
    replica: String,
    count: usize,
    first_opened: Timestamp,
    what: Vec<String>,
}

impl From<&StreamRecord> for ReplicaStreams {
    fn from(record: &StreamRecord) -> Self {
        Self {
            replica: record.replica.clone(),
            count: record.count,
            first_opened: record.first_opened,
            what: record.what.clone(),
        }
    }
}

fn summary(grant: &Grant, status: GrantStatus) -> GrantSummary {
    GrantSummary {
        id: grant.id.clone(),
        kind: grant.kind.name(),
        state: status.name(),
        end_reason: status.end_reason().map(end_reason),
        owner: Owner { sub: grant.owner.sub.clone(), name: grant.owner.name.clone() },
        target: grant.target.clone(),
        rights: grant.rights.name(),
        rights_now: None,
        reason: grant.reason.clone(),
        ticket: grant.ticket.clone(),
        destinations: grant.destinations.clone(),
        elevation_id: grant.elevation_id.clone(),
        parent: grant.parent.clone(),
        created: grant.created,
        not_after: grant.not_after,
        revoked: grant.revoked.clone(),
        last_used: None,
        last_from: None,
    }
}

/// The code of the reason, as the API proxy's refusals have it where they have one.
const fn end_reason(why: EndReason) -> &'static str {
    match why {
        EndReason::Expired => "expired",
        EndReason::Revoked => "revoked",
        EndReason::RightsLost => "rights_lost",
        EndReason::Unsure => "unsure",
        EndReason::ElevationOver => "elevation_over",
    }
}

fn from_view(view: &GrantView) -> GrantSummary {
    GrantSummary {
        rights_now: view.is_effective().then(|| view.rights.name()),
        last_used: view.last_used,
        last_from: view.last_from.clone(),
        ..summary(&view.grant, view.status())
    }
}

/// A grant that this request gave, extended or revoked.
fn after_change(state: &PortalState, grant: &Grant) -> GrantSummary {
    summary(grant, GrantStatus::by_document(grant, state.session.clock.now()))
}

/// My grants, newest first; `all=true` for auditors and admins.
pub async fn list(
    State(state): State<PortalState>,
    user: CurrentUser,
    Query(query): Query<GrantsQuery>,
) -> Result<Response, Fault> {
    let some = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let owner = some(query.owner);
    if (query.all || owner.as_ref().is_some_and(|owner| !user.is(owner))) && !user.has(Role::Admin) {
        user.require(Role::Auditor, state.session.access.policy())?;
    }
    if query.all && query.mine {
        return Err(Fault::bad_input("mine and all exclude each other"));
    }
    let target = some(query.target).as_deref().map(ResourceId::parse).transpose();
    let kind = some(query.kind).map(|kind| GrantKind::from_name(&kind).ok_or(kind)).transpose();
    let wanted = match some(query.state).as_deref() {
        None if query.active => GrantStateFilter::Active,
        None | Some("any") => GrantStateFilter::Any,
        Some("active") => GrantStateFilter::Active,
        Some("expired") => GrantStateFilter::Expired,
        Some("revoked") => GrantStateFilter::Revoked,
        Some("ended") => GrantStateFilter::Ended,
        Some(_) => return Err(Fault::bad_input("state is active, expired, revoked, ended or any")),
    };
    let mut search = Search {
        target: target.map_err(|error| Fault::bad_input(error.to_string()))?,
        kind: kind
            .map_err(|_| Fault::bad_input("kind is the name of a kind of grant, such as kubeconfig"))?,
        wanted,
        text: some(query.q),
        limit: query.limit.unwrap_or(MOST).clamp(1, MOST),
        continuation: some(query.next),
        ..Search::default()
    };
    match owner {
        Some(owner) if !user.is(&owner) => search.person = Some(owner),
        None if query.all => {}
        _ => search.owner_sub = Some(user.caller.person.sub.clone()),
    }
    let found = search.run(&state).await?;
    let row = |view: &GrantView| GrantRow { grant: from_view(view), streams: view.streams };
    json(&Items { items: found.items.iter().map(row).collect(), total: None, next: found.next })
}

/// One grant: its owner, auditors and admins.
pub async fn get(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let view = state
        .session
        .access
        .get(&user.caller, &parse(&id)?)
        .await
        .map_err(|error| refusals::access(&error))?;
    let now = state.session.clock.now();
    json(&GrantDetail {
        grant: from_view(&view),
        streams: view.open.iter().map(ReplicaStreams::from).collect(),
        elevation: view.elevation.as_deref().map(|elevation| ElevationView::new(elevation, now)),
    })
}

/// Ends a grant.
pub async fn revoke(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
    Query(query): Query<ReasonRequest>,
) -> Result<Response, Fault> {
    let id = parse(&id)?;
    let revoked = state.session.access.revoke(&user.caller, &id, words(query.why)).await;
    let grant = revoked.map_err(|error| refusals::access(&error))?;
    json(&GrantRow { grant: after_change(&state, &grant), streams: 0 })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(example = serde_json::json!({"life": 7200}))]
pub struct ExtendRequest {
    /// Seconds from now.
    life: u64,
}

/// Moves the end of one's own grant.
pub async fn extend(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let life: ExtendRequest = body(&bytes)?;
    let id = parse(&id)?;
    let extended = state.session.access.extend(&user.caller, &id, Duration::from_secs(life.life)).await;
    let grant = extended.map_err(|error| refusals::extend(&error))?;
    json(&after_change(&state, &grant))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = serde_json::json!({"person": "sre@example.com", "why": "they changed teams"}))]
pub struct RevokeAllRequest {
    /// Subject or account.
    person: Option<String>,
    /// Resource id.
    cluster: Option<String>,
    /// Every grant there is; admins.
    everything: bool,
    why: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Revoked")]
pub struct RevokedResponse {
    pub revoked: u64,
}

/// Ends all of a person, of a cluster, or all.
pub async fn revoke_all(
    State(state): State<PortalState>,
    portal_session::context::Ctx(context): portal_session::context::Ctx,
    user: CurrentUser,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let asked: RevokeAllRequest = body(&bytes)?;
    let scope = match (asked.person, asked.cluster, asked.everything) {
        (Some(person), None, false) if user.is(&person) => {
            RevokeScope::Person(user.caller.person.sub.clone())
        }
        (Some(person), None, false) => {
            user.require(Role::Admin, state.session.access.policy())?;
            let found = portal_model::grant_search::person(&state, &person).await?;
            RevokeScope::Person(found.ok_or_else(|| portal_model::grant_search::unknown_person(&person))?.sub)
        }
        (None, Some(cluster), false) => RevokeScope::Cluster(
            ResourceId::parse(&cluster).map_err(|error| Fault::bad_input(error.to_string()))?,
        ),
        (None, None, true) => {
            user.require(Role::Admin, state.session.access.policy())?;
            user.require_fresh(&state.session, &context.came_from)?;
            RevokeScope::Everything
        }
        _ => return Err(Fault::bad_input("Name one of person, cluster, everything")),
    };
    let revoked = state.session.access.revoke_all(&user.caller, scope, words(asked.why)).await;
    json(&RevokedResponse { revoked: revoked.map_err(|error| refusals::access(&error))? })
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    extend("required" = ["target", "kind", "reason"]),
    example = serde_json::json!({
        "target": "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/harbor/providers/Microsoft.RedHatOpenShift/openShiftClusters/harbor-01",
        "kind": "kubeconfig", "rights": "read", "reason": "a node does not come back", "life": 3600
    })
)]
pub struct NewGrant {
    /// Resource id of the cluster.
    target: Option<String>,
    #[schemars(extend("enum" = ["kubeconfig", "metrics", "page", "ssh", "tunnel"]))]
    kind: String,
    /// Of a shell, `write` always; else `read` without.
    #[schemars(with = "Option<Rights>")]
    rights: Option<String>,
    reason: String,
    ticket: Option<String>,
    /// Seconds.
    life: Option<u64>,
    /// Tokens come from `/token`: none is given here.
    plugin: bool,
    /// `host:port` each. Of a tunnel, none: the cluster's console and what it needs; of a shell: what may be forwarded.
    destinations: Vec<String>,
    /// Of a shell; without it every machine of the cluster.
    machine: Option<String>,
    /// Of a shell.
    agent_forwarding: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IssuedGrant")]
pub struct IssueGrantResponse<'a> {
    grant: GrantSummary,
    /// The token; in this answer only.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<RevealedSecret<'a>>,
    /// Address on the host of the API proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// Authority of that host in PEM, where it is not a public one.
    #[serde(skip_serializing_if = "Option::is_none")]
    ca: Option<&'a str>,
}

/// The validated grant request.
async fn issue_request(
    state: &PortalState,
    access: &AccessKind,
    id: &ResourceId,
    asked: NewGrant,
) -> Result<IssueRequest, Fault> {
    let kind = access.kind;
    let least = access.least_rights();
    let wanted = match asked.rights.as_deref() {
        // A shell always has write rights, whatever the request names.
        Some(name) if least == Rights::Read => {
            rights(name).ok_or_else(|| Fault::bad_input("rights are read, write or admin"))?
        }
        Some(_) | None => least,
    };
    let destinations = match kind {
        GrantKind::Tunnel => portal_model::tunnels::destinations(state, id, &asked.destinations).await?,
        GrantKind::Ssh => portal_model::ssh::destinations(&asked.destinations)
            .map_err(|error| Fault::bad_input(error.to_string()))?,
        _ => Vec::new(),
    };
    let machine = match asked.machine.filter(|_| kind == GrantKind::Ssh) {
        Some(name) => {
            let name = state.ssh()?.name(id, &name).await;
            Some(name.map_err(|error| Fault::bad_input(error.to_string()))?)
        }
        None => None,
    };
    Ok(IssueRequest {
        destinations,
        machine,
        options: GrantOptions { agent_forwarding: asked.agent_forwarding && kind == GrantKind::Ssh },
        ticket: asked.ticket.filter(|ticket| !ticket.trim().is_empty()),
        life: asked.life.map(Duration::from_secs),
        rights: wanted,
        ..access.request(id.clone(), asked.reason)
    })
}

/// Issues a grant.
pub async fn create(
    State(state): State<PortalState>,
    user: CurrentUser,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let asked: NewGrant = body(&bytes)?;
    let access = AccessKind::from_api_name(&asked.kind)
        .ok_or_else(|| Fault::bad_input("kind is kubeconfig, metrics, page, ssh or tunnel"))?;
    let target =
        asked.target.as_deref().ok_or_else(|| Fault::bad_input("target is the resource ID of a cluster"))?;
    let target = ResourceId::parse(target).map_err(|error| Fault::bad_input(error.to_string()))?;
    let entry = state.model.index.snapshot().get(&target).cloned().ok_or_else(Fault::no_cluster)?;
    let plugin = asked.plugin && matches!(access.kind, GrantKind::Kubeconfig | GrantKind::Ssh);
    let ask = issue_request(&state, access, &entry.id, asked).await?;
    let issued =
        state.session.access.issue(&user.caller, ask).await.map_err(|error| refusals::issue(&error))?;
    let server = access.address(&state.session.site, &entry.id);
    json(&IssueGrantResponse {
        grant: after_change(&state, &issued.grant),
        token: (!plugin).then(|| RevealedSecret::new(issued.token.expose().as_str())),
        ca: server.as_ref().and(state.session.site.urls.ca_pem.as_deref()),
        server,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GrantToken")]
pub struct GrantTokenResponse<'a> {
    token: RevealedSecret<'a>,
    not_after: Timestamp,
}

/// A further token of one's own grant, for a short while: for the credential plug-in of kubectl.
pub async fn token(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let access = &state.session.access;
    let renewed = access.renew(&parse(&id)?, &user.caller, access.policy().access.renew_life).await;
    let issued = renewed.map_err(|error| refusals::renew(&error))?;
    json(&GrantTokenResponse {
        token: RevealedSecret::new(issued.token.expose().as_str()),
        not_after: issued.grant.not_after,
    })
}
