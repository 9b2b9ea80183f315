//! Emits samples (`contract/monitor.md` §13, `contract/metrics.md` §4): each is passed once and becomes
//! a statsd line of the service's or the cluster's emitter, and a Prometheus series, counter or histogram.
//!
//! Emitting never blocks and never fails: what a receiver does not accept is dropped and counted.

mod recorder;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use rp_base::SharedClock;
use rp_config::MetricsDetail;
use rp_documents::ResourceId;
use rp_metrics::{Gauge, Registry, Statsd, metrics, statsd};

pub use recorder::{RecordedSample, Recorder};

use crate::expose::{Exposition, SeriesGroup};
use crate::names::{Account, Metric, Scope, client, own};
use crate::sample::{Sample, Text, Value};
use crate::view::ClusterView;

metrics! {
    struct EmitMetrics("aro_service") {
        /// When the monitor was ready last, since the Unix epoch: its heartbeat.
        heartbeat: Gauge = "heartbeat_timestamp_seconds";
    }
}

/// Dimensions of every line about a cluster. Built once per [`ClusterView`]; cheap to clone.
#[derive(Debug, Clone)]
pub struct ClusterDims(Arc<Dims>);

#[derive(Debug)]
struct Dims {
    id: ResourceId,
    subscription: Box<str>,
    /// In lower case, as in `[D]`.
    subscription_lower: Box<str>,
    location: Box<str>,
}

impl ClusterDims {
    /// Dimensions of a cluster; `location` is empty for imported ones.
    pub fn new(id: &ResourceId, location: &str) -> Self {
        // In the case of the id; the key is in lower case.
        let subscription: Box<str> = id.original().split('/').nth(2).unwrap_or_default().into();
        let subscription_lower = subscription.to_ascii_lowercase().into();
        Self(Arc::new(Dims { id: id.clone(), subscription, subscription_lower, location: location.into() }))
    }

    /// The same from the view of its document.
    pub fn from_view(view: &ClusterView) -> Self {
        Self::new(&view.id, &view.location)
    }

    /// The cluster.
    pub fn id(&self) -> &ResourceId {
        &self.0.id
    }

    /// The dimensions of a scope, in the names of statsd.
    fn scope(&self, scope: Scope) -> ([(&str, &str); 4], usize) {
        let of = &*self.0;
        let id = ("resourceId", of.id.original());
        let cluster = [
            id,
            ("subscriptionId", &*of.subscription),
            ("resourceGroup", of.id.resource_group()),
            ("resourceName", of.id.name()),
        ];
        match scope {
            Scope::None => (cluster, 0),
            Scope::Cluster => (cluster, 4),
            Scope::Document => {
                let document =
                    [id, ("location", &*of.location), ("subscriptionId", &*of.subscription_lower), id];
                (document, 3)
            }
        }
    }

    /// The Prometheus labels of every series of the cluster.
    pub(crate) fn labels(&self) -> [(&'static str, &str); 4] {
        let of = &*self.0;
        [
            ("resource_id", of.id.original()),
            ("subscription_id", &*of.subscription),
            ("resource_group", of.id.resource_group()),
            ("resource_name", of.id.name()),
        ]
    }
}

/// The dependencies of [`Emitters`].
#[derive(Debug)]
pub struct EmitterParts {
    /// `MDM_ACCOUNT`/`MDM_NAMESPACE`, with hostname, location, service, version and Environment on every line.
    pub service: Statsd,
    /// `CLUSTER_MDM_ACCOUNT`/`CLUSTER_MDM_NAMESPACE`, with location and Environment.
    pub cluster: Statsd,
    pub clock: SharedClock,
    pub registry: Registry,
    /// How much of each cluster is exposed to Prometheus.
    pub detail: MetricsDetail,
}

/// Both emitters and the exposition. Cheap to clone.
#[derive(Clone)]
pub struct Emitters(Arc<Inner>);

struct Inner {
    service: Sink,
    cluster: Sink,
    clock: SharedClock,
    exposition: Exposition,
    metrics: EmitMetrics,
}

enum Sink {
    Statsd(Statsd),
    Recorder(Recorder, Account),
}

impl fmt::Debug for Emitters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitters").field("exposition", &self.0.exposition).finish_non_exhaustive()
    }
}

/// Registers every metric of the monitor, for lists of metrics.
pub fn register_metrics(registry: &Registry) {
    EmitMetrics::register(registry);
    statsd::register_metrics(registry);
    rp_azure::register_metrics(registry);
    rp_pool::PoolMetrics::register(registry);
    crate::feed::FeedMetrics::register(registry);
    crate::worker::WorkerMetrics::register(registry);
    let _ = Exposition::new(registry, MetricsDetail::default());
}

impl Emitters {
    /// Emits over these; the exposition is attached to the registry.
    pub fn new(parts: EmitterParts) -> Self {
        let EmitterParts { service, cluster, clock, registry, detail } = parts;
        Self::over(Sink::Statsd(service), Sink::Statsd(cluster), clock, &registry, detail)
    }

    /// Records what is emitted, for tests and for a look that is only printed.
    pub fn recording(clock: SharedClock) -> (Self, Recorder) {
        let (registry, recorder) = (Registry::new(), Recorder::default());
        let sink = |account| Sink::Recorder(recorder.clone(), account);
        let emitters = Self::over(
            sink(Account::Service),
            sink(Account::Cluster),
            clock,
            &registry,
            MetricsDetail::default(),
        );
        recorder.watches(registry);
        (emitters, recorder)
    }

    /// The same with the system's clock.
    pub fn for_tests() -> (Self, Recorder) {
        Self::recording(Arc::new(rp_base::SystemClock))
    }

    fn over(
        service: Sink,
        cluster: Sink,
        clock: SharedClock,
        registry: &Registry,
        detail: MetricsDetail,
    ) -> Self {
        let exposition = Exposition::new(registry, detail);
        let metrics = EmitMetrics::register(registry);
        Self(Arc::new(Inner { service, cluster, clock, exposition, metrics }))
    }

    /// Emits a metric of the process. `dims` are dimensions by their statsd names; labels that statsd does not have
    /// are passed by their label name and are left off the line.
    pub fn service(&self, metric: &'static Metric, value: Value, dims: &[(&str, &str)]) {
        let find =
            |name: Option<&str>| dims.iter().find(|(key, _)| Some(*key) == name).map(|(_, text)| *text);
        let text = |dim: &crate::names::Dim| find(dim.statsd).or_else(|| find(dim.label)).unwrap_or_default();
        let own = metric.dims.iter().map(|dim| Text::Owned(text(dim).to_owned())).collect();
        self.one(None, &Sample { metric, value, dims: own, spread: Vec::new(), exact: None });
    }

    /// Emits one event about a cluster (`failedworker`, `timedout`, durations and errors of collectors): a line with
    /// the dimensions of its scope, and a counter or histogram that does not name the cluster.
    pub fn about(&self, of: &ClusterDims, sample: &Sample) {
        self.one(Some(of), sample);
    }

    /// The heartbeat: the line goes out only while ready (`contract/monitor.md` §12).
    pub fn heartbeat(&self, ready: bool, version: &str) {
        if ready {
            self.service(&own::HEARTBEAT, Value::Int(1), &[("version", version)]);
            #[expect(clippy::cast_precision_loss, reason = "milliseconds stay below 2^53")]
            self.0.metrics.heartbeat.set(self.0.clock.now().millis() as f64 / 1000.0);
        } else {
            let sample = Sample::int(&own::HEARTBEAT, 0, [Text::Owned(version.to_owned())]);
            self.0.exposition.record(&sample);
        }
    }

    /// Emits every call to Azure to statsd; the client itself records it for Prometheus.
    pub fn azure_observer(&self) -> rp_azure::Observer {
        let emitters = self.clone();
        Arc::new(move |call| {
            let (client, code) =
                (format!("rp-azure/{}.{}", call.client, call.operation), call.code.to_string());
            let dims = [("client", client.as_str()), ("code", code.as_str())];
            let millis = i64::try_from(call.took.as_millis()).unwrap_or(i64::MAX);
            emitters.service(&client::AZURE_COUNT, Value::Int(1), &dims);
            emitters.service(&client::AZURE_DURATION, Value::Int(millis), &dims);
            if call.failed {
                emitters.service(&client::AZURE_ERRORS, Value::Int(1), &dims);
            }
        })
    }

    /// Emits the process's numbers to statsd (`contract/metrics.md` §2 "process").
    pub fn process(&self) {
        if let Sink::Statsd(statsd) = &self.0.service {
            statsd.process();
        }
    }

    /// Emits the samples of a look: every sample as a line; held series replace what Prometheus was shown of
    /// this cluster before, except hourly series for which this look has no samples.
    pub fn cluster(&self, of: &ClusterDims, samples: &[Sample]) {
        self.group(of, SeriesGroup::Cluster, samples, &[]);
    }

    /// The same for one group of series: only that group is replaced. Series of `kept` stay although the look
    /// has no samples for them, because their collector failed.
    pub fn group(&self, of: &ClusterDims, part: SeriesGroup, samples: &[Sample], kept: &[&'static Metric]) {
        self.lines(Some(of), samples);
        for sample in samples.iter().filter(|sample| !sample.metric.kind.is_held()) {
            self.0.exposition.record(sample);
        }
        self.0.exposition.replace(of, part, samples, kept);
    }

    /// The cluster is not ours any more: removes its series.
    pub fn forget(&self, id: &ResourceId) {
        self.0.exposition.forget(id);
    }

    /// Waits until everything emitted so far has been sent or given up.
    pub async fn flush(&self) {
        for sink in [&self.0.service, &self.0.cluster] {
            if let Sink::Statsd(statsd) = sink {
                statsd.flush().await;
            }
        }
    }

    fn one(&self, of: Option<&ClusterDims>, sample: &Sample) {
        self.lines(of, std::slice::from_ref(sample));
        self.0.exposition.record(sample);
    }

    fn lines(&self, of: Option<&ClusterDims>, samples: &[Sample]) {
        for (account, sink) in [(Account::Service, &self.0.service), (Account::Cluster, &self.0.cluster)] {
            let mut mine = samples.iter().filter(|sample| sample.metric.account == account).peekable();
            if mine.peek().is_some() {
                sink.lines(of, mine);
            }
        }
    }
}

impl Sink {
    fn lines<'a>(&self, of: Option<&ClusterDims>, samples: impl Iterator<Item = &'a Sample>) {
        let mut batch = match self {
            Self::Statsd(statsd) if !statsd.is_on() => return,
            Self::Statsd(statsd) => Some(statsd.batch()),
            Self::Recorder(..) => None,
        };
        let mut dims: Vec<(&str, &str)> = Vec::with_capacity(16);
        for sample in samples {
            dims.clear();
            dims.extend(sample.statsd());
            // The dimensions of the scope come last: they win over equal names.
            if let Some((scope, count)) = of.map(|of| of.scope(sample.metric.scope)) {
                dims.extend_from_slice(&scope[..count]);
            }
            match (self, &mut batch) {
                (Self::Recorder(recorder, account), _) => recorder.keep(*account, sample, &dims),
                (Self::Statsd(_), Some(batch)) => batch.add(sample.metric.name, wire(sample), &dims),
                (Self::Statsd(_), None) => {}
            }
        }
        if let Some(batch) = batch {
            batch.emit();
        }
    }
}

/// The value as the metric's type on the wire.
fn wire(sample: &Sample) -> statsd::Value {
    use crate::names::Wire;
    match (sample.metric.wire, sample.value) {
        (Wire::Int, Value::Int(value)) => statsd::Value::Whole(value),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturates, which is what a count that large deserves"
        )]
        (Wire::Int, Value::Float(value)) => statsd::Value::Whole(value.round() as i64),
        (Wire::Float, value) => statsd::Value::Float(value.as_f64()),
    }
}
