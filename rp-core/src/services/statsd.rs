//! `[metrics]` into statsd emitters (`contract/portal.md` §18, `contract/metrics.md` §1 pipeline S, §2): one for each
//! service that emits, whichever role asks for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use parking_lot::Mutex;
use rp_base::SharedClock;
use rp_config::Settings;
use rp_metrics::statsd::{QUEUE, Socket};
use rp_metrics::{Registry, Statsd, StatsdOptions, process};
use rp_runtime::Lifecycle;

use crate::VERSION;

/// The monitor's emitter of what it tells of itself, and that of what it tells of clusters (`contract/monitor.md` §13).
const MONITOR: &str = "service";
const CLUSTERS: &str = "cluster";

/// The emitters of a process. A cheap clone.
#[derive(Debug, Clone)]
pub struct StatsdEmitters(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None`: nothing is emitted.
    socket: Option<Socket>,
    metrics: rp_config::Metrics,
    location: String,
    clock: SharedClock,
    registry: Registry,
    /// Those that run, by name.
    started: Mutex<BTreeMap<&'static str, Statsd>>,
}

impl StatsdEmitters {
    /// Starts none yet.
    ///
    /// # Errors
    /// `metrics.statsd_socket` names no socket.
    pub fn open(settings: &Settings, clock: &SharedClock, registry: &Registry) -> anyhow::Result<Self> {
        let told = settings.metrics.statsd_socket.as_deref();
        let socket = told.map(Socket::parse).transpose().context("metrics.statsd_socket")?;
        Ok(Self(Arc::new(Inner {
            socket,
            metrics: settings.metrics.clone(),
            location: settings.azure.region.clone().unwrap_or_default(),
            clock: Arc::clone(clock),
            registry: registry.clone(),
            started: Mutex::default(),
        })))
    }

    /// The emitter of a service; without `metrics.statsd_socket` it emits nothing. Needs a Tokio runtime.
    pub fn service(&self, service: &'static str) -> Statsd {
        self.emitter(service, || self.0.service_labels(service))
    }

    /// What the monitor tells of itself.
    pub fn monitor(&self) -> Statsd {
        self.emitter(MONITOR, || self.0.service_labels("monitor"))
    }

    /// What the monitor tells of clusters.
    pub fn clusters(&self) -> Statsd {
        self.emitter(CLUSTERS, || self.0.cluster_labels())
    }

    /// Emits heartbeat and process numbers of a service at once and every minute until the process is cut. A receiver
    /// that is away costs points, never a request.
    pub fn beat(&self, service: &'static str, life: &Lifecycle) {
        if self.0.socket.is_none() {
            return;
        }
        let (beating, cut) = (self.service(service), life.cutting());
        tokio::spawn(async move { cut.run_until_cancelled(beating.beat(service, VERSION)).await });
    }

    fn emitter(&self, name: &'static str, labels: impl FnOnce() -> EmitterLabels) -> Statsd {
        let inner = &*self.0;
        let Some(socket) = &inner.socket else { return Statsd::none() };
        let start = || {
            let EmitterLabels { account, namespace, dimensions } = labels();
            let options = StatsdOptions {
                emitter: name,
                socket: socket.clone(),
                account,
                namespace,
                dimensions,
                queue: QUEUE,
                silent_dial: false,
            };
            Statsd::start(options, Arc::clone(&inner.clock), &inner.registry)
        };
        inner.started.lock().entry(name).or_insert_with(start).clone()
    }
}

/// What stands on every point of an emitter.
struct EmitterLabels {
    account: String,
    namespace: String,
    dimensions: BTreeMap<String, String>,
}

impl Inner {
    fn service_labels(&self, service: &str) -> EmitterLabels {
        let dimensions = BTreeMap::from([
            ("hostname".to_owned(), process::hostname()),
            ("location".to_owned(), self.location.clone()),
            ("service".to_owned(), service.to_owned()),
            ("version".to_owned(), VERSION.to_owned()),
            ("Environment".to_owned(), self.metrics.environment.clone()),
        ]);
        let (account, namespace) = (&self.metrics.statsd_account, &self.metrics.statsd_namespace);
        EmitterLabels { account: account.clone(), namespace: namespace.clone(), dimensions }
    }

    fn cluster_labels(&self) -> EmitterLabels {
        let dimensions = BTreeMap::from([
            ("location".to_owned(), self.location.clone()),
            ("Environment".to_owned(), self.metrics.environment.clone()),
        ]);
        let (account, namespace) = (&self.metrics.cluster_account, &self.metrics.cluster_namespace);
        EmitterLabels { account: account.clone(), namespace: namespace.clone(), dimensions }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rp_base::SystemClock;
    use rp_config::{Input, Override};
    use rp_metrics::statsd::PERIOD;
    use tokio::net::UdpSocket;
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn settings(socket: &str) -> Settings {
        let environment = BTreeMap::new();
        let set = |key, value| Override { key, value, flag: "--set" };
        let mut overrides = vec![
            set("metrics.statsd_account", "acct"),
            set("metrics.statsd_namespace", "Portal"),
            set("metrics.environment", "dev"),
            set("azure.region", "westeurope"),
        ];
        if !socket.is_empty() {
            overrides.push(set("metrics.statsd_socket", socket));
        }
        let input = Input { file: None, environment: &environment, overrides: &overrides, needs: &[] };
        rp_config::parse(&input).unwrap()
    }

    async fn line(receiver: &UdpSocket) -> String {
        let mut buffer = [0u8; 2048];
        let length = timeout(LONG, receiver.recv(&mut buffer)).await.expect("a point").unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    fn emitters(settings: &Settings, registry: &Registry) -> StatsdEmitters {
        let clock: SharedClock = Arc::new(SystemClock);
        StatsdEmitters::open(settings, &clock, registry).unwrap()
    }

    #[tokio::test]
    async fn a_heartbeat_at_once_and_with_the_process_every_minute() {
        let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(&format!("udp:{}", receiver.local_addr().unwrap()));
        let (emitters, life) = (emitters(&settings, &Registry::new()), Lifecycle::new());
        emitters.beat("portal", &life);
        let first = line(&receiver).await;
        let host = process::hostname();
        let start = format!(
            "{{\"Metric\":\"portal.heartbeat\",\"Account\":\"acct\",\"Namespace\":\"Portal\",\"Dims\":{{\"Environment\":\"dev\",\"hostname\":\"{host}\",\"location\":\"westeurope\",\"service\":\"portal\",\"version\":\"{VERSION}\"}},\"TS\":\""
        );
        assert!(first.starts_with(&start) && first.ends_with("\"}:1|g\n"), "{first}");
        tokio::time::pause();
        tokio::time::advance(PERIOD).await;
        tokio::time::resume();
        assert!(line(&receiver).await.starts_with("{\"Metric\":\"portal.heartbeat\""));
        for (name, _) in process::sample() {
            let point = line(&receiver).await;
            assert!(
                point.starts_with(&format!("{{\"Metric\":\"{name}\"")) && point.ends_with("|f\n"),
                "{point}"
            );
        }
    }

    #[tokio::test]
    async fn whoever_asks_for_a_service_gets_its_one_emitter() {
        let receiver = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(&format!("udp:{}", receiver.local_addr().unwrap()));
        let registry = Registry::new();
        let emitters = emitters(&settings, &registry);
        for emitter in [emitters.service("rp"), emitters.clone().service("rp"), emitters.monitor()] {
            emitter.gauge("x", 1, &[]);
            emitter.flush().await;
        }
        assert_eq!(emitters.0.started.lock().keys().copied().collect::<Vec<_>>(), ["rp", "service"]);
        let counted = registry.render();
        let sent = |emitter: &str| {
            let start = format!("aro_metrics_sent_total{{emitter=\"{emitter}\"}} ");
            counted.lines().find_map(|line| line.strip_prefix(&start).map(str::to_owned))
        };
        assert_eq!((sent("rp").as_deref(), sent("service").as_deref()), (Some("2"), Some("1")), "{counted}");
    }

    #[tokio::test]
    async fn without_a_socket_nothing_is_emitted() {
        let registry = Registry::new();
        let emitters = emitters(&settings(""), &registry);
        emitters.beat("portal", &Lifecycle::new());
        emitters.service("portal").gauge("x", 1, &[]);
        emitters.service("portal").flush().await;
        assert!(!registry.render().contains("aro_metrics_sent"));
    }
}
