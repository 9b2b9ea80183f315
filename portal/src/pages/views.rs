//! `/views`: keeps a view of the list from a form, and removes one.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::Response;
use url::form_urlencoded;

use super::see_other;
use crate::api::views::{self, SaveViewRequest};
use crate::fault::Fault;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// `POST /views`: keeps it and shows it.
pub(crate) async fn create(
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
pub(crate) async fn remove(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let removed = views::drop_view(&state, &user, &id).await?;
    Ok(see_other(&if removed.query.is_empty() { "/".to_owned() } else { format!("/?{}", removed.query) }))
}
