//! `/views`: keeps a view of the list from a form, and removes one.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use portal_model::state::PortalState;
use portal_model::views;
use portal_model::views::SaveViewRequest;
use portal_session::fault::Fault;
use portal_session::user::CurrentUser;
use url::form_urlencoded;

use crate::answer::see_other;

/// `POST /views`: keeps it and shows it.
pub async fn create(
    State(state): State<PortalState>,
    user: CurrentUser,
    bytes: Bytes,
) -> Result<Response, Fault> {
    let mut wanted = SaveViewRequest::default();
    for (name, value) in form_urlencoded::parse(&bytes).take(16) {
        match name.as_ref() {
            "name" => wanted.name = value.into_owned(),
            "query" => wanted.query = value.into_owned(),
            "shared" => wanted.shared = value == "true",
            _ => {}
        }
    }
    let saved = views::keep(&state, &user, wanted).await?;
    Ok(see_other(&format!("/?{}", saved.query)))
}

/// `POST /views/{id}/remove`: one's own; an admin anybody's.
pub async fn remove(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let removed = views::drop_view(&state, &user, &id).await?;
    Ok(see_other(&if removed.query.is_empty() { "/".to_owned() } else { format!("/?{}", removed.query) }))
}
