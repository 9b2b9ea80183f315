//! `/gallery`: every sample of every page and component, where everything is simulated; elsewhere there is none.

use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use web::GalleryPage;

use super::{answer, frame};
use crate::context::Ctx;
use crate::fault::{Fault, html};
use crate::state::PortalState;

/// The list of them.
pub(crate) async fn page(State(state): State<PortalState>, Ctx(context): Ctx) -> Result<Response, Fault> {
    let names = samples(&state)?.into_iter().map(|item| item.name).collect();
    answer(&context, StatusCode::OK, &GalleryPage { frame: frame(&state, &context), names })
}

/// One of them, whole.
pub(crate) async fn item(
    State(state): State<PortalState>,
    Path(name): Path<String>,
) -> Result<Response, Fault> {
    let found = samples(&state)?.into_iter().find(|item| item.name == name);
    found.map(|item| html(item.html)).ok_or_else(Fault::not_found)
}

fn samples(state: &PortalState) -> Result<Vec<web::GalleryItem>, Fault> {
    if !state.0.site.simulated {
        return Err(Fault::not_found());
    }
    web::gallery().map_err(|_| Fault::internal())
}
