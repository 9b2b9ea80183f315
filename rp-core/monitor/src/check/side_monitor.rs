//! Monitors that run beside the cluster monitor in a look, under the same deadline (`contract/monitor.md` §6, §10,
//! §11).

use std::collections::BTreeMap;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::cluster_objects::Prefixes;
use crate::emit::ClusterDims;
use crate::expose::SeriesGroup;
use crate::names::Metric;
use crate::sample::Sample;
use crate::view::ClusterView;
use crate::worker::Round;

/// The output of a side monitor.
#[derive(Debug, Default)]
pub struct SideMonitorOutput {
    /// Each group of series is replaced independently.
    pub samples: Vec<(SeriesGroup, Vec<Sample>)>,
    /// By collector; cleaned and bounded.
    pub errors: Vec<(&'static str, String)>,
}

/// A monitor beside the cluster monitor: NSG and Hive.
#[async_trait]
pub trait SideMonitor: Send + Sync + 'static {
    /// `nsg` or `hive`.
    fn name(&self) -> &'static str;

    /// The metric that is counted when it panics.
    fn failed(&self) -> &'static Metric;

    /// Whether it has anything to do for this cluster in this round.
    fn due(&self, cluster: &ClusterView, round: Round) -> bool;

    /// Runs the monitor. When `cancel` is cancelled it ends at once and returns what it has.
    async fn run(
        &self,
        cluster: &ClusterView,
        dims: &ClusterDims,
        round: Round,
        cancel: &CancellationToken,
    ) -> SideMonitorOutput;
}

/// The source of address prefixes of Azure's subnets.
#[async_trait]
pub trait SubnetSource: Send + Sync + 'static {
    /// The prefixes of these subnets (lower-case Azure ids), or the error of each; at most ten minutes old.
    async fn prefixes(&self, cluster: &ClusterView, ids: &[String]) -> BTreeMap<String, Prefixes>;
}
