//! `/access`: what I have been given; `POST /access/{id}/revoke`.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use rp_access::{AccessError, GrantFilter};
use rp_base::Id;
use rp_documents::Side;
use rp_documents::grant::GrantState;
use web::{AccessPage, Place};

use super::{answer, frame, rows, see_other};
use crate::context::Ctx;
use crate::fault::Fault;
use crate::state::PortalState;
use crate::user::CurrentUser;

/// Ended grants that are shown.
const ENDED: usize = 50;

/// My grants: active ones first to end first, then those that ended lately.
pub(crate) async fn page(
    State(state): State<PortalState>,
    Ctx(context): Ctx,
    user: CurrentUser,
) -> Result<Response, Fault> {
    let filter =
        GrantFilter { owner_sub: Some(user.caller.person.sub.clone()), limit: 500, ..GrantFilter::default() };
    let views = state.0.access.list(&filter).await.map_err(|error| Fault::store(&error))?.items;
    let (mut active, ended): (Vec<_>, Vec<_>) =
        views.iter().partition(|view| view.state == GrantState::Active);
    active.sort_by_key(|view| view.grant.not_after);
    let mut frame = frame(&state, &context);
    frame.place = Place::Access;
    frame.grants = u64::try_from(active.len()).ok();
    let page = AccessPage {
        grants: active.into_iter().map(|view| rows::grant_row(view, &user)).collect(),
        ended: ended.into_iter().take(ENDED).map(|view| rows::grant_row(view, &user)).collect(),
        limit: u64::try_from(state.0.access.policy().max_grants).unwrap_or(0),
        notice: None,
        failure: None,
        frame,
    };
    answer(&context, StatusCode::OK, &page)
}

/// Ends one of my grants (an admin: anybody's), everywhere within a second.
pub(crate) async fn revoke(
    State(state): State<PortalState>,
    user: CurrentUser,
    Path(id): Path<String>,
) -> Result<Response, Fault> {
    let id = Id::parse(&id).map_err(|_| Fault::not_found())?;
    match state.0.access.revoke(&user.caller, &id, None).await {
        // Pressing twice is no error.
        Ok(_) | Err(AccessError::Ended) => Ok(see_other("/access")),
        Err(error) => Err(refusal(&error)),
    }
}

/// A revocation that did not happen.
pub(crate) fn refusal(error: &AccessError) -> Fault {
    match error {
        AccessError::Unknown => {
            Fault::new(StatusCode::NOT_FOUND, "grant_not_found", Side::You, "No such grant")
                .link("My access", "/access")
        }
        AccessError::NotYours => {
            Fault::new(StatusCode::FORBIDDEN, "not_yours", Side::You, "This grant is somebody else's")
                .action("Its owner or an admin can revoke it.")
        }
        AccessError::Ended => {
            Fault::new(StatusCode::CONFLICT, "grant_ended", Side::You, "The grant has ended already")
        }
        AccessError::Store(cause) => Fault::store(cause),
        AccessError::Audit(cause) => Fault::audit(cause),
    }
}
