//! `/gallery`: every sample of every page and component, where everything is simulated and the build has the feature
//! `samples`; elsewhere there is none.

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
    let names = samples(&state)?.into_iter().map(|(name, _)| name).collect();
    answer(&context, StatusCode::OK, &GalleryPage { frame: frame(&state, &context), names })
}

/// One of them, whole.
pub async fn item(State(state): State<PortalState>, Path(name): Path<String>) -> Result<Response, Fault> {
    let found = samples(&state)?.into_iter().find(|(known, _)| *known == name);
    found.map(|(_, document)| html(document)).ok_or_else(Fault::not_found)
}

/// The name of each with its document.
fn samples(state: &PortalState) -> Result<Vec<(String, String)>, Fault> {
    if state.session.site.simulated { rendered() } else { Err(Fault::not_found()) }
}

#[cfg(feature = "samples")]
fn rendered() -> Result<Vec<(String, String)>, Fault> {
    let items = web_samples::gallery().map_err(|_| Fault::internal())?;
    Ok(items.into_iter().map(|item| (item.name, item.html)).collect())
}

#[cfg(not(feature = "samples"))]
fn rendered() -> Result<Vec<(String, String)>, Fault> {
    Err(Fault::not_found())
}
