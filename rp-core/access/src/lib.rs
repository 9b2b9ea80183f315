//! Who may reach what: grants, tokens, policy, and the directory of targets over the store.
//!
//! Grants in use are cached and follow the store's change feed, so that a request costs no query and a
//! revocation ends live streams within a second (`design.md` §3 Access, Freshness).

mod access;
mod directory;
mod follow;
pub mod imports;
mod issue;
mod live;
mod policy;
mod token;

pub use access::{Access, AccessError, AccessParts, GrantFilter, GrantView};
pub use directory::{KubeconfigParts, ReadKubeconfig, StoreDirectory, kubeconfig_place};
pub use issue::{Ask, IssueError, Issued};
pub use live::{Ended, Live, Refusal, StreamGuard};
pub use policy::{Caller, Policy};
pub use token::{ParsedToken, TokenForge};
