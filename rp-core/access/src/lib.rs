//! Who may reach what: grants, elevations, robots, tokens, policy, and the directory of targets over the store.
//!
//! Grants in use are cached and follow the store's change feed, so that a request costs no query and a
//! revocation ends live streams within a second (`contract/rules.md` §3.6, §3.7).

mod access;
pub mod credentials;
mod directory;
mod elevations;
mod extend;
mod follow;
mod grants;
pub mod imports;
mod issue;
mod live;
mod metrics;
mod page;
mod policy;
mod powers;
mod revoke;
mod rights;
mod robots;
mod shell;
mod ssh;
mod streams;
mod token;

pub use access::{Access, AccessParts};
pub use directory::{KubeconfigParts, ReadKubeconfig, StoreDirectory, kubeconfig_place};
pub use elevations::{ElevationAsk, ElevationError, ElevationFilter};
pub use extend::ExtendError;
pub use grants::{AccessError, GrantFilter, GrantPage, GrantView};
pub use issue::{Ask, IssueError, Issued, RenewError};
pub use live::{Ended, Live, Refusal};
pub use page::OwnPage;
pub use policy::{Caller, Outage, Policy, Via};
pub use revoke::RevokeScope;
pub use robots::{RobotAsk, RobotError, RobotView};
pub use ssh::{ssh_machine, ssh_user};
pub use streams::{RequestGuard, StreamGuard, TooManyRequests, TooManyStreams};
pub use token::{ParsedToken, TokenForge};

/// Registers what is counted: for the generated reference, and once by [`Access::start`].
pub fn register_metrics(registry: &rp_metrics::Registry) {
    metrics::AccessMetrics::register(registry);
}
