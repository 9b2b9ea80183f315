//! Whether this portal can answer.

use axum::extract::State;
use axum::response::Response;
use portal_model::state::PortalState;
use portal_session::fault::Fault;

/// `GET /healthz/ready`: the store, the audit trail and the cluster list are there
/// (`contract/portal.md` "Do better" 37).
pub(crate) async fn ready(State(state): State<PortalState>) -> Result<Response, Fault> {
    state.session.store.ready().await.map_err(|error| Fault::store(&error))?;
    state.session.audit.ready().map_err(|error| Fault::audit(&error))?;
    Ok(Response::default())
}
