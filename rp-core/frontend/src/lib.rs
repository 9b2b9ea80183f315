//! The resource provider's front: it takes requests of ARM, records what they want, and answers what is stored
//! (`contract/frontend.md`). It never calls a cluster, and it does no work: the backend does.
//!
//! Entry rule: what turns an HTTP request into a stored intent, or a stored document into an answer.

mod admin;
mod audit;
pub mod auth;
mod azure_checks;
mod call;
mod clusters;
mod credentials;
mod dependencies;
mod detectors;
mod dispatch;
mod document;
mod edge;
mod fault;
mod metrics;
mod not_ready;
mod offers;
mod operations;
mod paging;
mod path;
mod pipeline;
mod preflight;
mod response;
mod secrets;
mod subscriptions;
mod versions;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;

pub use admin::{
    AdminParts, AdminRole, AdminRoles, ClusterConnector, Investigations, Issuer, SshEndpoint, TenantResources,
};
pub use azure_checks::AzureChecks;
pub use dependencies::{
    AllowAll, AuthorizedCaller, Authorizer, Caller, CreateChecks, FrontendParts, Offers, OperatorRole,
    RoleSet,
};
pub use detectors::{AppLensDetectors, Detectors};
pub use edge::{Edge, ReadyWindow};
pub use metrics::Metrics;
pub use not_ready::NotReady;
pub use offers::StoreOffers;

/// The API as a router that takes every path. A request's extension `ConnectInfo<SocketAddr>` says where it comes from.
pub fn router(parts: FrontendParts) -> Router {
    Frontend::new(parts).router()
}

/// The API.
#[derive(Debug, Clone)]
pub struct Frontend(Arc<FrontendParts>);

impl Frontend {
    /// Over its parts.
    pub fn new(parts: FrontendParts) -> Self {
        Self(Arc::new(parts))
    }

    /// As [`router`].
    pub fn router(&self) -> Router {
        Router::new().fallback(pipeline::handle).with_state(Arc::clone(&self.0))
    }

    /// Whether requests can be taken (`contract/frontend.md` §13).
    ///
    /// # Errors
    /// What is waited for.
    pub async fn ready(&self) -> Result<(), NotReady> {
        edge::ready(&self.0).await
    }

    /// Says every minute that it lives, for as long as it is polled (`contract/frontend.md` §14.3).
    pub async fn heartbeat(&self) {
        edge::heartbeat(&self.0).await;
    }
}
