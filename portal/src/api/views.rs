//! `/api/v1/views`: views of the list that people keep under a name, and share
//! (`contract/portal-ui.md` "Do better" B 2).

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use rp_base::{Id, Timestamp};
use rp_database::{Draft, Expect, StoreError};
use rp_documents::{Collection, Role, SavedView, Side, Unknown};
use serde::{Deserialize, Serialize};
use web::ListQuery;

use super::clusters::bad_filter;
use super::saved::{invalid, name, record};
use super::{Items, body, json};
use crate::fault::Fault;
use crate::index::Selection;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// Views that one person may keep.
const MOST_OWN: usize = 100;
const MOST_SHOWN: usize = 500;
const MOST_QUERY: usize = 8 * 1024;

/// A kept view as scripts see it.
#[derive(Debug, Serialize)]
struct SavedViewResponse {
    id: Id,
    name: String,
    /// The query string of the list, without `?`.
    query: String,
    shared: bool,
    /// Account of who keeps it.
    owner: String,
    mine: bool,
    created: Timestamp,
}

fn to_view(saved: &SavedView, user: &CurrentUser) -> SavedViewResponse {
    SavedViewResponse {
        id: saved.id.clone(),
        name: saved.name.clone(),
        query: saved.query.clone(),
        shared: saved.shared,
        owner: saved.owner.name.clone(),
        mine: saved.owner.sub == user.caller.person.sub,
        created: saved.created,
    }
}

/// `GET`: mine and what others share, mine first, newest first.
pub(crate) async fn list(State(state): State<PortalState>, user: CurrentUser) -> Result<Response, Fault> {
    let snapshot = state.0.index.snapshot();
    let mine = |view: &SavedView| view.owner.sub == user.caller.person.sub;
    let mut found: Vec<_> = snapshot.views.iter().filter(|view| view.shared || mine(view)).collect();
    found.sort_by_key(|view| (!mine(view), std::cmp::Reverse(view.created)));
    let items: Vec<SavedViewResponse> =
        found.into_iter().take(MOST_SHOWN).map(|view| to_view(view, &user)).collect();
    json(&Items { items, total: None, next: None })
}

/// The body of a request to save a view.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SaveViewRequest {
    pub(crate) name: String,
    pub(crate) query: String,
    pub(crate) shared: bool,
}

/// `POST`: keeps one; 201.
pub(crate) async fn create(
    State(state): State<PortalState>,
    user: CurrentUser,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let saved = keep(&state, &user, body(&bytes)?).await?;
    let mut response = json(&to_view(&saved, &user))?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Keeps a view; it is in the list when this ends.
pub(crate) async fn keep(
    state: &PortalState,
    user: &CurrentUser,
    wanted: SaveViewRequest,
) -> Result<SavedView, Fault> {
    let person = &user.caller.person;
    let own = state.0.index.snapshot().views.iter().filter(|view| view.owner.sub == person.sub).count();
    if own >= MOST_OWN {
        let what = format!("You keep {MOST_OWN} views already");
        return Err(
            Fault::new(StatusCode::CONFLICT, "too_many_views", Side::You, what).action("Remove one first.")
        );
    }
    let saved = SavedView {
        id: Id::random(&*state.0.random),
        owner: person.clone(),
        name: name(&wanted.name)?,
        query: query(state, &wanted.query)?,
        shared: wanted.shared,
        created: state.0.clock.now(),
        unknown: Unknown::new(),
    };
    record(state, user, "view.save", &saved.name, &saved.query, None).await?;
    let draft = Draft {
        id: saved.id.to_string(),
        partition: person.sub.clone(),
        unique_key: None,
        body: serde_json::to_string(&saved).map_err(|_| Fault::internal())?,
        expires_at: None,
    };
    state.0.store.create(Collection::SavedViews, draft).await.map_err(|error| Fault::store(&error))?;
    state.0.index.settle(|snapshot| snapshot.views.iter().any(|view| view.id == saved.id)).await;
    Ok(saved)
}

/// `DELETE {id}`: one's own; an admin anybody's. Once gone, 404.
pub(crate) async fn remove(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    drop_view(&state, &user, &id).await?;
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// Removes a view; it is out of the list when this ends.
pub(crate) async fn drop_view(state: &PortalState, user: &CurrentUser, id: &str) -> Result<SavedView, Fault> {
    let unknown = || {
        Fault::new(StatusCode::NOT_FOUND, "view_not_found", Side::You, "No such view")
            .why("It may have been removed.")
            .link("To the clusters", "/")
    };
    let id = Id::parse(id).map_err(|_| unknown())?;
    let stored = state.0.store.get(Collection::SavedViews, id.as_str()).await;
    let stored = stored.map_err(|error| Fault::store(&error))?.ok_or_else(unknown)?;
    let saved: SavedView = serde_json::from_str(&stored.body).map_err(|_| unknown())?;
    let mine = saved.owner.sub == user.caller.person.sub;
    if !mine && !saved.shared {
        return Err(unknown());
    }
    if !mine && !user.has(Role::Admin) {
        return Err(Fault::new(
            StatusCode::FORBIDDEN,
            "not_yours",
            Side::You,
            "This view is somebody else's",
        ));
    }
    record(state, user, "view.remove", &saved.name, &saved.query, None).await?;
    // A concurrent removal counts as success.
    match state.0.store.delete(Collection::SavedViews, id.as_str(), Expect::Version(stored.version)).await {
        Ok(()) | Err(StoreError::Gone { .. } | StoreError::Stale { .. }) => {}
        Err(error) => return Err(Fault::store(&error)),
    }
    state.0.index.settle(|snapshot| snapshot.views.iter().all(|view| view.id != saved.id)).await;
    Ok(saved)
}

/// The query as the list reads it: unknown parameters are dropped, filters must be valid, cursors are not kept.
fn query(state: &PortalState, text: &str) -> Result<String, Fault> {
    if text.len() > MOST_QUERY {
        return Err(invalid(format!("A view's query has {MOST_QUERY} bytes at most")));
    }
    let wrong = |_| invalid("This is no query of the list of clusters");
    let uri: Uri = format!("/?{}", text.trim_start_matches('?'))
        .parse()
        .map_err(|_| invalid("This is no query of the list of clusters"))?;
    let Query(list) = Query::<ListQuery>::try_from_uri(&uri).map_err(wrong)?;
    Selection::new(&list, state.0.clock.now()).map_err(|bad| bad_filter(&bad))?;
    Ok(list.kept())
}
