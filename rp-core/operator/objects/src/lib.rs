//! The objects that the operator keeps in a cluster, and the decisions behind them (`contract/operator.md` §8). Pure:
//! values in, values out.
//!
//! Entry rule: what one controller wants of the cluster, as a function of what it has read. The controllers themselves
//! (watches, requests, conditions) are in `rp-operator`.
//!
//! An object that is applied states only the members that the operator owns (`contract/operator.md` "Do better" 3): it
//! goes to the API server by server-side apply. Lists that belong to customers too are changed by a merge patch that
//! names the version it was decided on.

pub mod dnsmasq;
pub mod etc_hosts;
#[cfg(test)]
mod golden;
pub mod guardrails;
pub mod image_config;
pub mod logging;
pub mod machine_health_check;
pub mod network_policy;
pub mod node_names;
mod plan;
pub mod pull_secret;
pub mod rbac;
pub mod upgrade_operator;
mod version;
pub mod workaround;

pub use plan::{Change, ObjectRef, Plan};
pub use version::{Version, VersionError};
