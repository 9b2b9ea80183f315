//! Which connection a question takes, and what is done when a source does not answer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use parking_lot::Mutex;
use rp_base::SharedClock;
use rp_documents::{ResourceId, Side};
use rp_kube::connect::{ClientOptions, Identity, client, dial_error};
use rp_kube::{KubeClient, KubeError, port_forward, ready_pods};
use rp_metrics::{Counter, Family, Histogram, Registry, buckets, labels, metrics};
use rp_net::{Budget, Cost, DialError, Dialer, Target};
use rp_promql::Position;
use serde::{Deserialize, Serialize};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};
use url::Url;

use crate::answer::Answer;
use crate::body::{AnswerBody, Upstream};
use crate::call::{Call, Endpoint};
use crate::error::PromError;
use crate::lane::{AnyWire, Connection, Lane};
use crate::names::NameCache;
use crate::scan::Scanner;
use crate::source::{Choice, Place, SOURCES, Source};
use crate::table::Table;
use crate::way::Way;

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

/// What [`Prometheus`] is told.
#[derive(Debug, Clone)]
pub struct Options {
    pub dialer: Dialer,
    pub clock: SharedClock,
    pub registry: Registry,
    /// Requests to one cluster, shared with whatever else asks it.
    pub budget: Budget,
    /// How imported clusters' Prometheus is reached, where it is not found by itself.
    pub ways: BTreeMap<ResourceId, Way>,
    /// Questions to one cluster at once: the budget that pages, tools and fleet queries share.
    pub per_cluster: usize,
    /// Memory for names that completion looks through, bytes.
    pub names: usize,
    /// For opening a connection.
    pub dial: Duration,
    /// Without a sign of life for so long, a source is asked whether it is there.
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

/// What is known of a source of a cluster.
#[derive(Debug, Clone, Serialize)]
pub struct SourceState {
    #[serde(flatten)]
    pub source: Source,
    /// `namespace/pod:port`, or an address.
    #[serde(rename = "where")]
    pub place: String,
    pub way: &'static str,
    /// Whether it answered last; `None`: not tried yet.
    pub ok: Option<bool>,
    pub why: String,
}

#[derive(Debug, Clone)]
struct Health {
    ok: bool,
    why: String,
    at: Instant,
}

struct Cluster {
    target: Arc<Target>,
    client: KubeClient,
    configured: Option<Way>,
    /// What was found by itself; asked once.
    found: OnceCell<Option<Way>>,
    lanes: Mutex<HashMap<Place, Arc<Lane>>>,
    health: Mutex<HashMap<Place, Health>>,
    thanos: Mutex<Option<(String, Instant)>>,
    budget: Arc<Semaphore>,
    used: Mutex<Instant>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("id", &self.target.id).finish_non_exhaustive()
    }
}

pub(crate) const PLATFORM: &str = "openshift-monitoring";
const USER: &str = "openshift-user-workload-monitoring";
const PORT: u16 = 9090;
pub(crate) const ALERTMANAGER_PORT: u16 = 9093;
/// A source that failed is passed over for so long.
const AVOID: Duration = Duration::from_secs(30);
/// For a place in a cluster's budget.
const QUEUE: Duration = Duration::from_secs(10);
/// Beyond what Prometheus was given: it answers that its time is up.
const GRACE: Duration = Duration::from_secs(3);
/// Words of an error.
const MOST_ERROR: usize = 64 * 1024;
const SWEEP: Duration = Duration::from_secs(30);
const FORGET: Duration = Duration::from_secs(600);

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
            let open: usize = cluster.lanes.lock().values().map(|lane| lane.sweep()).sum();
            open > 0 || cluster.used.lock().elapsed() < FORGET
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
            // Queries through a service proxy take their time; port-forwards have none.
            head: Duration::from_secs(150),
            answer_bytes: usize::MAX,
            user_agent: "aro (metrics)".to_owned(),
            ..ClientOptions::default()
        };
        let client = client(self.options.dialer.clone(), Arc::clone(target), Identity::Admin, &options)
            .map_err(|error| PromError::Unusable(error.into()))?;
        let cluster = Arc::new(Cluster {
            target: Arc::clone(target),
            client,
            configured: self.options.ways.get(&target.id).cloned(),
            found: OnceCell::new(),
            lanes: Mutex::default(),
            health: Mutex::default(),
            thanos: Mutex::default(),
            budget: Arc::new(Semaphore::new(self.options.per_cluster.max(1))),
            used: Mutex::new(Instant::now()),
        });
        clusters.insert(target.id.clone(), Arc::clone(&cluster));
        Ok(cluster)
    }

    /// Sends a question to the first source that answers; the answer's body is not read yet.
    ///
    /// # Errors
    /// [`PromError`]: nothing was answered.
    pub async fn ask(&self, target: &Arc<Target>, call: &Call) -> Result<Answer, PromError> {
        let cluster = self.cluster(target)?;
        let budget = Arc::clone(&cluster.budget).acquire_owned();
        let permit = timeout(QUEUE, budget).await.ok().and_then(Result::ok).ok_or(PromError::Crowded)?;
        self.options.budget.take(&target.id, Cost::REQUEST).await.map_err(|_| PromError::Crowded)?;
        let mut permit = Some(permit);
        let mut failed: Vec<(Place, PromError)> = Vec::new();
        let mut places = cluster.order(call.source);
        let mut at = 0;
        while let Some(place) = places.get(at).copied() {
            at += 1;
            match self.ask_place(&cluster, place, call, &mut permit).await {
                Ok(mut answer) => {
                    cluster.mark(place, None);
                    if !failed.is_empty() {
                        self.metrics.fail_overs.inc();
                    }
                    answer.why = cluster.why(place, call.source);
                    return Ok(answer);
                }
                Err(error) if error.is_of_source() => {
                    cluster.mark(place, Some(&error));
                    failed.push((place, error));
                }
                Err(error) => return Err(error),
            }
            // Only when all that is usual was tried, and only where it may be elsewhere.
            if at == places.len() && call.source == Choice::Auto && cluster.may_look() && cluster.look().await
            {
                places.push(Place::Configured);
            }
        }
        Err(all_failed(failed, call.source))
    }

    /// A bounded answer, read whole.
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
        let order = cluster.order(Choice::Auto);
        let chosen = order.first().copied().unwrap_or(Place::Platform(0));
        let why = cluster.why(chosen, Choice::Auto).unwrap_or_default();
        let states = SOURCES.iter().filter_map(|source| cluster.state(source)).collect();
        Ok((chosen.id(), why, states))
    }

    async fn ask_place(
        &self,
        cluster: &Arc<Cluster>,
        place: Place,
        call: &Call,
        permit: &mut Option<OwnedSemaphorePermit>,
    ) -> Result<Answer, PromError> {
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
        // One permit for one answer, however many sources were tried.
        let permit = permit.take().ok_or(PromError::Crowded)?;
        // Alertmanager's lists have another shape; their size is bounded.
        let scanned = content_type == JSON && !matches!(place, Place::Alertmanager(_));
        let scanner =
            scanned.then(|| Scanner::new(call.limits.series.max(1), call.limits.bytes, call.buckets));
        Ok(Answer {
            source: place.id(),
            why: None,
            range: call.range,
            content_type,
            body: AnswerBody::new(upstream, scanner, call.limits.bytes, permit),
        })
    }

    /// Sends and waits for the head. While it waits for long, it asks now and then whether anybody is there.
    async fn send(
        &self,
        cluster: &Arc<Cluster>,
        place: Place,
        call: &Call,
    ) -> Result<(Head, Upstream), PromError> {
        let way = cluster.way(place).await?;
        if let Way::Service { namespace, service, port, tls } = &way {
            return through_api(cluster, call, place, &service_path(namespace, service, port, *tls)).await;
        }
        let exchange = self.exchange(cluster, place, &way, call);
        tokio::pin!(exchange);
        loop {
            tokio::select! {
                done = &mut exchange => return done,
                () = tokio::time::sleep(self.options.doubt) => {}
            }
            if matches!(place, Place::Alertmanager(_)) {
                continue;
            }
            tokio::select! {
                done = &mut exchange => return done,
                there = self.is_there(cluster, place, &way) => there?,
            }
        }
    }

    /// A short question over a connection of its own.
    async fn is_there(&self, cluster: &Arc<Cluster>, place: Place, way: &Way) -> Result<(), PromError> {
        let away = |why: &str| PromError::SourceAway { place: place.id(), why: why.to_owned() };
        let ask = async {
            let mut connection = self.open(cluster, place, way).await?;
            let request = request(&Method::GET, way, "/-/ready", None)?;
            connection.send(request).await.map_err(|error| of_wire(place, &error)).map(drop)
        };
        timeout(self.options.doubt, ask)
            .await
            .map_err(|_| away("it takes connections but does not answer"))?
    }

    async fn exchange(
        &self,
        cluster: &Arc<Cluster>,
        place: Place,
        way: &Way,
        call: &Call,
    ) -> Result<(Head, Upstream), PromError> {
        let lane = Arc::clone(cluster.lanes.lock().entry(place).or_default());
        let (method, path, body) = call.wire();
        // A kept connection may have died unseen: what only reads is sent again on a new one.
        if let Some(mut connection) = lane.take()
            && let Ok(answer) = connection.send(request(&method, way, &path, body.as_deref())?).await
        {
            return Ok(parted(answer, connection, lane));
        }
        let mut connection = self.open(cluster, place, way).await?;
        let answer = connection.send(request(&method, way, &path, body.as_deref())?).await;
        match answer {
            Ok(answer) => Ok(parted(answer, connection, lane)),
            Err(error) => {
                lane.clear();
                Err(of_wire(place, &error))
            }
        }
    }

    async fn open(&self, cluster: &Cluster, place: Place, way: &Way) -> Result<Connection, PromError> {
        self.metrics.dialled.inc();
        let away = |why: String| PromError::SourceAway { place: place.id(), why };
        let opening = async {
            let wire = match way {
                Way::Pod { namespace, pod, port } => {
                    let forward = port_forward(&cluster.client, namespace, pod, *port).await;
                    AnyWire(Box::new(forward.map_err(|error| of_kube(place, pod, &error))?))
                }
                Way::Address(url) => self.address(place, url).await?,
                Way::Service { .. } => return Err(away("a service has no connection of its own".to_owned())),
            };
            Connection::open(wire).await.map_err(|error| of_wire(place, &error))
        };
        let late = || away(format!("no connection within {} s", self.options.dial.as_secs()));
        timeout(self.options.dial, opening).await.map_err(|_| late())?
    }

    async fn address(&self, place: Place, url: &Url) -> Result<AnyWire, PromError> {
        let away = |error: &DialError| PromError::SourceAway { place: place.id(), why: said(error) };
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(PORT);
        let stream = self.options.dialer.dial_address(host, port, self.options.dial).await;
        let stream = stream.map_err(|error| away(&error))?;
        if url.scheme() != "https" {
            return Ok(AnyWire(Box::new(stream)));
        }
        let config = rp_net::tls::public_config().map_err(|error| PromError::Unusable(error.into()))?;
        let name = rp_net::tls::server_name(host).map_err(|error| PromError::Unusable(error.into()))?;
        let tls = rp_net::tls::connect(config, name, stream).await.map_err(|error| away(&error))?;
        Ok(AnyWire(Box::new(tls)))
    }
}

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

type Head = http::response::Parts;

fn parted(
    answer: Response<hyper::body::Incoming>,
    connection: Connection,
    lane: Arc<Lane>,
) -> (Head, Upstream) {
    let (head, body) = answer.into_parts();
    (head, Upstream::Wire { body, connection: Some(connection), lane })
}

pub(crate) fn request(
    method: &Method,
    way: &Way,
    path: &str,
    body: Option<&str>,
) -> Result<Request<Full<bytes::Bytes>>, PromError> {
    let (host, base) = match way {
        Way::Pod { pod, port, .. } => (format!("{pod}:{port}"), ""),
        Way::Address(url) => (
            format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(PORT)),
            url.path().trim_end_matches('/'),
        ),
        Way::Service { service, .. } => (service.clone(), ""),
    };
    let mut request = Request::new(Full::new(bytes::Bytes::from(body.unwrap_or_default().to_owned())));
    *request.method_mut() = method.clone();
    *request.uri_mut() = format!("{base}{path}").parse().map_err(|_| PromError::RefusedPath)?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(&host).map_err(|_| PromError::RefusedPath)?);
    headers.insert(ACCEPT, HeaderValue::from_static(JSON));
    headers.insert(USER_AGENT, HeaderValue::from_static("aro"));
    if body.is_some() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    }
    Ok(request)
}

fn service_path(namespace: &str, service: &str, port: &str, tls: bool) -> String {
    let scheme = if tls { "https:" } else { "" };
    format!("/api/v1/namespaces/{namespace}/services/{scheme}{service}:{port}/proxy")
}

async fn through_api(
    cluster: &Cluster,
    call: &Call,
    place: Place,
    base: &str,
) -> Result<(Head, Upstream), PromError> {
    let (method, path, body) = call.wire();
    let mut request = Request::new(rp_kube::KubeBody::from(body.clone().unwrap_or_default().into_bytes()));
    *request.method_mut() = method;
    *request.uri_mut() = format!("{base}{path}").parse().map_err(|_| PromError::RefusedPath)?;
    if body.is_some() {
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers_mut().insert(CONTENT_TYPE, form);
    }
    let answer = cluster.client.send(request).await.map_err(|error| of_kube(place, base, &error))?;
    let (head, body) = answer.into_parts();
    Ok((head, Upstream::Kube(Box::new(body))))
}

/// Only Prometheus' own answers pass; its refusals keep their words.
async fn check(
    head: &Head,
    upstream: Upstream,
    place: Place,
    call: &Call,
) -> Result<(&'static str, Upstream), PromError> {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let json = kind.starts_with(JSON);
    let health = matches!(&call.endpoint, Endpoint::Other(tail) if tail.starts_with("-/"));
    if head.status.is_success() && (json || health) {
        return Ok((if json { JSON } else { TEXT }, upstream));
    }
    let bytes = match upstream {
        Upstream::Wire { body, .. } => timeout(GRACE, Limited::new(body, MOST_ERROR).collect()).await.ok(),
        Upstream::Kube(body) => timeout(GRACE, Limited::new(body, MOST_ERROR).collect()).await.ok(),
    };
    let text = bytes.and_then(Result::ok).map(|read| read.to_bytes()).unwrap_or_default();
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Said {
        #[serde(default)]
        error_type: String,
        error: String,
    }
    if let Some(said) = json.then(|| serde_json::from_slice::<Said>(&text).ok()).flatten() {
        let position = Position::in_message(&call.query, &said.error);
        let message = rp_base::text::clean(&said.error, 4000);
        return Err(PromError::Refused {
            status: head.status.as_u16(),
            kind: said.error_type,
            message,
            position,
        });
    }
    let text = String::from_utf8_lossy(&text);
    if head.status == StatusCode::SERVICE_UNAVAILABLE && !kind.contains("html") {
        let why = "it is starting, or restarting (Service Unavailable)".to_owned();
        return Err(PromError::SourceAway { place: place.id(), why });
    }
    if head.status == StatusCode::NOT_FOUND && text.trim() == "404 page not found" {
        let message = "this version of Prometheus does not know this path".to_owned();
        return Err(PromError::Refused {
            status: 404,
            kind: "not_found".to_owned(),
            message,
            position: None,
        });
    }
    let what = if kind.contains("html") { "a web page" } else { "no JSON" };
    Err(PromError::NotPrometheus {
        place: place.id(),
        what: format!("{what} (HTTP {})", head.status.as_u16()),
    })
}

fn said(error: &(dyn std::error::Error + 'static)) -> String {
    rp_base::text::clean(&rp_base::chain(error).to_string(), 300)
}

pub(crate) fn of_wire(place: Place, error: &hyper::Error) -> PromError {
    PromError::SourceAway { place: place.id(), why: said(error) }
}

/// A dial that failed is the cluster's; a refusal by its API server is about the pod.
pub(crate) fn of_kube(place: Place, what: &str, error: &KubeError) -> PromError {
    if let Some(dial) = dial_error(error) {
        let cause = said(dial);
        let mut copy = DialError::new(dial.side, dial.stage, cause);
        copy.timed_out = dial.timed_out;
        return PromError::Cluster(Box::new(copy));
    }
    let why = match rp_kube::api_status(error) {
        Some(404) => format!("{what} is not there"),
        Some(403) => "our credential may not open it".to_owned(),
        _ => said(error),
    };
    PromError::SourceAway { place: place.id(), why }
}

/// One sentence of all that was tried.
fn all_failed(mut failed: Vec<(Place, PromError)>, choice: Choice) -> PromError {
    if failed.len() <= 1 || !matches!(choice, Choice::Auto) {
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

impl Cluster {
    /// Where to try: those that failed lately last.
    fn order(&self, choice: Choice) -> Vec<Place> {
        let own = self.configured.is_some() || self.found.get().is_some_and(Option::is_some);
        let mut places = choice.places(own);
        let health = self.health.lock();
        let bad =
            |place: &Place| health.get(place).is_some_and(|health| !health.ok && health.at.elapsed() < AVOID);
        places.sort_by_key(bad);
        places
    }

    /// Why an answer does not come from the first choice.
    fn why(&self, place: Place, choice: Choice) -> Option<String> {
        let own = self.configured.is_some() || self.found.get().is_some_and(Option::is_some);
        let first = choice.places(own).first().copied()?;
        if first.id() == place.id() {
            return None;
        }
        let health = self.health.lock();
        let why = health.get(&first).map(|health| health.why.clone())?;
        Some(format!("{} did not answer: {why}", first.id()))
    }

    fn mark(&self, place: Place, error: Option<&PromError>) {
        let why = match error {
            None => String::new(),
            Some(PromError::SourceAway { why, .. }) => why.clone(),
            Some(error) => error.to_string(),
        };
        if error.is_some()
            && let Some(lane) = self.lanes.lock().get(&place)
        {
            lane.clear();
        }
        if place == Place::Thanos && error.is_some() {
            *self.thanos.lock() = None;
        }
        self.health.lock().insert(place, Health { ok: error.is_none(), why, at: Instant::now() });
    }

    fn state(&self, source: &'static Source) -> Option<SourceState> {
        let place = source.places.first()?;
        let way = match place {
            Place::Configured => self.own_way()?.clone(),
            Place::Thanos => pod(PLATFORM, "thanos-querier".to_owned(), PORT),
            place => fixed(*place)?,
        };
        let health = self.health.lock();
        let health =
            source.places.iter().filter_map(|place| health.get(place)).max_by_key(|health| health.ok);
        Some(SourceState {
            source: *source,
            place: way.to_string(),
            way: way.kind(),
            ok: health.map(|health| health.ok),
            why: health.map(|health| health.why.clone()).unwrap_or_default(),
        })
    }

    fn own_way(&self) -> Option<&Way> {
        self.configured.as_ref().or_else(|| self.found.get().and_then(Option::as_ref))
    }

    async fn way(&self, place: Place) -> Result<Way, PromError> {
        let away = |why: &str| PromError::SourceAway { place: place.id(), why: why.to_owned() };
        match place {
            Place::Configured => self.own_way().cloned().ok_or_else(|| away("none is configured")),
            Place::Thanos => Ok(pod(PLATFORM, self.querier().await?, PORT)),
            place => fixed(place).ok_or_else(|| away("no such source")),
        }
    }

    /// The name of a ready querier pod, which changes with every roll-out.
    async fn querier(&self) -> Result<String, PromError> {
        let known = self.thanos.lock().clone().filter(|(_, at)| at.elapsed() < FORGET);
        if let Some((name, _)) = known {
            return Ok(name);
        }
        let labels = "app.kubernetes.io/name=thanos-query";
        let found = timeout(QUEUE, ready_pods(&self.client, Some(PLATFORM), labels)).await;
        let away = |why: String| PromError::SourceAway { place: Place::Thanos.id(), why };
        let pods = found
            .map_err(|_| away("its pods could not be listed in time".to_owned()))?
            .map_err(|error| of_kube(Place::Thanos, "thanos-querier", &error))?;
        let name = pods.into_iter().next().ok_or_else(|| away("no pod of it is ready".to_owned()))?.name;
        *self.thanos.lock() = Some((name.clone(), Instant::now()));
        Ok(name)
    }

    fn may_look(&self) -> bool {
        self.target.source == rp_net::Source::Imported && self.own_way().is_none()
    }

    /// Looks for a Prometheus by the usual labels, in every namespace; once.
    async fn look(&self) -> bool {
        let found = self.found.get_or_try_init(|| async {
            for labels in ["app.kubernetes.io/name=prometheus", "app=prometheus"] {
                let pods = timeout(QUEUE, ready_pods(&self.client, None, labels)).await.map_err(drop)?;
                // The platform's own were tried under their names.
                let others = |pod: &rp_kube::ReadyPod| !matches!(pod.namespace.as_str(), PLATFORM | USER);
                if let Some(found) = pods.map_err(drop)?.into_iter().find(others) {
                    let web = |name: &Option<String>| {
                        name.as_deref().is_some_and(|name| matches!(name, "web" | "http-web" | "http"))
                    };
                    let named = found.ports.iter().find(|(name, _)| web(name));
                    let port = named.or(found.ports.first()).map_or(PORT, |(_, port)| *port);
                    return Ok(Some(pod(&found.namespace, found.name, port)));
                }
            }
            Ok::<_, ()>(None)
        });
        found.await.is_ok_and(Option::is_some)
    }
}

fn pod(namespace: &str, pod: String, port: u16) -> Way {
    Way::Pod { namespace: namespace.to_owned(), pod, port }
}

/// The places that are always called the same.
fn fixed(place: Place) -> Option<Way> {
    Some(match place {
        Place::Platform(number) => pod(PLATFORM, format!("prometheus-k8s-{number}"), PORT),
        Place::User(number) => pod(USER, format!("prometheus-user-workload-{number}"), PORT),
        Place::Alertmanager(number) => {
            pod(PLATFORM, format!("alertmanager-main-{number}"), ALERTMANAGER_PORT)
        }
        Place::Thanos | Place::Configured => return None,
    })
}

impl PromError {
    /// A cluster that nobody can find.
    pub fn directory(error: rp_net::DirectoryError) -> Self {
        Self::Directory(error)
    }

    /// Whose fault, as a label.
    pub fn is_ours(&self) -> bool {
        self.side() == Side::Us
    }
}
