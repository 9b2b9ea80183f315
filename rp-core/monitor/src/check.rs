//! One look at one cluster (`contract/monitor.md` §6–8).

mod cluster;
mod hive;
mod records;
mod side_monitor;
#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use rp_base::SharedClock;
use rp_documents::ResourceId;
use rp_kube::lean::LeanOptions;
use rp_net::{Budget, Dialer, Directory};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

pub use self::hive::HiveMonitor;
pub use self::records::Records;
pub use self::side_monitor::{SideMonitor, SideMonitorOutput, SubnetSource};
use crate::cluster_objects::ClusterObjects;
use crate::collect::{COLLECTORS, Level, LogLine, metrics_of_collector};
use crate::connect::Connections;
use crate::emit::{ClusterDims, Emitters};
use crate::expose::SeriesGroup;
use crate::fetch::{Buffers, FetchLimits};
use crate::names::{Metric, own};
use crate::runner::{CollectorOutcome, LookFindings, Panicked, SharedFindings};
use crate::sample::Sample;
use crate::view::ClusterView;
use crate::worker::{Look, LookOutcome, Round};

/// Options of a look; the defaults are the contract's.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// Time-out of one look.
    pub timeout: Duration,
    /// Time for a look to end after its time-out; then it is abandoned and its connections are closed.
    pub grace: Duration,
    /// Concurrent collectors of one cluster.
    pub parallel: usize,
    pub fetch: FetchLimits,
    pub connection: LeanOptions,
    /// Connections to one cluster that stay open between two looks.
    pub keep: usize,
    /// Only these collectors, by name, beside those that come before all others; `None`: all.
    pub only: Option<Vec<String>>,
    /// What the API shows of a cluster is read in one of this many looks; 0: never.
    pub mirror_every: u64,
    /// Commit of this program.
    pub commit: &'static str,
}

impl Default for CheckOptions {
    fn default() -> Self {
        let user_agent = "aro (monitor)".to_owned();
        Self {
            timeout: Duration::from_secs(50),
            grace: Duration::from_secs(10),
            parallel: 5,
            fetch: FetchLimits::default(),
            connection: LeanOptions { user_agent, ..LeanOptions::default() },
            keep: 1,
            only: None,
            mirror_every: 5,
            commit: "",
        }
    }
}

/// The dependencies of a [`Check`].
pub struct CheckParts {
    pub directory: Arc<dyn Directory>,
    pub dialer: Dialer,
    pub clock: SharedClock,
    pub budget: Budget,
    pub emitters: Emitters,
    /// `None`: the results are only emitted.
    pub records: Option<Records>,
    pub beside: Vec<Arc<dyn SideMonitor>>,
    pub subnets: Option<Arc<dyn SubnetSource>>,
    pub options: CheckOptions,
}

impl std::fmt::Debug for CheckParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CheckParts").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Performs looks at clusters. Cheap to clone.
#[derive(Clone)]
pub struct Check(Arc<Inner>);

struct Inner {
    connections: Connections,
    clock: SharedClock,
    budget: Budget,
    emitters: Emitters,
    records: Option<Records>,
    beside: Vec<Arc<dyn SideMonitor>>,
    subnets: Option<Arc<dyn SubnetSource>>,
    options: CheckOptions,
    buffers: Arc<Buffers>,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Check").field("connections", &self.0.connections.len()).finish_non_exhaustive()
    }
}

/// The context of one look.
struct LookContext {
    view: Arc<ClusterView>,
    dims: ClusterDims,
    round: Round,
    seen: ClusterObjects,
    findings: SharedFindings,
    /// Cancelled at the deadline, and when the process stops.
    stop: CancellationToken,
}

/// A look as [`Check::observe`] gives it.
#[derive(Debug)]
pub struct Observation {
    pub done: LookOutcome,
    /// Every collector of the cluster monitor that ran, in the contract's order.
    pub outcomes: Vec<CollectorOutcome>,
    /// Status of `/healthz`; 0: no answer.
    pub healthz: u16,
}

/// Timeout for writing the results of a look.
const RECORD: Duration = Duration::from_secs(10);

impl Check {
    /// Nothing is dialled yet.
    pub fn new(parts: CheckParts) -> Self {
        let CheckParts { directory, dialer, clock, budget, emitters, records, beside, subnets, options } =
            parts;
        let mut connection = options.connection.clone();
        connection.connections = options.parallel.max(1);
        let connections = Connections::new(directory, dialer, connection);
        let buffers = Arc::default();
        Self(Arc::new(Inner {
            connections,
            clock,
            budget,
            emitters,
            records,
            beside,
            subnets,
            options,
            buffers,
        }))
    }

    /// Performs one look, emits the samples and returns the result of each collector.
    pub async fn observe(
        &self,
        view: Arc<ClusterView>,
        round: Round,
        cancel: CancellationToken,
    ) -> Observation {
        let inner = &self.0;
        let (started, began) = (inner.clock.now(), Instant::now());
        let looking = Arc::new(LookContext {
            dims: ClusterDims::from_view(&view),
            seen: ClusterObjects::new(Arc::clone(&view), started, round.hourly, inner.options.commit),
            view,
            round,
            findings: SharedFindings::default(),
            stop: cancel.child_token(),
        });
        let late = self.run(&looking).await;
        let outcomes = inner.emit_findings(&looking);
        // A look that was cut short by the end of the process says nothing about the cluster.
        if !cancel.is_cancelled()
            && let Some(records) = &inner.records
        {
            let write = records.write(
                &looking.view,
                &looking.seen,
                &outcomes,
                began.elapsed(),
                inner.mirrors(looking.round),
            );
            if timeout(RECORD, write).await.is_err() {
                tracing::error!(resource_id = %looking.view.id, "what was seen could not be stored in time");
            }
        }
        let healthz = looking.seen.healthz_code().unwrap_or_default();
        let failed = outcomes.iter().filter(|outcome| outcome.error.is_some()).map(|outcome| outcome.name);
        let mut failed: Vec<&'static str> = failed.collect();
        if late {
            failed.push("deadline");
        }
        Observation { done: LookOutcome { started, took: began.elapsed(), failed }, outcomes, healthz }
    }

    /// All monitors at once, until the deadline and the grace after it. Whether the deadline passed.
    async fn run(&self, looking: &Arc<LookContext>) -> bool {
        let inner = &self.0;
        let mut monitors = self.start(looking);
        if timeout(inner.options.timeout, monitors.join_all(inner, looking)).await.is_ok() {
            return false;
        }
        let (id, dims) = (&looking.view.id, &looking.dims);
        tracing::info!(resource_id = %id, "The monitoring process for cluster {id} has timed out.");
        inner.emitters.about(dims, &Sample::one(&own::TIMED_OUT, []));
        looking.stop.cancel();
        if timeout(inner.options.grace, monitors.join_all(inner, looking)).await.is_err() {
            inner.emitters.about(dims, &Sample::one(&own::FORCED_CLEANUP, []));
            monitors.0.abort_all();
            inner.connections.forget(id);
        }
        true
    }

    fn start(&self, looking: &Arc<LookContext>) -> Monitors {
        let mut monitors = Monitors::default();
        let (inner, of) = (Arc::clone(&self.0), Arc::clone(looking));
        monitors.spawn("cluster", &own::CLUSTER_FAILED, async move {
            inner.cluster(&of).await;
            SideMonitorOutput::default()
        });
        for beside in self.0.beside.iter().filter(|beside| beside.due(&looking.view, looking.round)) {
            let (beside, of) = (Arc::clone(beside), Arc::clone(looking));
            let (name, failed) = (beside.name(), beside.failed());
            monitors.spawn(
                name,
                failed,
                async move { beside.run(&of.view, &of.dims, of.round, &of.stop).await },
            );
        }
        monitors
    }
}

/// A monitor that ended: its name, what is counted when it panicked, and what it told.
type MonitorResult = (&'static str, &'static Metric, Result<SideMonitorOutput, Panicked>);

/// The running monitors of one look; they end when this is dropped.
#[derive(Default)]
struct Monitors(JoinSet<MonitorResult>);

impl Monitors {
    fn spawn(
        &mut self,
        name: &'static str,
        failed: &'static Metric,
        monitor: impl Future<Output = SideMonitorOutput> + Send + 'static,
    ) {
        let contained = AssertUnwindSafe(monitor).catch_unwind();
        self.0.spawn(async move { (name, failed, contained.await.map_err(|panic| Panicked::new(&*panic))) });
    }

    async fn join_all(&mut self, inner: &Inner, looking: &LookContext) {
        while let Some(ended) = self.0.join_next().await {
            // Only an abort gives an error, and there is no join after an abort.
            let Ok((name, failed, done)) = ended else { continue };
            let id = &looking.view.id;
            match done {
                Ok(done) => {
                    for (part, samples) in done.samples {
                        inner.emitters.group(&looking.dims, part, &samples, &[]);
                    }
                    for (collector, error) in done.errors {
                        tracing::error!(resource_id = %id, monitor = name, collector, error, "collector failed");
                    }
                }
                Err(panic) => {
                    tracing::error!(resource_id = %id, monitor = name, "monitor {panic}");
                    inner.emitters.about(&looking.dims, &Sample::one(failed, []));
                }
            }
        }
    }
}

impl Inner {
    /// Whether what the API shows is read in this round.
    fn mirrors(&self, round: Round) -> bool {
        let every = self.options.mirror_every;
        self.records.is_some() && every > 0 && round.number % every == 1 % every
    }

    /// Emits what the cluster monitor found, and logs each failure once.
    fn emit_findings(&self, looking: &LookContext) -> Vec<CollectorOutcome> {
        // Fleet alerts rely on its presence, also when the look hung before the health was known.
        if looking.seen.healthz_code().is_none() {
            looking.emit_unknown_health();
        }
        let LookFindings { samples, lines, mut outcomes } = looking.findings.take();
        // The order in which collectors end is random; the stored document must not depend on it.
        outcomes.sort_by_key(|outcome| COLLECTORS.iter().position(|it| it.name == outcome.name));
        // The series of a failed collector stay until it succeeds again.
        let failed = outcomes.iter().filter(|outcome| outcome.error.is_some() || outcome.took.is_none());
        let kept: Vec<_> = failed.flat_map(|outcome| metrics_of_collector(outcome.name)).copied().collect();
        self.emitters.group(&looking.dims, SeriesGroup::Cluster, &samples, &kept);
        let id = &looking.view.id;
        for line in &lines {
            log(id, line);
        }
        for outcome in &outcomes {
            if let Some(error) = &outcome.error {
                tracing::error!(resource_id = %id, collector = outcome.name, error, "collector failed");
            }
        }
        outcomes
    }
}

/// Logs a line of a collector. Its field names are data, so they are written as one log field.
fn log(id: &ResourceId, line: &LogLine) {
    let mut fields = String::new();
    for (name, text) in &line.fields {
        fields.push_str(if fields.is_empty() { "" } else { " " });
        fields.push_str(name);
        fields.push('=');
        fields.extend(text.chars().filter(|c| !c.is_control()));
    }
    match line.level {
        Level::Debug => tracing::debug!(resource_id = %id, fields, "{}", line.text),
        Level::Info => tracing::info!(resource_id = %id, fields, "{}", line.text),
        Level::Warn => tracing::warn!(resource_id = %id, fields, "{}", line.text),
        Level::Error => tracing::error!(resource_id = %id, fields, "{}", line.text),
    }
}

#[async_trait]
impl Look for Check {
    async fn look(&self, cluster: Arc<ClusterView>, round: Round, cancel: CancellationToken) -> LookOutcome {
        self.observe(cluster, round, cancel).await.done
    }

    fn forget(&self, id: &ResourceId) {
        self.0.connections.forget(id);
        self.0.emitters.forget(id);
        if let Some(records) = &self.0.records {
            records.forget(id);
        }
    }
}
