//! The interface of a look at one cluster.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::Timestamp;
use rp_documents::ResourceId;
use tokio_util::sync::CancellationToken;

use crate::view::ClusterView;

/// The round of a look: which checks are due (`contract/monitor.md` §5, §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// The wall-clock hour differs from the one of the look before.
    pub hourly: bool,
    /// Ten minutes have passed since the network security groups were looked at.
    pub nsg_due: bool,
    /// Counts the looks of this process at this cluster, from 1.
    pub number: u64,
}

/// The result of a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookOutcome {
    pub started: Timestamp,
    pub took: Duration,
    /// Names of the collectors that failed.
    pub failed: Vec<&'static str>,
}

/// Performs looks at clusters. It is notified when a cluster left, to drop its state.
#[async_trait]
pub trait Look: Send + Sync + 'static {
    /// One look. It keeps its own deadline; when `cancel` is cancelled it ends at once and emits what it has.
    async fn look(&self, cluster: Arc<ClusterView>, round: Round, cancel: CancellationToken) -> LookOutcome;

    /// This process no longer monitors the cluster: drops its connections and series. May be called twice,
    /// never while a look at it runs.
    fn forget(&self, id: &ResourceId);
}
