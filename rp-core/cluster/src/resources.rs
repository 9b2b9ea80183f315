//! The steps that touch Azure, by subject (`contract/cluster.md` §6). Each may be run again at any time.

pub(crate) mod addresses;
pub(crate) mod azure;
pub(crate) mod balancer;
pub(crate) mod base;
pub(crate) mod bootstrap;
pub(crate) mod deploy;
pub(crate) mod dns;
pub(crate) mod endpoints;
mod facts;
pub(crate) mod federated;
pub(crate) mod group;
pub(crate) mod identities;
pub(crate) mod machines;
pub(crate) mod oidc;
pub(crate) mod rbac;
pub(crate) mod registry;
pub(crate) mod subnets;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod zone_migration;
pub(crate) mod zones;

pub(crate) use facts::{NamedSubnet, PlatformIdentity};
