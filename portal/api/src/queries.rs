//! `/api/v1/queries`: PromQL that people keep under a name, and share
//! (`contract/portal-ui.md` "Do better" B 7).

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::saved::{invalid, name, record};
use portal_model::state::PortalState;
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use rp_base::{Id, Timestamp};
use rp_database::{Draft, Expect, StoreError};
use rp_documents::{Collection, ResourceId, Role, SavedQuery, Side, Unknown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Items, body, created, removed};

/// Queries that one person may keep.
const MOST_OWN: usize = 200;
/// Queries that are looked at for one answer.
const MOST_ALL: usize = 5000;
/// Rows of one read of the store.
const BATCH: u32 = 500;
const MOST_QUERY: usize = 64 * 1024;

/// A saved query as scripts see it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SavedQuery")]
pub struct SavedQueryView {
    id: Id,
    name: String,
    query: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ResourceId>,
    /// Seconds back; absent: an instant query.
    #[serde(skip_serializing_if = "Option::is_none")]
    range_secs: Option<u64>,
    shared: bool,
    /// Account of who saved it.
    owner: String,
    mine: bool,
    created: Timestamp,
}

fn to_view(saved: SavedQuery, user: &CurrentUser) -> SavedQueryView {
    SavedQueryView {
        mine: saved.owner.sub == user.caller.person.sub,
        id: saved.id,
        name: saved.name,
        query: saved.query,
        cluster: saved.cluster,
        range_secs: saved.range_secs,
        shared: saved.shared,
        owner: saved.owner.name,
        created: saved.created,
    }
}

/// `GET`: mine and what others share, mine first, newest first.
pub async fn list(State(state): State<PortalState>, user: CurrentUser) -> Result<Response, Fault> {
    let mine = &user.caller.person.sub;
    let mut found: Vec<SavedQuery> = all(&state, None).await?;
    found.retain(|saved| saved.shared || saved.owner.sub == *mine);
    found.sort_by_key(|saved| (saved.owner.sub != *mine, std::cmp::Reverse(saved.created)));
    let items: Vec<SavedQueryView> =
        found.into_iter().take(MOST_OWN * 2).map(|saved| to_view(saved, &user)).collect();
    json(&Items { items, total: None, next: None })
}

async fn all(state: &PortalState, partition: Option<&str>) -> Result<Vec<SavedQuery>, Fault> {
    let mut found = Vec::new();
    let mut next: Option<String> = None;
    while found.len() < MOST_ALL {
        let page =
            state.session.store.list(Collection::SavedQueries, partition, next.as_deref(), BATCH).await;
        let page = page.map_err(|error| Fault::store(&error))?;
        // What another version wrote and this one cannot read is not shown.
        found.extend(page.items.iter().filter_map(|item| serde_json::from_str(&item.body).ok()));
        next = page.continuation;
        if next.is_none() {
            break;
        }
    }
    Ok(found)
}

/// The body of a request to save a query.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(
    rename = "NewQuery",
    extend("required" = ["name", "query"]),
    example = serde_json::json!({"name": "Pods by phase", "query": "sum by (phase) (kube_pod_status_phase)", "shared": true})
)]
pub struct SaveQueryRequest {
    name: String,
    /// PromQL.
    query: String,
    /// Resource id of the cluster that it is about.
    cluster: Option<String>,
    /// Seconds back; without, an instant query.
    range_secs: Option<u64>,
    /// Others see it too.
    shared: bool,
}

/// `POST`: keeps one; 201.
pub async fn create(
    State(state): State<PortalState>,
    user: CurrentUser,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let wanted: SaveQueryRequest = body(&bytes)?;
    let person = &user.caller.person;
    let saved = SavedQuery {
        id: Id::random(&*state.session.random),
        owner: person.clone(),
        name: name(&wanted.name)?,
        query: query(&wanted.query)?,
        cluster: cluster(wanted.cluster.as_deref())?,
        range_secs: wanted.range_secs,
        shared: wanted.shared,
        created: state.session.clock.now(),
        unknown: Unknown::new(),
    };
    if all(&state, Some(&person.sub)).await?.len() >= MOST_OWN {
        return Err(Fault::new(
            StatusCode::CONFLICT,
            "too_many_queries",
            Side::You,
            format!("You keep {MOST_OWN} queries already"),
        )
        .action("Remove one first."));
    }
    record(&state, &user, "query.save", &saved.name, &saved.query, saved.cluster.as_ref()).await?;
    let text = serde_json::to_string(&saved).map_err(|_| Fault::internal())?;
    let draft = Draft {
        id: saved.id.to_string(),
        partition: person.sub.clone(),
        unique_key: None,
        body: text,
        expires_at: None,
    };
    state
        .session
        .store
        .create(Collection::SavedQueries, draft)
        .await
        .map_err(|error| Fault::store(&error))?;
    created(&to_view(saved, &user))
}

/// `DELETE {id}`: one's own; an admin anybody's. Once gone, 404.
pub async fn remove(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let unknown = || Fault::new(StatusCode::NOT_FOUND, "query_not_found", Side::You, "No such saved query");
    let id = Id::parse(&id).map_err(|_| unknown())?;
    let stored = state.session.store.get(Collection::SavedQueries, id.as_str()).await;
    let stored = stored.map_err(|error| Fault::store(&error))?.ok_or_else(unknown)?;
    let saved: SavedQuery = serde_json::from_str(&stored.body).map_err(|_| unknown())?;
    if saved.owner.sub != user.caller.person.sub && !user.has(Role::Admin) {
        return Err(Fault::new(
            StatusCode::FORBIDDEN,
            "not_yours",
            Side::You,
            "This query is somebody else's",
        ));
    }
    record(&state, &user, "query.remove", &saved.name, &saved.query, saved.cluster.as_ref()).await?;
    // A concurrent removal counts as success.
    match state
        .session
        .store
        .delete(Collection::SavedQueries, id.as_str(), Expect::Version(stored.version))
        .await
    {
        Ok(()) | Err(StoreError::Gone { .. } | StoreError::Stale { .. }) => {}
        Err(error) => return Err(Fault::store(&error)),
    }
    Ok(removed())
}

fn query(text: &str) -> Result<String, Fault> {
    let text = text.trim();
    if text.is_empty() || text.len() > MOST_QUERY {
        return Err(invalid("A query has 1 to 65,536 bytes"));
    }
    Ok(text.to_owned())
}

fn cluster(text: Option<&str>) -> Result<Option<ResourceId>, Fault> {
    let text = text.map(str::trim).filter(|text| !text.is_empty());
    text.map(|text| ResourceId::parse(text).map_err(|_| invalid("The cluster is not a resource ID")))
        .transpose()
}
