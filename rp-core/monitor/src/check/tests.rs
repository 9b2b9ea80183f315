//! Complete looks against an in-process server.

use std::sync::atomic::{AtomicBool, Ordering};

use rp_base::{SystemClock, SystemRandom};
use rp_database::{SharedStore, Typed};
use rp_documents::{ClusterHealth, ClusterMirror, Collection};
use rp_seal::Keyring;
use serde_json::{Value, json};

use super::*;
use crate::emit::Recorder;
use crate::fake_cluster::{
    FakeCluster, HandshakeMode, ID, ReceivedRequest, Reply, SingleTarget, dialer, healthy_cluster, target,
};
use crate::fetch::FetchError;

const LONG: Duration = Duration::from_secs(60);

struct CheckBench {
    check: Check,
    recorder: Recorder,
}

fn parts(far: &FakeCluster, options: CheckOptions) -> (CheckParts, Recorder) {
    let (emitters, recorder) = Emitters::for_tests();
    let parts = CheckParts {
        directory: far.directory(),
        dialer: dialer(),
        clock: Arc::new(SystemClock),
        budget: Budget::unlimited(),
        emitters,
        records: None,
        beside: Vec::new(),
        subnets: None,
        options,
    };
    (parts, recorder)
}

fn bench(far: &FakeCluster, options: CheckOptions) -> CheckBench {
    let (parts, recorder) = parts(far, options);
    CheckBench { check: Check::new(parts), recorder }
}

fn view() -> Arc<ClusterView> {
    let id = ResourceId::parse(ID).unwrap();
    let mut view = ClusterView::bare("doc".to_owned(), id, rp_net::Source::Aro);
    view.location = "westeurope".to_owned();
    view.workload_identity = true;
    Arc::new(view)
}

impl CheckBench {
    async fn look(&self, number: u64) -> Observation {
        self.look_until(number, CancellationToken::new()).await
    }

    async fn look_until(&self, number: u64, cancel: CancellationToken) -> Observation {
        let round = Round { hourly: number == 1, nsg_due: false, number };
        let looking = self.check.observe(view(), round, cancel);
        timeout(LONG, looking).await.expect("an end")
    }

    fn values(&self, metric: &str, dim: &str) -> Vec<String> {
        self.recorder
            .samples_of(metric)
            .iter()
            .map(|line| line.dims.get(dim).cloned().unwrap_or_default())
            .collect()
    }
}

fn error_of<'a>(observed: &'a Observation, name: &str) -> Option<&'a str> {
    observed.outcomes.iter().find(|outcome| outcome.name == name)?.error.as_deref()
}

#[tokio::test]
async fn a_look_tells_health_first_and_asks_for_everything_once() {
    let far = FakeCluster::start(healthy_cluster).await;
    let bench = bench(&far, CheckOptions::default());
    let observed = bench.look(2).await;
    // The fake cluster does not forward ports.
    assert_eq!(
        (observed.healthz, observed.done.failed.as_slice()),
        (200, ["emitPrometheusAlerts"].as_slice())
    );
    let lines = bench.recorder.lines();
    assert_eq!(lines[0].metric, "apiserver.healthz.code");
    assert_eq!(lines[0].dims["resourceName"], "Name");
    let mut paths: Vec<String> = far.requests().into_iter().map(|asked| asked.path).collect();
    assert_eq!(paths[..2], ["/healthz", "/apis/config.openshift.io/v1/clusterversions/version"]);
    paths.retain(|path| !path.contains("portforward"));
    let all = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), all, "nothing is asked twice");
    assert_eq!(bench.values("node.count", "role").len(), 3);
    let nodes: Vec<f64> =
        bench.recorder.samples_of("node.count").iter().map(|line| line.value.as_f64()).collect();
    assert_eq!(nodes, [3.0, 1.0, 0.0]);
    assert_eq!(bench.recorder.samples_of("clusteroperator.count")[0].value.as_f64(), 3.0);
}

#[tokio::test]
async fn pages_of_one_tell_the_same() {
    let far = FakeCluster::start(healthy_cluster).await;
    let told = async |page: usize| {
        let fetch = FetchLimits { page, ..FetchLimits::default() };
        let bench = bench(&far, CheckOptions { fetch, ..CheckOptions::default() });
        bench.look(1).await;
        let plain =
            |line: crate::emit::RecordedSample| (line.metric, line.value.as_f64().to_string(), line.dims);
        let mut lines: Vec<_> = bench.recorder.take().into_iter().map(plain).collect();
        lines.retain(|(metric, ..)| !metric.contains("duration"));
        lines.sort();
        lines
    };
    assert_eq!(told(1).await, told(500).await);
}

#[tokio::test]
async fn one_connection_stays_for_the_next_look_until_the_cluster_leaves() {
    let far = FakeCluster::start(healthy_cluster).await;
    let slow = LeanOptions { crowd: LONG, ..LeanOptions::default() };
    let only = Some(vec!["emitNetworkMTU".to_owned()]);
    let bench = bench(&far, CheckOptions { connection: slow, only, ..CheckOptions::default() });
    for number in 1..4 {
        bench.look(number).await;
    }
    assert_eq!(far.connections.load(Ordering::SeqCst), 1);
    bench.check.forget(&view().id);
    bench.look(4).await;
    assert_eq!(far.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_new_target_gets_a_new_connection() {
    let (old, new) = (FakeCluster::start(healthy_cluster).await, FakeCluster::start(healthy_cluster).await);
    let connections = Connections::new(old.directory(), dialer(), LeanOptions::default());
    let id = view().id.clone();
    let first = connections.to(&id).await.unwrap();
    assert!(Arc::ptr_eq(&first, &connections.to(&id).await.unwrap()));
    #[derive(Debug)]
    struct MovingDirectory(Arc<rp_net::Target>, Arc<rp_net::Target>, AtomicBool);
    #[async_trait]
    impl Directory for MovingDirectory {
        async fn find(&self, _: &ResourceId) -> Result<Arc<rp_net::Target>, rp_net::DirectoryError> {
            Ok(Arc::clone(if self.2.swap(true, Ordering::SeqCst) { &self.1 } else { &self.0 }))
        }
    }
    let moves = Arc::new(MovingDirectory(old.target(), new.target(), AtomicBool::new(false)));
    let connections = Connections::new(moves, dialer(), LeanOptions::default());
    let (first, second) = (connections.to(&id).await.unwrap(), connections.to(&id).await.unwrap());
    assert!(!Arc::ptr_eq(&first, &second));
    assert_eq!((second.target().fingerprint, connections.len()), (new.target().fingerprint, 1));
}

#[tokio::test]
async fn a_sick_api_server_is_pinged_and_left_alone() {
    for (healthz, ping) in [(500, "200"), (401, "200"), (429, "200")] {
        let far = FakeCluster::start(move |asked: &ReceivedRequest| match asked.path.as_str() {
            "/healthz" => Reply::Text(healthz, String::new()),
            _ => healthy_cluster(asked),
        })
        .await;
        let bench = bench(&far, CheckOptions::default());
        let observed = bench.look(2).await;
        assert_eq!(observed.done.failed, ["emitAPIServerHealthzCode"]);
        assert_eq!(bench.values("apiserver.healthz.code", "code"), [healthz.to_string()]);
        assert_eq!(bench.values("apiserver.healthz.ping.code", "code"), [ping]);
        assert_eq!(far.requests().len(), 2);
        assert!(bench.recorder.samples_of("monitor.cluster.connect.error").is_empty());
    }
}

#[tokio::test]
async fn a_cluster_without_a_way_has_code_0_and_says_where_the_way_ends() {
    let short = LeanOptions {
        dial: Duration::from_secs(1),
        head: Duration::from_millis(200),
        ..LeanOptions::default()
    };
    let options = || CheckOptions { connection: short.clone(), ..CheckOptions::default() };
    let wrong = FakeCluster::start_with(HandshakeMode::Stranger, healthy_cluster).await;
    let hangs = FakeCluster::start_with(HandshakeMode::NoTls, healthy_cluster).await;
    let silent = FakeCluster::start(|_| Reply::Silent).await;
    let gone = FakeCluster::start(healthy_cluster).await;
    let mut elsewhere = target("https://127.0.0.1:1", gone.target().ca_pem.clone());
    for (far, stages) in [(&wrong, ["tls", "tls"]), (&hangs, ["tls", "tls"]), (&silent, ["head", "tls"])] {
        let bench = bench(far, options());
        let observed = bench.look(2).await;
        assert_eq!(observed.healthz, 0);
        assert_eq!(bench.values("apiserver.healthz.code", "code"), ["0"]);
        assert_eq!(bench.values("apiserver.healthz.ping.code", "code"), ["0"]);
        let stage = bench.values("monitor.cluster.connect.error", "stage");
        assert!(stages.contains(&stage[0].as_str()), "{stage:?}");
    }
    // No target at all: nothing is dialled.
    elsewhere.id = ResourceId::imported("other").unwrap();
    let (mut parts, recorder) = parts(&gone, options());
    parts.directory = Arc::new(SingleTarget(Arc::new(elsewhere)));
    let bench = CheckBench { check: Check::new(parts), recorder };
    assert_eq!(bench.look(2).await.done.failed, ["emitAPIServerHealthzCode"]);
    assert_eq!(bench.values("monitor.cluster.connect.error", "stage"), ["unknown"]);
    assert_eq!(bench.values("apiserver.healthz.code", "code"), ["0"]);
    assert!(gone.requests().is_empty());
}

#[tokio::test]
async fn one_forbidden_kind_fails_its_collectors_alone() {
    let far = FakeCluster::start(|asked: &ReceivedRequest| match asked.path.as_str() {
        "/api/v1/nodes" => Reply::Text(403, r#"{"message":"nodes is forbidden"}"#.to_owned()),
        _ => healthy_cluster(asked),
    })
    .await;
    let bench = bench(&far, CheckOptions::default());
    let observed = bench.look(2).await;
    assert!(
        error_of(&observed, "emitNodeConditions")
            .is_some_and(|error| error.contains("403: nodes is forbidden"))
    );
    assert_eq!(error_of(&observed, "emitClusterOperatorConditions"), None);
    let failed = bench.values("monitor.cluster.collector.error", "collector");
    assert!(failed.contains(&"emitNodeConditions".to_owned()), "{failed:?}");
    assert!(!failed.contains(&"emitPodConditions".to_owned()), "{failed:?}");
    assert!(bench.recorder.samples_of("monitor.cluster.duration").is_empty());
    assert!(!bench.recorder.samples_of("clusteroperator.count").is_empty());
}

#[tokio::test]
async fn a_version_that_cannot_be_read_stops_the_look() {
    let far = FakeCluster::start(|asked: &ReceivedRequest| match asked.path.as_str() {
        "/apis/config.openshift.io/v1/clusterversions/version" => Reply::Text(500, String::new()),
        _ => healthy_cluster(asked),
    })
    .await;
    let bench = bench(&far, CheckOptions::default());
    assert_eq!(bench.look(2).await.done.failed, ["prefetchClusterVersion"]);
    assert_eq!(far.requests().len(), 2);
}

#[tokio::test]
async fn the_deadline_ends_a_look_and_what_came_before_is_told() {
    let far = FakeCluster::start(|asked: &ReceivedRequest| match asked.path.as_str() {
        "/api/v1/nodes" => Reply::Half,
        _ => healthy_cluster(asked),
    })
    .await;
    let bench = bench(&far, CheckOptions { timeout: Duration::from_secs(8), ..CheckOptions::default() });
    let observed = bench.look(2).await;
    assert!(observed.done.failed.contains(&"deadline"));
    let error = error_of(&observed, "emitNodeConditions").unwrap();
    assert!(error.contains(&FetchError::Deadline.to_string()), "{error}");
    assert_eq!(bench.recorder.samples_of("monitor.main.timedout").len(), 1);
    assert!(bench.recorder.samples_of("monitor.main.forcedcleanup").is_empty());
    assert_eq!(bench.values("apiserver.healthz.code", "code"), ["200"]);
}

/// Hangs and ignores cancellation, or panics.
struct StuckMonitor(bool);

#[async_trait]
impl SideMonitor for StuckMonitor {
    fn name(&self) -> &'static str {
        "nsg"
    }

    fn failed(&self) -> &'static Metric {
        &own::NSG_FAILED
    }

    fn due(&self, _: &ClusterView, _: Round) -> bool {
        true
    }

    async fn run(
        &self,
        _: &ClusterView,
        _: &ClusterDims,
        _: Round,
        _: &CancellationToken,
    ) -> SideMonitorOutput {
        assert!(!self.0, "no luck");
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_monitor_that_does_not_end_is_abandoned_and_one_that_panics_is_counted() {
    let far = FakeCluster::start(healthy_cluster).await;
    let options = || CheckOptions {
        timeout: Duration::from_secs(5),
        grace: Duration::from_millis(50),
        ..CheckOptions::default()
    };
    let (mut hangs, recorder) = parts(&far, options());
    hangs.beside = vec![Arc::new(StuckMonitor(false))];
    let bench = CheckBench { check: Check::new(hangs), recorder };
    let observed = bench.look(2).await;
    assert!(observed.done.failed.contains(&"deadline"));
    assert_eq!(bench.recorder.samples_of("monitor.main.forcedcleanup").len(), 1);
    assert_eq!(bench.values("apiserver.healthz.code", "code"), ["200"], "the other monitor was not hurt");
    let (mut panics, recorder) = parts(&far, options());
    panics.beside = vec![Arc::new(StuckMonitor(true))];
    let bench = CheckBench { check: Check::new(panics), recorder };
    bench.look(2).await;
    assert_eq!(bench.recorder.samples_of("monitor.nsg.failedworker").len(), 1);
    assert!(bench.recorder.samples_of("monitor.main.timedout").is_empty());
}

struct RecordBench {
    store: SharedStore,
    keyring: Keyring,
}

impl RecordBench {
    fn new() -> Self {
        let clock: SharedClock = Arc::new(SystemClock);
        let store = rp_database::SqliteStore::memory(&clock);
        Self { store: Arc::new(store), keyring: Keyring::generate(&SystemRandom) }
    }

    async fn cluster(&self) {
        let document = json!({"id": "doc", "key": ID.to_lowercase(), "partitionKey": "p", "bucket": 1, "openShiftCluster": {"id": ID, "name": "Name", "type": "t", "location": "westeurope", "properties": {}}});
        let draft = rp_database::Draft {
            id: "doc".to_owned(),
            partition: "p".to_owned(),
            unique_key: Some(ID.to_lowercase()),
            body: document.to_string(),
            expires_at: None,
        };
        self.store.create(Collection::OpenShiftClusters, draft).await.unwrap();
    }

    fn bench(&self, far: &FakeCluster) -> CheckBench {
        let (mut parts, recorder) = parts(far, CheckOptions { mirror_every: 1, ..CheckOptions::default() });
        parts.records = Some(Records::new(&self.store, self.keyring.clone()));
        CheckBench { check: Check::new(parts), recorder }
    }

    async fn health(&self) -> Option<rp_database::Versioned<ClusterHealth>> {
        Typed::new(Arc::clone(&self.store)).get("doc").await.unwrap()
    }

    async fn mirror(&self) -> Option<rp_database::Versioned<ClusterMirror>> {
        Typed::new(Arc::clone(&self.store)).get("doc").await.unwrap()
    }
}

/// A cluster with a degraded operator while `sick`, and a service principal.
fn changing(
    sick: &Arc<AtomicBool>,
    secret: &Arc<parking_lot::Mutex<String>>,
) -> impl Fn(&ReceivedRequest) -> Reply + use<> {
    use base64::Engine as _;
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let (sick, secret) = (Arc::clone(sick), Arc::clone(secret));
    move |asked| match asked.path.as_str() {
        "/apis/config.openshift.io/v1/clusteroperators" => {
            let degraded = if sick.load(Ordering::SeqCst) { "True" } else { "False" };
            Reply::Json(json!({"items": [{"metadata": {"name": "etcd"},
                "status": {"conditions": [{"type": "Degraded", "status": degraded}]}}]}))
        }
        "/api/v1/namespaces/kube-system/secrets/azure-credentials" => Reply::Json(json!({"data": {
            "azure_client_id": base64("client"), "azure_client_secret": base64(&secret.lock())}})),
        _ => healthy_cluster(asked),
    }
}

#[tokio::test]
async fn health_and_mirror_are_written_when_they_change_and_not_otherwise() {
    let kept = RecordBench::new();
    kept.cluster().await;
    let (sick, secret) =
        (Arc::new(AtomicBool::new(false)), Arc::new(parking_lot::Mutex::new("hidden".to_owned())));
    let far = FakeCluster::start(changing(&sick, &secret)).await;
    let bench = kept.bench(&far);
    let view = {
        let mut view = ClusterView::clone(&view());
        (view.workload_identity, view.service_principal) = (false, true);
        Arc::new(view)
    };
    let look = async |bench: &CheckBench, number| {
        let round = Round { hourly: false, nsg_due: false, number };
        bench.check.look(Arc::clone(&view), round, CancellationToken::new()).await;
    };
    look(&bench, 1).await;
    let first = kept.health().await.unwrap();
    assert_eq!(
        (first.value.version.as_str(), first.value.nodes, first.value.healthz),
        ("4.18.9", 4, Some(200))
    );
    assert!(first.value.collectors.len() > 20, "{:?}", first.value.collectors);
    let mirror = kept.mirror().await.unwrap();
    assert_eq!(mirror.value.version.as_deref(), Some("4.18.9"));
    let principal = mirror.value.service_principal.clone().unwrap();
    assert_eq!(principal.client_id, "client");
    assert!(!serde_json::to_string(&mirror.value).unwrap().contains("hidden"));
    let opened = kept.keyring.open(&principal.client_secret, "ClusterMirror/doc/clientSecret").unwrap();
    assert_eq!(opened.expose(), b"hidden");
    look(&bench, 2).await;
    // Another process that takes the bucket over writes nothing either.
    look(&kept.bench(&far), 1).await;
    assert_eq!(kept.health().await.unwrap().version, first.version);
    assert_eq!(kept.mirror().await.unwrap().version, mirror.version);
    sick.store(true, Ordering::SeqCst);
    look(&bench, 3).await;
    let second = kept.health().await.unwrap();
    assert_eq!(
        (second.version != first.version, second.value.operators_degraded.as_slice()),
        (true, ["etcd".to_owned()].as_slice())
    );
    assert_eq!(kept.mirror().await.unwrap().version, mirror.version, "the mirror did not change");
    "other".clone_into(&mut secret.lock());
    look(&bench, 4).await;
    let again = kept.mirror().await.unwrap();
    let opened = kept
        .keyring
        .open(&again.value.service_principal.unwrap().client_secret, "ClusterMirror/doc/clientSecret");
    assert_eq!(opened.unwrap().expose(), b"other");
    assert_eq!(kept.health().await.unwrap().version, second.version);
    // Another process wrote meanwhile: this one's version is stale, it reads, and finds nothing to write.
    sick.store(false, Ordering::SeqCst);
    look(&kept.bench(&far), 1).await;
    let third = kept.health().await.unwrap();
    assert!(third.value.operators_degraded.is_empty());
    look(&bench, 5).await;
    assert_eq!(kept.health().await.unwrap().version, third.version);
    sick.store(true, Ordering::SeqCst);
    look(&bench, 6).await;
    assert_eq!(kept.health().await.unwrap().value.operators_degraded, ["etcd"]);
}

#[tokio::test]
async fn a_cluster_that_was_deleted_meanwhile_leaves_nothing() {
    let kept = RecordBench::new();
    let far = FakeCluster::start(healthy_cluster).await;
    kept.bench(&far).look(1).await;
    assert!(kept.health().await.is_none() && kept.mirror().await.is_none(), "there never was a document");
    kept.cluster().await;
    let bench = kept.bench(&far);
    bench.look(1).await;
    assert!(kept.health().await.is_some());
}

#[tokio::test]
async fn a_look_that_the_end_of_the_process_cuts_short_writes_nothing() {
    let kept = RecordBench::new();
    kept.cluster().await;
    let far = FakeCluster::start(|asked: &ReceivedRequest| match asked.path.as_str() {
        "/api/v1/nodes" => Reply::Silent,
        _ => healthy_cluster(asked),
    })
    .await;
    let (bench, cancel) = (kept.bench(&far), CancellationToken::new());
    let stop = async {
        while far.request_count("/api/v1/nodes") == 0 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (observed, ()) = tokio::join!(bench.look_until(1, cancel.clone()), stop);
    assert!(!observed.done.failed.contains(&"deadline"));
    assert!(kept.health().await.is_none(), "half a look is no health");
    assert_eq!(bench.values("apiserver.healthz.code", "code"), ["200"], "what was seen is told");
}

#[tokio::test]
async fn arbitrary_answers_never_panic() {
    let odd =
        [Value::Null, json!([]), json!({"items": null}), json!({"items": [null, 1, "x", {}]}), json!(1)];
    for (at, value) in odd.into_iter().enumerate() {
        let far = FakeCluster::start(move |asked: &ReceivedRequest| match asked.path.as_str() {
            "/healthz" => healthy_cluster(asked),
            _ => Reply::Json(value.clone()),
        })
        .await;
        let observed = bench(&far, CheckOptions::default()).look(1).await;
        let panicked =
            observed.outcomes.iter().filter_map(|it| it.error.as_deref()).find(|it| it.contains("panic"));
        assert_eq!(panicked, None, "answer {at}");
    }
}
