//! The dependencies of the frontend.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::request;
use rp_api::CloudError;
use rp_base::{SharedClock, SharedRandom};
use rp_database::SharedStore;
use rp_documents::OpenShiftCluster;
use rp_seal::Keyring;
use serde::Serialize;

use crate::admin::{AdminParts, AdminRole};
use crate::detectors::Detectors;
use crate::edge::Edge;
use crate::not_ready::NotReady;

/// The caller, as far as the request's head identifies it.
pub struct Caller<'a> {
    pub head: &'a request::Parts,
    /// Path `/admin…` or `api-version=admin`.
    pub admin: bool,
}

impl fmt::Debug for Caller<'_> {
    /// Without the head: it holds tokens.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("admin", &self.admin).finish_non_exhaustive()
    }
}

/// A caller that was authorized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizedCaller {
    /// The common name in the certificate of an admin caller; empty: not authenticated by a named one.
    pub tool: String,
    /// The most that it may do over the admin API, no matter whom it calls for.
    pub most: AdminRole,
}

impl AuthorizedCaller {
    /// A caller without restrictions.
    pub const fn unrestricted() -> Self {
        Self { tool: String::new(), most: AdminRole::Elevated }
    }
}

/// Decides who may call (`contract/frontend.md` §3).
#[async_trait]
pub trait Authorizer: Send + Sync + fmt::Debug + 'static {
    /// The caller, if the request is allowed.
    async fn authorize(&self, caller: &Caller<'_>) -> Option<AuthorizedCaller>;

    /// Whether it can decide (`contract/frontend.md` §13).
    ///
    /// # Errors
    /// What it waits for.
    async fn ready(&self) -> Result<(), NotReady> {
        Ok(())
    }
}

/// Allows every caller; for development processes on loopback.
#[derive(Debug, Clone, Copy)]
pub struct AllowAll;

#[async_trait]
impl Authorizer for AllowAll {
    async fn authorize(&self, _: &Caller<'_>) -> Option<AuthorizedCaller> {
        Some(AuthorizedCaller::unrestricted())
    }
}

/// What Azure says about a new cluster (`contract/frontend.md` §9): sizes, features, quota, providers.
#[async_trait]
pub trait CreateChecks: Send + Sync + fmt::Debug + 'static {
    /// Checks a new cluster of that subscription and tenant, as stored.
    ///
    /// # Errors
    /// The contract's refusal.
    async fn check(
        &self,
        subscription: &str,
        tenant: &str,
        cluster: &OpenShiftCluster,
    ) -> Result<(), CloudError>;
}

/// What can be installed, as it was last read from the store (`contract/frontend.md` §12.1).
pub trait Offers: Send + Sync + fmt::Debug + 'static {
    /// Enabled versions of OpenShift, oldest first.
    fn versions(&self) -> Vec<String>;

    /// The default one.
    fn default_version(&self) -> Option<String>;

    /// The roles that platform operators need, by minor version.
    fn role_sets(&self) -> Vec<RoleSet>;

    /// How long ago the store was last read completely; `None`: never.
    fn age(&self) -> Option<std::time::Duration> {
        Some(std::time::Duration::ZERO)
    }

    /// Whether the store was read completely and recently.
    fn ready(&self) -> bool {
        true
    }
}

/// The roles of one minor version's operators (`contract/api.md` §8.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoleSet {
    /// `x.y`.
    pub open_shift_version: String,
    pub platform_workload_identity_roles: Vec<OperatorRole>,
}

/// The role of one operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorRole {
    pub operator_name: String,
    pub role_definition_name: String,
    pub role_definition_id: String,
}

/// All dependencies of the frontend.
#[derive(Debug, Clone)]
pub struct FrontendParts {
    pub store: SharedStore,
    pub keyring: Keyring,
    pub clock: SharedClock,
    pub random: SharedRandom,
    pub authorizer: Arc<dyn Authorizer>,
    pub offers: Arc<dyn Offers>,
    /// `None`: Azure is not queried.
    pub checks: Option<Arc<dyn CreateChecks>>,
    /// Our region.
    pub region: String,
    /// The domain of clusters without one of their own, e.g. `eastus.aroapp.io`.
    pub domain: String,
    /// The commit that this program was built of.
    pub commit: String,
    /// The subscription feature `RequireD2sWorkers` is on everywhere.
    pub development_workers: bool,
    /// New clusters reach the outside through the gateway.
    pub gateway: bool,
    /// How requests are bounded, counted and audited.
    pub edge: Edge,
    /// What administrators' routes need.
    pub admin: AdminParts,
    /// `None`: detectors are not available.
    pub detectors: Option<Arc<dyn Detectors>>,
}
