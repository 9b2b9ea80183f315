//! What the actions on one cluster have in common: the cluster, its API server, the query.

use std::time::Duration;

use rp_api::CloudError;

use super::cluster_api::{AdminApi, ClusterApi};
use super::{failed, rules};
use crate::call::Call;
use crate::dependencies::FrontendParts;
use crate::document::{self, StoredCluster};
use crate::fault::Fault;
use crate::metrics::UnplannedMaintenance;
use crate::path::ClusterPath;

/// One action: its cluster and its request.
#[derive(Clone, Copy)]
pub(super) struct ActionContext<'a> {
    pub(super) parts: &'a FrontendParts,
    pub(super) call: &'a Call,
    pub(super) path: &'a ClusterPath,
}

impl<'a> ActionContext<'a> {
    /// The stored cluster.
    ///
    /// # Errors
    /// 404 `ResourceNotFound`, or the store's.
    pub(super) async fn cluster(&self) -> Result<StoredCluster, Fault> {
        let found = document::find(&self.parts.store, &self.path.key()).await?;
        found.ok_or_else(|| self.path.missing().into())
    }

    /// The cluster's API server with the service's credential.
    pub(super) async fn admin_api(&self) -> Result<AdminApi, CloudError> {
        let reach = self.parts.admin.reach.as_ref().ok_or_else(unreachable)?;
        reach.admin(self.path, &self.call.correlation.request).await
    }

    /// The cluster's API server with the credential that reads, for answers that are passed on as they come.
    pub(super) async fn reader_api(&self) -> Result<AdminApi, CloudError> {
        let reach = self.parts.admin.reach.as_ref().ok_or_else(unreachable)?;
        reach.reader(self.path, &self.call.correlation.request).await
    }

    /// The cluster's API server with the credential that reads.
    pub(super) async fn api(&self) -> Result<ClusterApi, CloudError> {
        self.parts.admin.reach.as_ref().ok_or_else(unreachable)?.api(self.path).await
    }

    /// A parameter of the query; empty: it is not given.
    pub(super) fn text(&self, name: &str) -> &'a str {
        self.call.parameter(name).unwrap_or_default()
    }

    /// `vmName`.
    pub(super) fn machine(&self) -> Result<&'a str, CloudError> {
        rules::machine(self.call)
    }

    /// Says that the cluster is being worked on, until the guard is dropped (`contract/frontend.md` §14.3). To be called
    /// after the request was checked ("Do better" 30).
    pub(super) fn signal(&self) -> UnplannedMaintenance {
        self.parts.edge.metrics.unplanned(self.path.key())
    }
}

fn unreachable() -> CloudError {
    failed("clusters cannot be reached from here")
}

/// Bounds the work of an action that answers at its end.
///
/// # Errors
/// The work's, or 500: it took longer.
pub(super) async fn within<T, E: From<CloudError>>(
    time: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let late = || failed(format!("the cluster did not answer within {} s", time.as_secs()));
    tokio::time::timeout(time, work).await.map_err(|_| E::from(late()))?
}
