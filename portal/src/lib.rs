//! The web portal: sign-in, sessions, CSRF, pages, JSON API. The only place that knows browsers.
//!
//! [`app`] gives one router; it opens no socket. Every route stands in [`routes::table`] with the
//! decision who may call it. How a login travels and how to add a route: `portal/README.md`.

mod api;
mod assembly;
pub mod auth;
mod compression;
mod context;
mod csrf;
mod fault;
mod gate;
mod grant_search;
pub mod index;
mod layers;
mod live;
mod look;
mod metrics;
pub mod openapi;
mod operations;
mod pages;
mod parts;
mod prom;
mod refusals;
pub mod routes;
mod run_books;
mod session_follow;
mod ssh;
mod state;
mod time_range;
mod user;
mod vms;

#[cfg(test)]
mod tests;

pub use assembly::app;
pub use index::ClusterIndex;
pub use live::LiveLimits;
pub use parts::{ClusterAccess, Link, PortalParts, SessionRules, SignInParts, Site, Urls};
pub use run_books::RunBooks;
pub use ssh::SshParts;
pub use state::{PortalState, StartError};
pub use vms::VmSource;

/// Registers the portal's metrics: for the generated reference, and once by [`PortalState::new`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::PortalMetrics::register(registry);
    live::LiveMetrics::register(registry);
}
