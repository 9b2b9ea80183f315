//! Who may reach what: grants, elevations, robots, tokens, policy, and the directory of targets over the store.
//!
//! Grants in use are cached and follow the store's change feed, so that a request costs no query and a
//! revocation ends live streams within a second (`contract/rules.md` §3.6, §3.7).

mod access;
mod active_grant;
pub mod credentials;
mod directory;
mod elevations;
mod extend;
mod follow;
mod forgotten;
mod grant_status;
mod grants;
pub mod imports;
mod issue;
mod life;
mod metrics;
mod page;
mod policy;
mod privilege_cache;
mod reason;
mod revoke;
mod rights;
mod robots;
mod shell;
mod ssh;
mod streams;
mod token;

pub use access::{Access, AccessParts};
pub use active_grant::{ActiveGrant, EndReason, Refusal};
pub use directory::{KubeconfigParts, ReadKubeconfig, StoreDirectory, kubeconfig_place};
pub use elevations::{ElevationError, ElevationFilter, ElevationRequest};
pub use extend::ExtendError;
pub use grant_status::GrantStatus;
pub use grants::{AccessError, GrantFilter, GrantPage, GrantView};
pub use issue::{IssueError, IssueRequest, IssuedGrant, RenewError};
pub use page::OwnPage;
pub use policy::{Caller, Policy, Via};
pub use reason::{BadReason, ReasonLimits};
pub use revoke::RevokeScope;
pub use rights::rights_of;
pub use robots::{RobotError, RobotRequest, RobotView};
pub use ssh::{ssh_machine, ssh_user};
pub use streams::{RequestGuard, StreamGuard, TooManyRequests, TooManyStreams};
pub use token::{ParsedToken, TokenCodec};

/// Registers what is counted: for the generated reference, and once by [`Access::start`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::AccessMetrics::register(registry);
}
