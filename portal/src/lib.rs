//! The web portal: sign-in, sessions, CSRF, pages, JSON API. The only place that knows browsers.
//!
//! [`app`] gives one router; it opens no socket. Every route stands in [`routes::table`] with the
//! decision who may call it. How a login travels and how to add a route: `portal/README.md`.

mod api;
mod assembly;
pub mod auth;
mod context;
mod csrf;
mod fault;
mod find;
mod gate;
pub mod index;
mod layers;
mod metrics;
mod pages;
mod prom;
mod range;
mod refusals;
pub mod routes;
mod state;
mod user;

#[cfg(test)]
mod tests;

pub use assembly::app;
pub use index::ClusterIndex;
pub use state::{Link, PortalParts, PortalState, SessionRules, StartError, Urls};

/// Registers the portal's metrics: for the generated reference, and once by [`PortalState::new`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::PortalMetrics::register(registry);
}
