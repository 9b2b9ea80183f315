//! What the API counts (`contract/frontend.md` §14.3, `contract/metrics.md`).

use std::time::Duration;

use rp_metrics::statsd::PERIOD;
use rp_metrics::{Counter, Family, Gauge, GaugeGuard, Histogram, Registry, Statsd, buckets, labels, metrics};
use tokio::task::JoinHandle;

labels! {
    /// A request that ended.
    pub struct RequestLabels { method: &'static str, api_version: &'static str, code: u16, route: &'static str }
}

labels! {
    /// Why a caller was refused.
    pub struct RefusedLabels { side: &'static str }
}

metrics! {
    /// What the API counts.
    pub struct FrontendMetrics("aro_frontend") {
        /// Time from a request's head to its answer.
        pub requests: Family<RequestLabels, Histogram> = "request_duration_seconds", buckets::REQUESTS;
        /// Callers that were refused, by the side that they called: arm or admin.
        pub refused: Family<RefusedLabels, Counter> = "callers_refused_total";
        /// Requests that are being worked on.
        pub running: Gauge = "requests_running";
        /// Whether the API takes requests: 1 or 0.
        pub ready: Gauge = "ready";
        /// Administrators' actions that run now and may disturb a cluster.
        pub unplanned_maintenance: Gauge = "unplanned_maintenance";
        /// Panics of requests.
        pub panics: Counter = "panics_total";
    }
}

/// The metrics of a process, to Prometheus and to statsd. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub(crate) counted: FrontendMetrics,
    statsd: Statsd,
    /// What is told of clusters.
    clusters: Statsd,
}

impl Default for Metrics {
    /// Metrics that are not exported.
    fn default() -> Self {
        Self::new(&Registry::new(), Statsd::none())
    }
}

/// A finished request, with the contract's dimensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestSample<'a> {
    pub(crate) method: &'a http::Method,
    pub(crate) api_version: &'a str,
    pub(crate) code: u16,
    pub(crate) route: &'static str,
    pub(crate) took: Duration,
}

impl Metrics {
    /// Counts into a registry and emits the contract's points.
    pub fn new(registry: &Registry, statsd: Statsd) -> Self {
        Self { counted: FrontendMetrics::register(registry), statsd, clusters: Statsd::none() }
    }

    /// The same, with what is told of clusters.
    #[must_use]
    pub fn with_clusters(self, clusters: Statsd) -> Self {
        Self { clusters, ..self }
    }

    /// Says that a cluster is being worked on, at once and every minute until the guard is dropped. The id is in lower case.
    pub(crate) fn unplanned(&self, resource_id: String) -> UnplannedMaintenance {
        let clusters = self.clusters.clone();
        let told = clusters.is_on().then(|| {
            tokio::spawn(async move {
                let mut ticks = tokio::time::interval(PERIOD);
                loop {
                    ticks.tick().await;
                    clusters.gauge("frontend.maintenance.unplanned", 1, &[("resourceId", &resource_id)]);
                }
            })
        });
        UnplannedMaintenance { _counted: self.counted.unplanned_maintenance.track(), told }
    }

    /// A request ended.
    pub(crate) fn observe(&self, ended: &RequestSample<'_>) {
        let labels = RequestLabels {
            method: method(ended.method),
            api_version: rp_api::find(ended.api_version).map_or("other", |version| version.name),
            code: ended.code,
            route: ended.route,
        };
        self.counted.requests.with(&labels).observe_duration(ended.took);
        if self.statsd.is_on() {
            let code = ended.code.to_string();
            let dimensions = [
                ("verb", labels.method),
                ("api-version", labels.api_version),
                ("code", &code),
                ("route", ended.route),
            ];
            self.statsd.gauge("frontend.count", 1, &dimensions);
            let millis = i64::try_from(ended.took.as_millis()).unwrap_or(i64::MAX);
            self.statsd.gauge("frontend.duration", millis, &dimensions);
        }
    }

    /// A caller was refused.
    pub(crate) fn refused(&self, admin: bool) {
        let side = if admin { "admin" } else { "arm" };
        self.counted.refused.with(&RefusedLabels { side }).inc();
    }

    /// Emits the heartbeat.
    pub(crate) fn heartbeat(&self, ready: bool, version: &str) {
        self.counted.ready.set(f64::from(u8::from(ready)));
        if ready {
            self.statsd.gauge("frontend.heartbeat", 1, &[("version", version)]);
        }
    }
}

/// An action of an administrator's tool that runs.
#[derive(Debug)]
pub(crate) struct UnplannedMaintenance {
    _counted: GaugeGuard,
    told: Option<JoinHandle<()>>,
}

impl Drop for UnplannedMaintenance {
    fn drop(&mut self) {
        if let Some(told) = &self.told {
            told.abort();
        }
    }
}

/// A static label for each method: methods that callers invent must not become series.
fn method(method: &http::Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "PUT", "PATCH", "POST", "DELETE", "HEAD", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}
