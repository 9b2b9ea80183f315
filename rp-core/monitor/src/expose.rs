//! The Prometheus exposition (`contract/metrics.md` §4): series that are held per cluster until its next look,
//! events as counters and histograms that name no cluster, numbers of the process, and sums over the fleet.
//!
//! Ten thousand clusters with 150 series each are 300 MB of text, so series are stored
//! as line suffixes, without the labels of the cluster, and the exposition is rendered in chunks while it
//! is read.

mod chunks;
mod cluster_series;
mod families;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use rp_config::MetricsDetail;
use rp_documents::ResourceId;
use rp_metrics::{
    Counter, Description, Family, Gauge, Histogram, Metric as _, Registry, Source, buckets, labels, metrics,
};

use crate::emit::ClusterDims;
use crate::names::{Kind, Metric};
use crate::sample::Sample;
use cluster_series::{ClusterSeries, GroupSeries};
use families::Families;

/// Maximum label sets of one counter or histogram; further ones are counted under `_overflow`.
const MOST_EVENTS: usize = 1000;

labels! {
    struct Cut { part: &'static str }
}
metrics! {
    struct OwnMetrics("aro_monitor") {
        /// Series of clusters that are held.
        held: Gauge = "held_series";
        /// Series that were left out, for their cluster has more than the budget allows.
        cut: Family<Cut, Counter> = "cut_series_total";
    }
}

/// Groups of series of a cluster that are replaced independently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SeriesGroup {
    /// The cluster monitor.
    Cluster,
    /// The NSG monitor, each round.
    Nsg,
    /// The NSG monitor's rules, every ten minutes.
    NsgRules,
    /// The Hive monitor.
    Hive,
}

impl SeriesGroup {
    const COUNT: usize = 4;

    const fn name(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Nsg => "nsg",
            Self::NsgRules => "nsg_rules",
            Self::Hive => "hive",
        }
    }
}

/// The exposition. Cheap to clone.
#[derive(Clone)]
pub struct Exposition(Arc<Inner>);

struct Inner {
    detail: MetricsDetail,
    families: Families,
    clusters: RwLock<HashMap<Box<str>, Arc<ClusterSeries>>>,
    /// By family and rendered labels.
    instruments: RwLock<HashMap<(u16, Box<str>), Instrument>>,
    metrics: OwnMetrics,
}

#[derive(Debug, Clone)]
enum Instrument {
    Counter(Counter),
    Gauge(Gauge),
    Histogram(Histogram),
}

impl Instrument {
    fn write(&self, name: &str, labels: &str, out: &mut String) {
        match self {
            Self::Counter(counter) => counter.write(name, labels, out),
            Self::Gauge(gauge) => gauge.write(name, labels, out),
            Self::Histogram(histogram) => histogram.write(name, labels, out),
        }
    }
}

impl fmt::Debug for Exposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exposition").field("clusters", &self.0.clusters.read().len()).finish_non_exhaustive()
    }
}

impl Exposition {
    /// An empty exposition, attached to the registry.
    pub fn new(registry: &Registry, detail: MetricsDetail) -> Self {
        let inner = Inner {
            detail,
            families: Families::new(),
            clusters: RwLock::default(),
            instruments: RwLock::default(),
            metrics: OwnMetrics::register(registry),
        };
        let new = Self(Arc::new(inner));
        registry.attach("the monitor", Arc::new(new.clone()));
        new
    }

    /// Counts an event, observes a duration, or sets a gauge of the process.
    pub(crate) fn record(&self, sample: &Sample) {
        for series in sample.series() {
            let Some(family) = self.0.families.find(series.exposed.name) else { continue };
            let mut labels = String::with_capacity(64);
            for (name, value) in &series.labels {
                rp_metrics::text::pair(&mut labels, name, value);
            }
            match self.instrument(family, labels, sample.metric.kind) {
                Instrument::Counter(counter) => {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "saturates; events are counted by one"
                    )]
                    counter.add(series.value as u64);
                }
                Instrument::Gauge(gauge) => gauge.set(series.value),
                Instrument::Histogram(histogram) => {
                    let millis = matches!(sample.metric.kind, Kind::Duration { millis: true });
                    histogram.observe(if millis { series.value / 1000.0 } else { series.value });
                }
            }
        }
    }

    fn instrument(&self, family: u16, labels: String, kind: Kind) -> Instrument {
        let mut key = (family, labels.into_boxed_str());
        if let Some(known) = self.0.instruments.read().get(&key) {
            return known.clone();
        }
        let mut all = self.0.instruments.write();
        if !all.contains_key(&key) && all.keys().filter(|(of, _)| *of == family).count() >= MOST_EVENTS {
            key.1 = self.0.families.overflow(family).into_boxed_str();
        }
        let fresh = || match kind {
            Kind::Count => Instrument::Counter(Counter::default()),
            Kind::Duration { millis: true } => Instrument::Histogram(Histogram::new(buckets::REQUESTS)),
            Kind::Duration { millis: false } => Instrument::Histogram(Histogram::new(buckets::COLLECTORS)),
            Kind::Gauge | Kind::State | Kind::Info | Kind::PerObject => Instrument::Gauge(Gauge::default()),
        };
        all.entry(key).or_insert_with(fresh).clone()
    }

    /// Replaces the series of one group of a cluster. Families of `kept`, and hourly ones, stay as
    /// they were when these samples have none of theirs.
    pub(crate) fn replace(
        &self,
        of: &ClusterDims,
        part: SeriesGroup,
        samples: &[Sample],
        kept: &[&'static Metric],
    ) {
        let inner = &*self.0;
        let before = inner.clusters.read().get(of.id().key()).cloned();
        let old = before.as_ref().and_then(|held| held.group(part));
        let keeps = |family: u16| inner.families.is_hourly(family) || inner.families.holds(family, kept);
        let (fresh, cut) = GroupSeries::new(&inner.families, samples, old.as_deref(), keeps);
        if cut > 0 {
            inner.metrics.cut.with(&Cut { part: part.name() }).add(cut as u64);
        }
        let mut clusters = inner.clusters.write();
        let key = of.id().key();
        // Two groups may be replaced concurrently, so the current value is changed under the lock.
        let now = clusters.get(key).cloned();
        let count = |held: &Option<Arc<ClusterSeries>>| held.as_ref().map_or(0, |held| held.count());
        let next = ClusterSeries::with(now.as_deref(), of, part, fresh);
        #[expect(clippy::cast_precision_loss, reason = "series are far below 2^53")]
        inner.metrics.held.add(next.count() as f64 - count(&now) as f64);
        if next.count() > 0 {
            clusters.insert(key.into(), Arc::new(next));
        } else {
            clusters.remove(key);
        }
    }

    /// Removes the series of this cluster.
    pub(crate) fn forget(&self, id: &ResourceId) {
        if let Some(held) = self.0.clusters.write().remove(id.key()) {
            #[expect(clippy::cast_precision_loss, reason = "series are far below 2^53")]
            self.0.metrics.held.add(-(held.count() as f64));
        }
    }
}

impl Source for Exposition {
    fn list(&self) -> Vec<Description> {
        self.0.families.list()
    }

    fn chunks(&self) -> Box<dyn Iterator<Item = String> + Send> {
        Box::new(chunks::ExpositionChunks::new(self.clone()))
    }
}
