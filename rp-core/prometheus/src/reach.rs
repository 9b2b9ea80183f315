//! Chooses the connection of a request, and fails over when a source does not answer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use parking_lot::Mutex;
use rp_base::SharedClock;
use rp_documents::{ResourceId, Side};
use rp_kube::connect::{ClientOptions, Identity, client};
use rp_kube::port_forward;
use rp_metrics::{Counter, Family, Histogram, Registry, buckets, labels, metrics};
use rp_net::{Budget, Cost, DialError, Dialer, Target};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout};
use url::Url;

use crate::body::{ResponseBody, Upstream};
use crate::call::Call;
use crate::cluster::{Cluster, PORT, SourceState};
use crate::connection_pool::{BoxedStream, Connection};
use crate::error::PromError;
use crate::exchange::{
    JSON, ResponseHead, check, connection_error, error_text, kube_error, request, send_through_service_proxy,
    service_path, split_response,
};
use crate::names::NameCache;
use crate::response::PromResponse;
use crate::scan::Scanner;
use crate::source::{Instance, SOURCES, SourceChoice};
use crate::table::Table;
use crate::upstream_address::UpstreamAddress;

labels! {
    /// Where a question went and how it ended.
    pub(crate) struct AskLabels { place: &'static str, endpoint: &'static str, result: &'static str }
}

metrics! {
    /// Questions to the Prometheus of clusters.
    pub(crate) struct PrometheusMetrics("aro_prometheus") {
        /// Questions that were answered or failed, by place, endpoint and result.
        pub(crate) asked: Family<AskLabels, Counter> = "asked_total";
        /// Seconds until the head of an answer.
        pub(crate) head: Histogram = "head_seconds", buckets::REQUESTS;
        /// Connections that were opened: port-forwards, mostly.
        pub(crate) dialled: Counter = "dialled_total";
        /// Questions that went to another source than the first choice.
        pub(crate) fail_overs: Counter = "fail_overs_total";
    }
}

/// Settings of [`Prometheus`].
#[derive(Debug, Clone)]
pub struct Options {
    pub dialer: Dialer,
    pub clock: SharedClock,
    pub registry: Registry,
    /// Requests to one cluster, shared with whatever else asks it.
    pub budget: Budget,
    /// How imported clusters' Prometheus is reached, where it is not found by itself.
    pub ways: BTreeMap<ResourceId, UpstreamAddress>,
    /// Questions to one cluster at once: the budget that pages, tools and fleet queries share.
    pub per_cluster: usize,
    /// Memory for names that completion looks through, bytes.
    pub names: usize,
    /// For opening a connection.
    pub dial: Duration,
    /// After this time without a response, a source is probed for readiness.
    pub doubt: Duration,
}

/// Reaches the Prometheus of clusters. Shared; cheap to call.
#[derive(Debug)]
pub struct Prometheus {
    options: Options,
    clusters: Mutex<HashMap<ResourceId, Arc<Cluster>>>,
    pub(crate) names: NameCache,
    metrics: PrometheusMetrics,
}

/// Longest wait for a permit of a cluster's budget.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(10);
/// Added to the query's time limit, so that Prometheus can report its own timeout.
const GRACE: Duration = Duration::from_secs(3);
const SWEEP: Duration = Duration::from_secs(30);
const IDLE_CLUSTER: Duration = Duration::from_secs(600);

impl Prometheus {
    /// Starts the housekeeping.
    pub fn new(options: Options) -> Arc<Self> {
        let metrics = PrometheusMetrics::register(&options.registry);
        let names = NameCache::new(options.names);
        let this = Arc::new(Self { options, clusters: Mutex::default(), names, metrics });
        let weak = Arc::downgrade(&this);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                let Some(this) = weak.upgrade() else { return };
                this.sweep();
            }
        });
        this
    }

    fn sweep(&self) {
        self.names.sweep();
        self.clusters.lock().retain(|_, cluster| {
            let open: usize = cluster.pools.lock().values().map(|pool| pool.sweep()).sum();
            open > 0 || cluster.used.lock().elapsed() < IDLE_CLUSTER
        });
    }

    /// Now, as Unix seconds.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit")]
    pub(crate) fn now(&self) -> f64 {
        self.options.clock.now().millis() as f64 / 1000.0
    }

    fn cluster(&self, target: &Arc<Target>) -> Result<Arc<Cluster>, PromError> {
        let mut clusters = self.clusters.lock();
        if let Some(cluster) = clusters.get(&target.id).filter(|c| c.target.fingerprint == target.fingerprint)
        {
            *cluster.used.lock() = Instant::now();
            return Ok(Arc::clone(cluster));
        }
        let options = ClientOptions {
            dial: self.options.dial,
            // Applies to queries through a service proxy; port-forwards have no such limit.
            head: Duration::from_secs(150),
            answer_bytes: usize::MAX,
            user_agent: "aro (metrics)".to_owned(),
            ..ClientOptions::default()
        };
        let client = client(self.options.dialer.clone(), Arc::clone(target), Identity::Admin, &options)
            .map_err(|error| PromError::Unusable(error.into()))?;
        let configured = self.options.ways.get(&target.id).cloned();
        let cluster = Cluster::new(target, client, configured, self.options.per_cluster);
        clusters.insert(target.id.clone(), Arc::clone(&cluster));
        Ok(cluster)
    }

    /// Sends a question to the first source that answers; the answer's body is not read yet.
    ///
    /// # Errors
    /// [`PromError`]: nothing was answered.
    pub async fn ask(&self, target: &Arc<Target>, call: &Call) -> Result<PromResponse, PromError> {
        let cluster = self.cluster(target)?;
        let budget = Arc::clone(&cluster.budget).acquire_owned();
        let permit =
            timeout(PERMIT_TIMEOUT, budget).await.ok().and_then(Result::ok).ok_or(PromError::Crowded)?;
        self.options.budget.take(&target.id, Cost::REQUEST).await.map_err(|_| PromError::Crowded)?;
        let mut permit = Some(permit);
        let mut failed: Vec<(Instance, PromError)> = Vec::new();
        let mut places = cluster.order(call.source);
        let mut at = 0;
        while let Some(place) = places.get(at).copied() {
            at += 1;
            match self.ask_place(&cluster, place, call, &mut permit).await {
                Ok(mut answer) => {
                    cluster.record_health(place, None);
                    if !failed.is_empty() {
                        self.metrics.fail_overs.inc();
                    }
                    answer.why = cluster.fail_over_reason(place, call.source);
                    return Ok(answer);
                }
                Err(error) if error.is_of_source() => {
                    cluster.record_health(place, Some(&error));
                    failed.push((place, error));
                }
                Err(error) => return Err(error),
            }
            // Discovery is the last resort, and only for clusters that may have another Prometheus.
            if at == places.len()
                && call.source == SourceChoice::Auto
                && cluster.may_discover()
                && cluster.discover().await
            {
                places.push(Instance::Configured);
            }
        }
        Err(combine_failures(failed, call.source))
    }

    /// Sends a request and reads its bounded response completely.
    ///
    /// # Errors
    /// [`PromError`].
    pub async fn table(&self, target: &Arc<Target>, call: &Call, most: usize) -> Result<Table, PromError> {
        let answer = self.ask(target, call).await?;
        let whole = Table::read(answer, most);
        timeout(call.limits.time + GRACE, whole).await.map_err(|_| PromError::Slow(call.limits.time))?
    }

    /// The sources of a cluster and which one is chosen now.
    ///
    /// # Errors
    /// What is stored about the cluster cannot be used.
    pub fn sources(
        &self,
        target: &Arc<Target>,
    ) -> Result<(&'static str, String, Vec<SourceState>), PromError> {
        let cluster = self.cluster(target)?;
        let order = cluster.order(SourceChoice::Auto);
        let chosen = order.first().copied().unwrap_or(Instance::Platform(0));
        let why = cluster.fail_over_reason(chosen, SourceChoice::Auto).unwrap_or_default();
        let states = SOURCES.iter().filter_map(|source| cluster.state(source)).collect();
        Ok((chosen.id(), why, states))
    }

    async fn ask_place(
        &self,
        cluster: &Arc<Cluster>,
        place: Instance,
        call: &Call,
        permit: &mut Option<OwnedSemaphorePermit>,
    ) -> Result<PromResponse, PromError> {
        let began = Instant::now();
        let limit = call.limits.time + GRACE;
        let sent = timeout(limit, self.send(cluster, place, call)).await;
        let sent = sent.unwrap_or(Err(PromError::Slow(call.limits.time)));
        let result = match sent {
            Ok((head, upstream)) => check(&head, upstream, place, call).await,
            Err(error) => Err(error),
        };
        self.metrics.head.observe_duration(began.elapsed());
        let word = match &result {
            Ok(_) => "ok",
            Err(PromError::Refused { .. }) => "refused",
            Err(_) => "failed",
        };
        self.metrics.asked.with(&AskLabels { place: place.id(), endpoint: call.name(), result: word }).inc();
        let (content_type, upstream) = result?;
        // One permit per response, however many sources were tried.
        let permit = permit.take().ok_or(PromError::Crowded)?;
        // Alertmanager's lists have another shape; their size is bounded.
        let scanned = content_type == JSON && !matches!(place, Instance::Alertmanager(_));
        let scanner =
            scanned.then(|| Scanner::new(call.limits.series.max(1), call.limits.bytes, call.buckets));
        Ok(PromResponse {
            source: place.id(),
            why: None,
            range: call.range,
            content_type,
            body: ResponseBody::new(upstream, scanner, call.limits.bytes, permit),
        })
    }

    /// Sends a request and waits for the response head. While it waits, it probes the source for readiness.
    async fn send(
        &self,
        cluster: &Arc<Cluster>,
        place: Instance,
        call: &Call,
    ) -> Result<(ResponseHead, Upstream), PromError> {
        let way = cluster.address(place).await?;
        if let UpstreamAddress::Service { namespace, service, port, tls } = &way {
            return send_through_service_proxy(
                cluster,
                call,
                place,
                &service_path(namespace, service, port, *tls),
            )
            .await;
        }
        let exchange = self.exchange(cluster, place, &way, call);
        tokio::pin!(exchange);
        loop {
            tokio::select! {
                done = &mut exchange => return done,
                () = tokio::time::sleep(self.options.doubt) => {}
            }
            if matches!(place, Instance::Alertmanager(_)) {
                continue;
            }
            tokio::select! {
                done = &mut exchange => return done,
                there = self.is_there(cluster, place, &way) => there?,
            }
        }
    }

    /// A readiness probe over a separate connection.
    async fn is_there(
        &self,
        cluster: &Arc<Cluster>,
        place: Instance,
        way: &UpstreamAddress,
    ) -> Result<(), PromError> {
        let away = |why: &str| PromError::SourceAway { place: place.id(), why: why.to_owned() };
        let ask = async {
            let mut connection = self.open(cluster, place, way).await?;
            let request = request(&Method::GET, way, "/-/ready", None)?;
            connection.send(request).await.map_err(|error| connection_error(place, &error)).map(drop)
        };
        timeout(self.options.doubt, ask)
            .await
            .map_err(|_| away("it takes connections but does not answer"))?
    }

    async fn exchange(
        &self,
        cluster: &Arc<Cluster>,
        place: Instance,
        way: &UpstreamAddress,
        call: &Call,
    ) -> Result<(ResponseHead, Upstream), PromError> {
        let pool = Arc::clone(cluster.pools.lock().entry(place).or_default());
        let (method, path, body) = call.wire();
        // A pooled connection may be dead: the request only reads, so it is sent again on a new one.
        if let Some(mut connection) = pool.take()
            && let Ok(answer) = connection.send(request(&method, way, &path, body.as_deref())?).await
        {
            return Ok(split_response(answer, connection, pool));
        }
        let mut connection = self.open(cluster, place, way).await?;
        let answer = connection.send(request(&method, way, &path, body.as_deref())?).await;
        match answer {
            Ok(answer) => Ok(split_response(answer, connection, pool)),
            Err(error) => {
                pool.clear();
                Err(connection_error(place, &error))
            }
        }
    }

    async fn open(
        &self,
        cluster: &Cluster,
        place: Instance,
        way: &UpstreamAddress,
    ) -> Result<Connection, PromError> {
        self.metrics.dialled.inc();
        let away = |why: String| PromError::SourceAway { place: place.id(), why };
        let opening = async {
            let wire = match way {
                UpstreamAddress::Pod { namespace, pod, port } => {
                    let forward = port_forward(&cluster.client, namespace, pod, *port).await;
                    BoxedStream(Box::new(forward.map_err(|error| kube_error(place, pod, &error))?))
                }
                UpstreamAddress::Address(url) => self.address(place, url).await?,
                UpstreamAddress::Service { .. } => {
                    return Err(away("a service has no connection of its own".to_owned()));
                }
            };
            Connection::open(wire).await.map_err(|error| connection_error(place, &error))
        };
        let late = || away(format!("no connection within {} s", self.options.dial.as_secs()));
        timeout(self.options.dial, opening).await.map_err(|_| late())?
    }

    async fn address(&self, place: Instance, url: &Url) -> Result<BoxedStream, PromError> {
        let away = |error: &DialError| PromError::SourceAway { place: place.id(), why: error_text(error) };
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(PORT);
        let stream = self.options.dialer.dial_address(host, port, self.options.dial).await;
        let stream = stream.map_err(|error| away(&error))?;
        if url.scheme() != "https" {
            return Ok(BoxedStream(Box::new(stream)));
        }
        let config = rp_net::tls::public_config().map_err(|error| PromError::Unusable(error.into()))?;
        let name = rp_net::tls::server_name(host).map_err(|error| PromError::Unusable(error.into()))?;
        let tls = rp_net::tls::connect(config, name, stream).await.map_err(|error| away(&error))?;
        Ok(BoxedStream(Box::new(tls)))
    }
}

/// Combines the failures of all sources into one error.
fn combine_failures(mut failed: Vec<(Instance, PromError)>, choice: SourceChoice) -> PromError {
    if failed.len() <= 1 || !matches!(choice, SourceChoice::Auto) {
        let nothing = || PromError::SourceAway { place: "prometheus", why: "no source is known".to_owned() };
        return failed.pop().map_or_else(nothing, |(_, error)| error);
    }
    let place = failed.first().map_or("prometheus", |(place, _)| place.id());
    let whys: Vec<String> = failed
        .iter()
        .enumerate()
        .map(|(at, (place, error))| match error {
            PromError::SourceAway { why, .. } if at == 0 => why.clone(),
            PromError::SourceAway { why, .. } => format!("{}: {why}", place.id()),
            other => other.to_string(),
        })
        .collect();
    PromError::SourceAway { place, why: whys.join("; ") }
}

impl PromError {
    /// A cluster that is not in the directory.
    pub fn directory(error: rp_net::DirectoryError) -> Self {
        Self::Directory(error)
    }

    /// Whether this service is responsible for the error.
    pub fn is_ours(&self) -> bool {
        self.side() == Side::Us
    }
}
