//! The web portal: routes, the gate in front of every handler, the layers around them, and the router of it all.
//! Handlers are in `portal-pages` and `portal-api`, but for three: readiness and the OpenAPI document are here,
//! back-channel logout is in `portal-session`.
//!
//! [`app`] gives one router; it opens no socket. Every route stands in [`routes::table`] with the
//! decision who may call it. How a login travels and how to add a route: `portal/README.md`.

mod assembly;
mod compression;
mod failure;
mod gate;
mod layers;
pub mod openapi;
mod ready;
pub mod route;
pub mod routes;

#[cfg(test)]
mod tests;

pub use assembly::app;

/// Registers the portal's metrics, for the generated reference.
pub fn register_metrics(registry: &rp_metrics::Registry) {
    portal_session::metrics::PortalMetrics::register(registry);
    portal_model::live_limits::LiveMetrics::register(registry);
}
