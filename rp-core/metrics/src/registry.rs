//! Where instruments are registered, written and listed.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::json;

use crate::{Counter, Family, Gauge, Histogram, Labels, MOST_SERIES, text};

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    /// The name of the kind in the exposition.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// One kind of instrument: [`Counter`], [`Gauge`], [`Histogram`].
pub trait Metric: Clone + fmt::Debug + Send + Sync + 'static {
    /// What it is.
    const KIND: Kind;

    /// A new one at zero; only histograms have buckets.
    fn with_buckets(buckets: &'static [f64]) -> Self;

    /// Writes its samples.
    fn write(&self, name: &str, labels: &str, out: &mut String);
}

impl Metric for Counter {
    const KIND: Kind = Kind::Counter;

    fn with_buckets(_: &'static [f64]) -> Self {
        Self::default()
    }

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        text::whole(out, name, "", labels, self.value());
    }
}

impl Metric for Gauge {
    const KIND: Kind = Kind::Gauge;

    fn with_buckets(_: &'static [f64]) -> Self {
        Self::default()
    }

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        text::sample(out, name, "", labels, self.value());
    }
}

impl Metric for Histogram {
    const KIND: Kind = Kind::Histogram;

    fn with_buckets(buckets: &'static [f64]) -> Self {
        Self::new(buckets)
    }

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        let comma = if labels.is_empty() { "" } else { "," };
        let mut count = 0;
        for (bound, at_most) in self.cumulative() {
            let labels = format!("{labels}{comma}le=\"{}\"", text::number(bound));
            text::whole(out, name, "_bucket", &labels, at_most);
            count = at_most;
        }
        text::sample(out, name, "_sum", labels, self.sum());
        text::whole(out, name, "_count", labels, count);
    }
}

/// The declaration of a metric.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Snake case with the unit; counters end in `_total`.
    pub name: &'static str,
    pub help: &'static str,
    /// Ascending upper bounds; histograms only.
    pub buckets: &'static [f64],
}

/// What [`metrics!`](crate::metrics) can declare.
pub trait Register: Sized {
    /// Registers it; a second time gives the same instrument again.
    fn register(registry: &Registry, spec: Spec) -> Self;
}

impl<M: Metric> Register for M {
    fn register(registry: &Registry, spec: Spec) -> Self {
        registry.add(spec, &[], UnlabelledMetric(Self::with_buckets(spec.buckets))).0.clone()
    }
}

impl<L: Labels + fmt::Debug, M: Metric> Register for Family<L, M> {
    fn register(registry: &Registry, spec: Spec) -> Self {
        (*registry.add(spec, L::NAMES, Self::new(spec.buckets, MOST_SERIES))).clone()
    }
}

/// An entry of the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub name: String,
    pub kind: Kind,
    pub help: String,
    pub unit: Option<&'static str>,
    pub labels: Vec<&'static str>,
}

trait Collect: Any + Send + Sync {
    fn kind(&self) -> Kind;
    fn write(&self, name: &str, out: &mut String);
}

/// An instrument without labels.
struct UnlabelledMetric<M>(M);

impl<M: Metric> Collect for UnlabelledMetric<M> {
    fn kind(&self) -> Kind {
        M::KIND
    }

    fn write(&self, name: &str, out: &mut String) {
        self.0.write(name, "", out);
    }
}

impl<L: Labels, M: Metric> Collect for Family<L, M> {
    fn kind(&self) -> Kind {
        M::KIND
    }

    fn write(&self, name: &str, out: &mut String) {
        Self::write(self, name, out);
    }
}

/// A metric whose value is computed by a callback at each scrape.
struct CallbackMetric<F>(Kind, F);

impl<F: Fn() -> Option<f64> + Send + Sync + 'static> Collect for CallbackMetric<F> {
    fn kind(&self) -> Kind {
        self.0
    }

    fn write(&self, name: &str, out: &mut String) {
        if let Some(value) = (self.1)() {
            text::sample(out, name, "", "", value);
        }
    }
}

/// A constant 1 whose labels carry the information, such as the version.
struct Info(String);

impl Collect for Info {
    fn kind(&self) -> Kind {
        Kind::Gauge
    }

    fn write(&self, name: &str, out: &mut String) {
        text::whole(out, name, "", &self.0, 1);
    }
}

/// Metrics held outside the registry, too many to be rendered as one text: one family per name, none of which the
/// registry has itself.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// The metrics of this source, in the order of the exposition.
    fn list(&self) -> Vec<Description>;

    /// The current exposition in chunks of about ten thousand bytes, each of whole lines, rendered on demand so that a
    /// slow reader costs no memory.
    fn chunks(&self) -> Box<dyn Iterator<Item = String> + Send>;
}

struct Entry {
    description: Description,
    collect: Arc<dyn Collect>,
}

#[derive(Default)]
struct Inner {
    entries: BTreeMap<String, Entry>,
    sources: Vec<(&'static str, Arc<dyn Source>)>,
    mistakes: Vec<String>,
}

/// All metrics of a process. A cheap clone.
#[derive(Clone, Default)]
pub struct Registry(Arc<RwLock<Inner>>);

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("metrics", &self.0.read().entries.len()).finish()
    }
}

impl Registry {
    /// The media type of [`Registry::render`].
    pub const CONTENT_TYPE: &'static str = text::CONTENT_TYPE;

    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a metric whose value is computed at each scrape; `None` leaves it out of that scrape.
    pub fn callback(&self, kind: Kind, spec: Spec, ask: impl Fn() -> Option<f64> + Send + Sync + 'static) {
        let _ = self.add(spec, &[], CallbackMetric(kind, ask));
    }

    /// Registers a constant 1 with labels, such as `aro_build_info{service,version}`.
    pub fn info(&self, spec: Spec, labels: &'static [&'static str], values: &[&str]) {
        let values: Vec<_> = values.iter().map(|value| (*value).to_owned().into()).collect();
        let _ = self.add(spec, labels, Info(text::pairs(labels, &values)));
    }

    /// Attaches a source of metrics. A source replaces an earlier one of the same name.
    pub fn attach(&self, name: &'static str, source: Arc<dyn Source>) {
        let mut inner = self.0.write();
        inner.sources.retain(|(known, _)| *known != name);
        for metric in source.list() {
            if inner.entries.contains_key(&metric.name) {
                inner.mistakes.push(format!("{}: registered, and shown by {name} too", metric.name));
            }
        }
        inner.sources.push((name, source));
    }

    /// The whole exposition in chunks: the registry's own metrics first, then those of each source.
    pub fn chunks(&self) -> impl Iterator<Item = String> + Send + use<> {
        let sources: Vec<_> = self.0.read().sources.iter().map(|(_, source)| Arc::clone(source)).collect();
        let own = std::iter::once_with({
            let registry = self.clone();
            move || registry.own()
        });
        own.chain(sources.into_iter().flat_map(|source| source.chunks()))
    }

    /// All of [`Registry::chunks`] in one text.
    pub fn render(&self) -> String {
        self.chunks().collect()
    }

    /// The registry's own metrics, ordered by name.
    fn own(&self) -> String {
        let inner = self.0.read();
        let mut out = String::with_capacity(inner.entries.len() * 200);
        for (name, entry) in &inner.entries {
            text::header(&mut out, name, &entry.description.help, entry.description.kind.name());
            entry.collect.write(name, &mut out);
        }
        out
    }

    /// Every metric, ordered by name.
    pub fn list(&self) -> Vec<Description> {
        let inner = self.0.read();
        let own = inner.entries.values().map(|entry| entry.description.clone());
        let mut all: Vec<_> = own.chain(inner.sources.iter().flat_map(|(_, source)| source.list())).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The inventory as JSON, for generated pages and tests.
    pub fn inventory(&self) -> serde_json::Value {
        let row = |d: &Description| json!({"name": d.name, "type": d.kind.name(), "unit": d.unit, "labels": d.labels, "help": d.help});
        self.list().iter().map(row).collect()
    }

    /// What is wrong with the declarations: bad names, a counter without `_total`, one name used twice
    /// differently. A test asserts that there is nothing.
    pub fn mistakes(&self) -> Vec<String> {
        self.0.read().mistakes.clone()
    }

    /// Registers an instrument, or returns the existing one of that name. One that conflicts works but is not exposed.
    fn add<C: Collect>(&self, spec: Spec, labels: &'static [&'static str], collect: C) -> Arc<C> {
        let (kind, fresh) = (collect.kind(), Arc::new(collect));
        let mut inner = self.0.write();
        if let Some(entry) = inner.entries.get(spec.name) {
            let known: Arc<dyn Any + Send + Sync> = entry.collect.clone();
            if let Ok(same) = known.downcast::<C>() {
                return same;
            }
            inner.mistakes.push(format!("{}: registered twice with different kinds or labels", spec.name));
            return fresh;
        }
        if let Some(mistake) = mistake(&spec, kind, labels) {
            inner.mistakes.push(format!("{}: {mistake}", spec.name));
        }
        if text::is_name(spec.name) {
            let help = spec.help.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned();
            let (name, unit) = (spec.name.to_owned(), text::unit(spec.name));
            let description = Description { name, kind, help, unit, labels: labels.to_vec() };
            inner.entries.insert(spec.name.to_owned(), Entry { description, collect: fresh.clone() });
        }
        fresh
    }
}

fn mistake(spec: &Spec, kind: Kind, labels: &[&str]) -> Option<&'static str> {
    if !text::is_name(spec.name) || !labels.iter().all(|label| text::is_name(label) && *label != "le") {
        return Some("not a name that Prometheus takes");
    }
    if spec.help.trim().is_empty() {
        return Some("has no help");
    }
    if (kind == Kind::Counter) != spec.name.ends_with("_total") {
        return Some("counters, and only they, end in _total");
    }
    let ascending = spec.buckets.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascending || (kind == Kind::Histogram) == spec.buckets.is_empty() {
        return Some("histograms, and only they, have ascending buckets");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{buckets, label_enum, labels, metrics};

    label_enum! {
        enum Side { Us = "us", You = "you" }
    }
    labels! {
        struct Failure { side: Side, code: u16 }
    }
    metrics! {
        /// Metrics of a test.
        struct TestMetrics("aro_test") {
            /// Failures,
            /// by side.
            failures: Family<Failure, Counter> = "failures_total";
            /// Open streams.
            open: Gauge = "open_streams";
            /// Time taken.
            took: Histogram = "took_seconds", &[0.5, 1.0];
            /// Time taken by side.
            by_side: Family<Failure, Histogram> = "by_side_seconds", buckets::REQUESTS;
        }
    }

    #[test]
    fn writes_the_text_exposition() {
        let registry = Registry::new();
        let metrics = TestMetrics::register(&registry);
        metrics.failures.with(&Failure { side: Side::You, code: 403 }).add(2);
        metrics.open.set(1.5);
        metrics.took.observe(0.75);
        metrics.by_side.with(&Failure { side: Side::Us, code: 500 }).observe(0.001);
        let text = registry.render();
        for line in [
            "# HELP aro_test_failures_total Failures, by side.\n# TYPE aro_test_failures_total counter\naro_test_failures_total{side=\"you\",code=\"403\"} 2\n",
            "aro_test_open_streams 1.5\n",
            "# UNIT aro_test_took_seconds seconds\n# TYPE aro_test_took_seconds histogram\naro_test_took_seconds_bucket{le=\"0.5\"} 0\naro_test_took_seconds_bucket{le=\"1\"} 1\naro_test_took_seconds_bucket{le=\"+Inf\"} 1\naro_test_took_seconds_sum 0.75\naro_test_took_seconds_count 1\n",
            "aro_test_by_side_seconds_bucket{side=\"us\",code=\"500\",le=\"0.005\"} 1\n",
        ] {
            assert!(text.contains(line), "missing {line} in\n{text}");
        }
        assert!(registry.mistakes().is_empty());
    }

    #[test]
    fn the_same_registry_gives_the_same_instruments() {
        let registry = Registry::new();
        TestMetrics::register(&registry).open.set(7.0);
        assert!((TestMetrics::register(&registry).open.value() - 7.0).abs() < f64::EPSILON);
        assert_eq!(registry.list().len(), 4);
        assert_eq!(registry.inventory()[1]["labels"], serde_json::json!(["side", "code"]));
    }

    #[test]
    fn mistakes_are_told_and_harm_nothing() {
        let registry = Registry::new();
        let spec = |name| Spec { name, help: "Help.", buckets: &[] };
        Counter::register(&registry, spec("aro_x")).inc();
        Gauge::register(&registry, spec("aro_x")).set(1.0);
        Gauge::register(&registry, spec("no good")).set(1.0);
        assert_eq!(registry.mistakes().len(), 3);
        assert!(!registry.render().contains("no good"));
    }

    #[derive(Debug)]
    struct TestSource(&'static str);

    impl Source for TestSource {
        fn list(&self) -> Vec<Description> {
            let (name, help) = (self.0.to_owned(), "Kept elsewhere.".to_owned());
            vec![Description { name, kind: Kind::Gauge, help, unit: None, labels: vec![] }]
        }

        fn chunks(&self) -> Box<dyn Iterator<Item = String> + Send> {
            let name = self.0;
            Box::new((0..2).map(move |n| format!("{name} {n}\n")))
        }
    }

    #[test]
    fn sources_stand_behind_what_is_registered() {
        let registry = Registry::new();
        Gauge::register(&registry, Spec { name: "aro_z", help: "Z.", buckets: &[] }).set(1.0);
        registry.attach("other", Arc::new(TestSource("aro_old")));
        registry.attach("other", Arc::new(TestSource("aro_a")));
        assert!(registry.render().ends_with("aro_z 1\naro_a 0\naro_a 1\n"), "{}", registry.render());
        assert_eq!(registry.chunks().count(), 3);
        let names: Vec<_> = registry.list().into_iter().map(|metric| metric.name).collect();
        assert_eq!(names, ["aro_a", "aro_z"]);
        registry.attach("twice", Arc::new(TestSource("aro_z")));
        assert_eq!(registry.mistakes(), ["aro_z: registered, and shown by twice too"]);
    }

    #[test]
    fn asked_and_constant_ones() {
        let registry = Registry::new();
        registry.callback(Kind::Gauge, Spec { name: "aro_age_seconds", help: "Age.", buckets: &[] }, || {
            Some(2.0)
        });
        registry.callback(Kind::Gauge, Spec { name: "aro_none", help: "None.", buckets: &[] }, || None);
        let info = Spec { name: "aro_build_info", help: "Build.", buckets: &[] };
        registry.info(info, &["service", "version"], &["portal", "1\"2"]);
        let text = registry.render();
        assert!(text.contains("aro_age_seconds 2\n") && !text.contains("\naro_none "));
        assert!(text.contains("aro_build_info{service=\"portal\",version=\"1\\\"2\"} 1\n"));
    }
}
