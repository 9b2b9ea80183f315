//! `/api/v1/views`: views of the list that people keep under a name, and share
//! (`contract/portal-ui.md` "Do better" B 2).

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::state::PortalState;
use portal_model::views::{drop_view, keep};
use portal_session::fault::Fault;
use portal_session::json::json;
use portal_session::user::CurrentUser;
use rp_base::{Id, Timestamp};
use rp_documents::SavedView;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Items, body, created, removed};

const MOST_SHOWN: usize = 500;

/// A kept view as scripts see it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SavedView")]
pub struct SavedViewResponse {
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
pub async fn list(State(state): State<PortalState>, user: CurrentUser) -> Result<Response, Fault> {
    let snapshot = state.model.index.snapshot();
    let mine = |view: &SavedView| view.owner.sub == user.caller.person.sub;
    let mut found: Vec<_> = snapshot.views.iter().filter(|view| view.shared || mine(view)).collect();
    found.sort_by_key(|view| (!mine(view), std::cmp::Reverse(view.created)));
    let items: Vec<SavedViewResponse> =
        found.into_iter().take(MOST_SHOWN).map(|view| to_view(view, &user)).collect();
    json(&Items { items, total: None, next: None })
}

/// `POST`: keeps one; 201.
pub async fn create(
    State(state): State<PortalState>,
    user: CurrentUser,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let saved = keep(&state, &user, body(&bytes)?).await?;
    created(&to_view(&saved, &user))
}

/// `DELETE {id}`: one's own; an admin anybody's. Once gone, 404.
pub async fn remove(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    drop_view(&state, &user, &id).await?;
    Ok(removed())
}
