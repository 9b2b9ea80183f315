//! The Hive monitor (`contract/monitor.md` §11): its collectors over Hive's own cluster.

use std::sync::Arc;

use async_trait::async_trait;
use rp_base::{SharedClock, chain};
use rp_documents::ResourceId;
use rp_net::Budget;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{SideMonitor, SideMonitorOutput};
use crate::cluster_objects::{ClusterObjects, Resource};
use crate::connect::Connections;
use crate::emit::ClusterDims;
use crate::expose::SeriesGroup;
use crate::fetch::{Buffers, FetchLimits, Fetcher};
use crate::hive::COLLECTORS;
use crate::names::{Metric, own};
use crate::runner::{Runner, SharedFindings, Source};
use crate::sample::{Sample, Text};
use crate::view::ClusterView;
use crate::worker::Round;

/// Checks Hive's objects of clusters.
#[derive(Debug)]
pub struct HiveMonitor {
    /// Of Hive's cluster; one is enough.
    connections: Connections,
    hive: ResourceId,
    budget: Budget,
    clock: SharedClock,
    limits: FetchLimits,
    buffers: Arc<Buffers>,
}

impl HiveMonitor {
    /// `hive`: the cluster that Hive runs in, as the directory of `connections` knows it.
    pub fn new(
        connections: Connections,
        hive: ResourceId,
        budget: Budget,
        clock: SharedClock,
        limits: FetchLimits,
    ) -> Self {
        Self { connections, hive, budget, clock, limits, buffers: Arc::default() }
    }
}

struct Hive(Fetcher);

impl Source for Hive {
    async fn fetch(&self, need: &Resource, seen: &ClusterObjects) {
        self.0.fetch(need, seen).await;
    }
}

#[async_trait]
impl SideMonitor for HiveMonitor {
    fn name(&self) -> &'static str {
        "hive"
    }

    fn failed(&self) -> &'static Metric {
        &own::HIVE_FAILED
    }

    fn due(&self, cluster: &ClusterView, _: Round) -> bool {
        !cluster.id.is_imported()
    }

    async fn run(
        &self,
        cluster: &ClusterView,
        _: &ClusterDims,
        round: Round,
        cancel: &CancellationToken,
    ) -> SideMonitorOutput {
        let began = Instant::now();
        let lean = match self.connections.to(&self.hive).await {
            Ok(lean) => lean,
            Err(error) => {
                let samples = vec![(SeriesGroup::Hive, vec![Sample::one(&own::HIVE_FAILED, [])])];
                return SideMonitorOutput { samples, errors: vec![("connect", chain(&error).to_string())] };
            }
        };
        let buffers = Arc::clone(&self.buffers);
        let fetcher = Fetcher::new(lean, self.budget.clone(), self.limits, buffers, cancel.clone());
        let (seen, findings) = (
            ClusterObjects::new(Arc::new(cluster.clone()), self.clock.now(), round.hourly, ""),
            SharedFindings::default(),
        );
        let source = Hive(fetcher);
        let runner = Runner::new(&seen, &source, cancel, &findings);
        for collector in COLLECTORS {
            runner.one(collector).await;
        }
        let found = findings.take();
        // The runner counts for the cluster monitor; Hive's own are these.
        let own_kind = |sample: &Sample| !sample.metric.name.starts_with("monitor.cluster.");
        let mut samples: Vec<Sample> = found.samples.into_iter().filter(own_kind).collect();
        let failed = found.outcomes.into_iter().filter_map(|outcome| Some((outcome.name, outcome.error?)));
        let errors: Vec<(&'static str, String)> = failed.collect();
        let failures =
            errors.iter().map(|(name, _)| Sample::one(&own::HIVE_COLLECTOR_ERROR, [Text::Borrowed(name)]));
        samples.extend(failures);
        if errors.is_empty() {
            samples.push(Sample::float(&own::HIVE_DURATION, began.elapsed().as_secs_f64(), []));
        }
        SideMonitorOutput { samples: vec![(SeriesGroup::Hive, samples)], errors }
    }
}
