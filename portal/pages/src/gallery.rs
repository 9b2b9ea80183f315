//! `/gallery`: every sample of every page and component, where everything is simulated; elsewhere there is none.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use web::GalleryPage;

use crate::answer::answer;
use crate::answer::html;
use crate::frame::frame;

/// The list of them.
pub async fn page(State(state): State<PortalState>, Ctx(context): Ctx) -> Result<Response, Fault> {
    let names = samples(&state)?.into_iter().map(|item| item.name).collect();
    answer(&context, StatusCode::OK, &GalleryPage { frame: frame(&state, &context), names })
}

/// One of them, whole.
pub async fn item(State(state): State<PortalState>, Path(name): Path<String>) -> Result<Response, Fault> {
    let found = samples(&state)?.into_iter().find(|item| item.name == name);
    found.map(|item| html(item.html)).ok_or_else(Fault::not_found)
}

fn samples(state: &PortalState) -> Result<Vec<web::GalleryItem>, Fault> {
    if !state.session.site.simulated {
        return Err(Fault::not_found());
    }
    web::gallery().map_err(|_| Fault::internal())
}
