//! `/keys`: what the keyboard does.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use portal_model::state::PortalState;
use portal_session::context::Ctx;
use portal_session::fault::Fault;
use web::KeysPage;

use crate::answer::answer;
use crate::frame::frame;

/// `GET /keys`.
pub async fn page(State(state): State<PortalState>, Ctx(context): Ctx) -> Result<Response, Fault> {
    answer(&context, StatusCode::OK, &KeysPage { frame: frame(&state, &context) })
}
