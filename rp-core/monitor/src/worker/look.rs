//! What a worker asks for: one look at one cluster.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::Timestamp;
use rp_documents::ResourceId;
use tokio_util::sync::CancellationToken;

use crate::view::ClusterView;

/// Which parts of a look are due (`contract/monitor.md` §5, §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Round {
    /// The wall-clock hour differs from the one of the look before.
    pub hourly: bool,
    /// Ten minutes have passed since the network security groups were looked at.
    pub nsg_due: bool,
    /// Counts the looks of this process at this cluster, from 1.
    pub number: u64,
}

/// What a look came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookDone {
    pub started: Timestamp,
    pub took: Duration,
    /// Names of the collectors that failed.
    pub failed: Vec<&'static str>,
}

/// Looks at clusters. It is told when one left, so that nothing of it is kept.
#[async_trait]
pub trait Look: Send + Sync + 'static {
    /// One look. It keeps its own deadline; a cancelled `cancel` asks it to end at once and tell what it has.
    async fn look(&self, cluster: Arc<ClusterView>, round: Round, cancel: CancellationToken) -> LookDone;

    /// The cluster is not looked at by this process any more: its connections and series go. May be called twice,
    /// never while a look at it runs.
    fn forget(&self, id: &ResourceId);
}
