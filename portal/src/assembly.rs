//! The router, built from the table.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use portal_model::state::PortalState;
use portal_session::fault::Fault;

use crate::gate::{Gate, gate};
use crate::layers;
use crate::routes::table;

/// The whole portal behind one router: no socket is opened, so tests send requests into it. The front
/// service puts `ConnectInfo<SocketAddr>` into each request.
pub fn app(state: PortalState) -> Router {
    let mut router = Router::new();
    for route in table() {
        let gate_state = Gate { state: state.clone(), route };
        let methods = (route.handler)(route.method.filter())
            .layer(DefaultBodyLimit::max(route.body))
            .layer(from_fn_with_state(gate_state, gate));
        router = router.route(route.path, methods);
    }
    let router = router
        .fallback(|| async { Fault::not_found() })
        .method_not_allowed_fallback(|| async { Fault::status(http::StatusCode::METHOD_NOT_ALLOWED) })
        .with_state(state.clone());
    layers::with_layers(state, router)
}
