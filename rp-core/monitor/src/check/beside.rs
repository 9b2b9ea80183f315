//! What runs beside the cluster monitor in a look, under the same deadline (`contract/monitor.md` §6, §10,
//! §11).

use std::collections::BTreeMap;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::emit::ClusterDims;
use crate::expose::Part;
use crate::names::Metric;
use crate::sample::Sample;
use crate::seen::Prefixes;
use crate::view::ClusterView;
use crate::worker::Round;

/// What one of them told.
#[derive(Debug, Default)]
pub struct BesideDone {
    /// Each part's series are replaced by themselves.
    pub samples: Vec<(Part, Vec<Sample>)>,
    /// By collector; cleaned and bounded.
    pub errors: Vec<(&'static str, String)>,
}

/// The NSG monitor, the Hive monitor.
#[async_trait]
pub trait Beside: Send + Sync + 'static {
    /// `nsg` or `hive`.
    fn name(&self) -> &'static str;

    /// What is counted when it panics.
    fn failed(&self) -> &'static Metric;

    /// Whether it has anything to do for this cluster in this round.
    fn due(&self, cluster: &ClusterView, round: Round) -> bool;

    /// Does it. A cancelled `cancel` asks it to end at once and tell what it has.
    async fn run(
        &self,
        cluster: &ClusterView,
        dims: &ClusterDims,
        round: Round,
        cancel: &CancellationToken,
    ) -> BesideDone;
}

/// Where the address prefixes of Azure's subnets come from.
#[async_trait]
pub trait SubnetSource: Send + Sync + 'static {
    /// The prefixes of these subnets (lower-case Azure ids), or why one is not known; at most ten minutes old.
    async fn prefixes(&self, cluster: &ClusterView, ids: &[String]) -> BTreeMap<String, Prefixes>;
}
