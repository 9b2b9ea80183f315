use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use parking_lot::Mutex;
use rp_base::{Clock as _, SystemClock, SystemRandom, Timestamp};
use rp_database::{Draft, Expect, Typed, in_memory};
use rp_documents::{BucketLooks, ClusterHealth, ResourceId, SubscriptionDocument};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::*;
use crate::view::ClusterView;
use crate::worker::plan::SKIP_WARNING;
use crate::worker::{LookOutcome, Round};

const LONG: Duration = Duration::from_secs(60);
const GOOD: &str = "00000000-0000-0000-0000-000000000001";
const BAD: &str = "00000000-0000-0000-0000-000000000002";

fn id(subscription: &str, name: &str) -> ResourceId {
    ResourceId::from_parts(subscription, "group", name).unwrap()
}

async fn put(store: &SharedStore, number: usize, subscription: &str, name: &str, properties: Value) {
    let of = id(subscription, name);
    let body = json!({"id": name, "key": of.key(), "partitionKey": subscription, "bucket": number % 256,
        "openShiftCluster": {"id": of, "properties": properties}});
    let draft = Draft {
        id: name.to_owned(),
        partition: subscription.to_owned(),
        unique_key: Some(of.key().to_owned()),
        body: body.to_string(),
        expires_at: None,
    };
    match store.replace(Collection::OpenShiftClusters, draft.clone(), Expect::Any).await {
        Err(StoreError::Gone { .. }) => store.create(Collection::OpenShiftClusters, draft).await.unwrap(),
        done => done.unwrap(),
    };
}

/// `count` clusters in order, and some that must not be looked at.
async fn fleet(count: usize) -> SharedStore {
    let store = in_memory(Arc::new(SystemClock));
    let typed: Typed<SubscriptionDocument> = Typed::new(Arc::clone(&store));
    for (subscription, state) in [(GOOD, "Registered"), (BAD, "Suspended")] {
        let document =
            json!({"id": subscription, "subscription": {"state": state, "properties": {"tenantId": "t"}}});
        typed.create(serde_json::from_value(document).unwrap()).await.unwrap();
    }
    for number in 0..count {
        let name = format!("cluster-{number}");
        put(&store, number * 7, GOOD, &name, json!({"provisioningState": "Succeeded"})).await;
    }
    put(&store, 1, GOOD, "creating", json!({"provisioningState": "Creating"})).await;
    put(&store, 2, GOOD, "deleting", json!({"provisioningState": "Deleting"})).await;
    let failed = json!({"provisioningState": "Failed", "failedProvisioningState": "Creating"});
    put(&store, 3, GOOD, "failed", failed).await;
    put(&store, 4, BAD, "suspended", json!({"provisioningState": "Succeeded"})).await;
    store
}

/// Records the looks; can be slow, stuck or broken.
#[derive(Default)]
struct Recording {
    looked: Mutex<BTreeMap<String, usize>>,
    forgotten: Mutex<BTreeSet<String>>,
    cancelled: Mutex<BTreeSet<String>>,
    running: Mutex<BTreeSet<String>>,
    /// Looks at clusters of this name last until they are let go or cancelled.
    slow: Option<&'static str>,
    let_go: Notify,
    /// Looks at clusters of this name panic.
    broken: Option<&'static str>,
}

#[async_trait]
impl Look for Recording {
    async fn look(&self, cluster: Arc<ClusterView>, round: Round, cancel: CancellationToken) -> LookOutcome {
        assert!(round.number > 0 && cluster.tenant.as_deref() == Some("t"));
        let name = cluster.id.name().to_owned();
        assert!(self.running.lock().insert(name.clone()), "{name} is looked at twice at once");
        if self.slow == Some(name.as_str()) {
            tokio::select! {
                () = self.let_go.notified() => {}
                () = cancel.cancelled() => {
                    self.cancelled.lock().insert(name.clone());
                }
            }
        }
        *self.looked.lock().entry(name.clone()).or_default() += 1;
        self.running.lock().remove(&name);
        assert!(self.broken != Some(name.as_str()), "broken on purpose");
        LookOutcome { started: SystemClock.now(), took: Duration::from_millis(1), failed: Vec::new() }
    }

    fn forget(&self, id: &ResourceId) {
        self.forgotten.lock().insert(id.name().to_owned());
    }
}

fn short() -> rp_config::Monitor {
    let times = |millis| Duration::from_millis(millis);
    rp_config::Monitor {
        bucket_interval: times(50),
        worker_ttl: times(2000),
        lease: times(1000),
        interval: times(200),
        start_delay: times(100),
        feed_poll: times(50),
        ready_delay: times(1),
        emit_interval: times(50),
        record_interval: times(100),
        drain: times(10_000),
        ..rp_config::Monitor::default()
    }
}

async fn start(store: &SharedStore, look: &Arc<Recording>, settings: rp_config::Monitor) -> MonitorService {
    let parts = MonitorParts {
        store: Arc::clone(store),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        registry: Registry::new(),
        look: Arc::clone(look) as Arc<dyn Look>,
        emit: Emit::none(),
        settings,
        shared: false,
        version: "commit".to_owned(),
    };
    MonitorService::start(parts).await.unwrap()
}

/// Waits until the condition holds; panics with the last value.
async fn until(what: &str, mut seen: impl AsyncFnMut() -> Result<(), String>) {
    let mut last = String::new();
    let wait = async {
        while let Err(why) = seen().await {
            last = why;
            sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(timeout(LONG, wait).await.is_ok(), "{what}: {last}");
}

async fn recorded(store: &SharedStore) -> BTreeMap<String, Timestamp> {
    let typed: Typed<BucketLooks> = Typed::new(Arc::clone(store));
    let all = typed.all().await.unwrap();
    all.into_iter().flat_map(|read| read.value.looks).map(|(id, look)| (id, look.at)).collect()
}

fn is(so: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if so { Ok(()) } else { Err(why()) }
}

#[test]
fn the_values_of_the_contract() {
    let told = rp_config::Monitor::default();
    let seconds = [
        told.interval,
        told.start_delay,
        told.feed_poll,
        told.bucket_interval,
        told.worker_ttl,
        told.lease,
        told.ready_delay,
        told.ready_within,
        told.nsg_interval,
        SKIP_WARNING,
        told.emit_interval,
    ]
    .map(|length| length.as_secs());
    assert_eq!(seconds, [60, 60, 10, 10, 60, 60, 120, 60, 600, 1800, 60]);
    assert_eq!((told.feed_page, rp_documents::BUCKETS), (50, 256));
}

#[tokio::test]
async fn what_is_to_be_looked_at_is_and_recorded() {
    let store = fleet(20).await;
    let look = Arc::new(Recording { broken: Some("cluster-3"), ..Recording::default() });
    let service = start(&store, &look, short()).await;
    until("each three times", async || {
        let looked = look.looked.lock().clone();
        is(looked.len() == 20 && looked.values().all(|count| *count >= 3), || format!("{looked:?}"))
    })
    .await;
    until("recorded, but for the one that panics", async || {
        let recorded = recorded(&store).await;
        is(recorded.len() == 19, || format!("{recorded:?}"))
    })
    .await;
    until("ready", async || service.ready().check().map_err(|error| error.to_string())).await;
    for never in ["creating", "deleting", "failed", "suspended"] {
        assert!(!look.looked.lock().contains_key(never), "{never}");
    }
    // One subscription comes into force, and another one leaves.
    put(&store, 1, GOOD, "creating", json!({"provisioningState": "Succeeded"})).await;
    put(&store, 0, GOOD, "cluster-0", json!({"provisioningState": "Deleting"})).await;
    until("the new one is looked at, the old one forgotten", async || {
        let new = look.looked.lock().contains_key("creating");
        let forgotten = look.forgotten.lock().clone();
        is(new && forgotten.contains("cluster-0"), || format!("{new} {forgotten:?}"))
    })
    .await;
    service.stop().await;
    assert!(look.running.lock().is_empty());
}

#[tokio::test]
async fn a_document_that_is_deleted_while_it_is_looked_at_leaves_nothing() {
    let store = fleet(2).await;
    let look = Arc::new(Recording { slow: Some("cluster-1"), ..Recording::default() });
    let service = start(&store, &look, short()).await;
    until("it is looked at", async || is(look.running.lock().contains("cluster-1"), String::new)).await;
    let healths: Typed<ClusterHealth> = Typed::new(Arc::clone(&store));
    let health = json!({"id": "cluster-1", "looked_at": SystemClock.now()});
    healths.create(serde_json::from_value(health).unwrap()).await.unwrap();
    store.delete(Collection::OpenShiftClusters, "cluster-1", Expect::Any).await.unwrap();
    until("it is gone", async || {
        let there = healths.get("cluster-1").await.unwrap().is_some();
        let looks = recorded(&store).await;
        is(!there && !looks.contains_key("cluster-1"), || format!("{there} {looks:?}"))
    })
    .await;
    assert!(look.cancelled.lock().contains("cluster-1") && look.forgotten.lock().contains("cluster-1"));
    until("the other one is recorded", async || {
        let looks = recorded(&store).await;
        is(looks.contains_key("cluster-0"), || format!("{looks:?}"))
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn a_stop_waits_for_looks_and_cuts_what_takes_too_long() {
    let store = fleet(1).await;
    for hangs in [false, true] {
        let look = Arc::new(Recording { slow: Some("cluster-0"), ..Recording::default() });
        let drain = if hangs { Duration::from_millis(100) } else { LONG };
        let service = start(&store, &look, rp_config::Monitor { drain, ..short() }).await;
        until("it is looked at", async || is(look.running.lock().contains("cluster-0"), String::new)).await;
        let stopping = tokio::spawn(service.stop());
        if !hangs {
            // Others may get the buckets before the look has ended.
            let typed: Typed<rp_documents::PoolDocument> = Typed::new(Arc::clone(&store));
            until("the worker's document is gone", async || {
                let all = typed.all().await.unwrap();
                is(all.len() == 1 && all[0].value.lease_owner.is_empty(), || format!("{all:?}"))
            })
            .await;
            assert!(!stopping.is_finished());
            look.let_go.notify_waiters();
        }
        timeout(LONG, stopping).await.expect("it ends").unwrap();
        assert_eq!(look.cancelled.lock().contains("cluster-0"), hangs);
        assert!(look.running.lock().is_empty() && recorded(&store).await.contains_key("cluster-0"));
    }
}

#[tokio::test]
async fn three_share_the_fleet_and_one_that_leaves_is_replaced() {
    let store = fleet(60).await;
    let looks: Vec<Arc<Recording>> = (0..3).map(|_| Arc::default()).collect();
    let mut services = Vec::new();
    for look in &looks {
        services.push(start(&store, look, short()).await);
    }
    until("all buckets have one owner each", async || {
        let now = Instant::now();
        let owned: Vec<usize> =
            services.iter().map(|each| each.assignment().borrow().buckets(now).len()).collect();
        is(owned.iter().sum::<usize>() == 256 && owned.iter().all(|count| *count > 80), || {
            format!("{owned:?}")
        })
    })
    .await;
    looks.iter().for_each(|look| look.looked.lock().clear());
    until("each is looked at by one", async || {
        let all: Vec<BTreeSet<String>> =
            looks.iter().map(|look| look.looked.lock().keys().cloned().collect()).collect();
        let union: BTreeSet<&String> = all.iter().flatten().collect();
        is(union.len() == 60 && all.iter().all(|each| each.len() > 8), || format!("{all:?}"))
    })
    .await;
    services.remove(0).stop().await;
    until("two have all", async || {
        let now = Instant::now();
        let owned: Vec<usize> =
            services.iter().map(|each| each.assignment().borrow().buckets(now).len()).collect();
        is(owned == [128, 128], || format!("{owned:?}"))
    })
    .await;
    for service in services {
        service.stop().await;
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_fatal_at_the_start() {
    let store = fleet(1).await;
    store.close().await;
    let parts = MonitorParts {
        store,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        registry: Registry::new(),
        look: Arc::new(Recording::default()),
        emit: Emit::none(),
        settings: short(),
        shared: false,
        version: String::new(),
    };
    let error = MonitorService::start(parts).await.unwrap_err();
    assert!(matches!(error, StartError::Pool(_)), "{error}");
}

#[tokio::test]
async fn it_emits_sizes_and_beats_only_when_ready() {
    let store = fleet(5).await;
    let told: Arc<Mutex<Vec<(String, i64, String)>>> = Arc::default();
    let emit = {
        let told = Arc::clone(&told);
        Emit::new(move |metric, value, dims| {
            let dims: Vec<String> = dims.iter().map(|(name, value)| format!("{name}={value}")).collect();
            told.lock().push((metric.name.to_owned(), value, dims.join(",")));
        })
    };
    let parts = MonitorParts {
        store,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        registry: Registry::new(),
        look: Arc::new(Recording::default()),
        emit,
        settings: rp_config::Monitor { ready_delay: Duration::from_millis(400), ..short() },
        shared: false,
        version: "commit".to_owned(),
    };
    let registry = parts.registry.clone();
    let service = MonitorService::start(parts).await.unwrap();
    assert!(service.ready().check().is_err());
    let has = |name: &str, value: i64, dims: &str| {
        let told = told.lock();
        is(told.iter().any(|point| *point == (name.to_owned(), value, dims.to_owned())), || {
            format!("{told:?}")
        })
    };
    until("sizes", async || {
        // The cache has the suspended subscription's cluster in addition to the five.
        has("monitor.cache.size", 6, "cache=openshiftclusters")?;
        has("monitor.cache.size", 1, "cache=subscriptions")?;
        has("changefeed.caches.size", 1, "name=SubscriptionDocument")?;
        has("monitor.workers.active.count", 1, "")?;
        has("monitor.workers.active.count", 0, "")?;
        has("monitor.heartbeat", 1, "version=commit")
    })
    .await;
    let text = registry.render();
    for line in [
        "aro_pool_buckets{worker_type=\"monitor\"} 256",
        "aro_monitor_clusters 6",
        "aro_monitor_looks_total{result=\"skipped\"}",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    service.stop().await;
}
