//! A store with clusters in it, and processes of workers over it.

use std::sync::Arc;
use std::time::Duration;

use rp_backend::{Backend, BackendParts};
use rp_base::{ManualClock, SharedClock, SystemClock, SystemRandom};
use rp_cluster::Manager;
use rp_database::{Draft, Expect, SharedStore, in_memory};
use rp_documents::Collection;
use rp_metrics::{Registry, Statsd};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::faulty::{Faulty, faulty};

pub(crate) const CLUSTERS: Collection = Collection::OpenShiftClusters;
pub(crate) const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000001";
/// Far above what anything here takes, for the machine may be busy.
const GENEROUS: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) store: Arc<Faulty>,
}

/// Workers that run.
pub(crate) struct Process {
    stop: CancellationToken,
    task: JoinHandle<()>,
    pub(crate) registry: Registry,
}

/// Periods that let a test end soon; what must not be hurried has the contract's.
pub(crate) fn quick() -> rp_config::Backend {
    rp_config::Backend {
        poll: Duration::from_millis(100),
        retry: Duration::from_millis(20),
        retry_most: Duration::from_millis(200),
        drain: Duration::from_secs(30),
        ..rp_config::Backend::default()
    }
}

/// Leases that run out soon.
pub(crate) fn short_leases() -> rp_config::Backend {
    rp_config::Backend { lease: Duration::from_secs(2), heartbeat: Duration::from_millis(200), ..quick() }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::over(in_memory(Arc::new(SystemClock))).await
    }

    pub(crate) async fn at(clock: &ManualClock) -> Self {
        Self::over(in_memory(Arc::new(clock.clone()))).await
    }

    async fn over(inner: SharedStore) -> Self {
        let world = Self { store: faulty(inner) };
        world.subscribe(SUBSCRIPTION, "Registered").await;
        world
    }

    /// The same store, through another process's connection.
    pub(crate) fn beside(&self) -> Self {
        Self { store: faulty(Arc::clone(&self.store.inner)) }
    }

    pub(crate) async fn subscribe(&self, id: &str, state: &str) {
        let mut body =
            json!({"id": id, "subscription": {"state": state, "properties": {"tenantId": "t"}}, "future": 1});
        if state == "Deleted" {
            body["deleting"] = json!(true);
        }
        let draft = Draft {
            id: id.into(),
            partition: id.into(),
            unique_key: None,
            body: body.to_string(),
            expires_at: None,
        };
        let store = &self.store.inner;
        if store.get(Collection::Subscriptions, id).await.unwrap().is_some() {
            store.replace(Collection::Subscriptions, draft, Expect::Any).await.unwrap();
        } else {
            store.create(Collection::Subscriptions, draft).await.unwrap();
        }
    }

    pub(crate) async fn cluster(&self, name: &str, state: &str, change: impl FnOnce(&mut Value)) -> String {
        self.cluster_in(SUBSCRIPTION, name, state, change).await
    }

    /// A cluster as the frontend leaves it, with its operation and reservations; gives its key.
    pub(crate) async fn cluster_in(
        &self,
        subscription: &str,
        name: &str,
        state: &str,
        change: impl FnOnce(&mut Value),
    ) -> String {
        let key = key(subscription, name);
        let operation = format!("operation-{name}");
        let mut body = json!({
            "id": name, "key": key, "partitionKey": subscription, "bucket": 3,
            "clusterResourceGroupIdKey": format!("/groups/{name}"), "clientIdKey": format!("client-{name}"),
            "asyncOperationId": operation, "correlationData": {"requestTime": "2026-01-01T00:00:00Z"},
            "futureEnvelope": [1, 2],
            "openShiftCluster": {
                "id": key, "name": name, "location": "eastus", "futureCluster": {"x": 1},
                "properties": {"provisioningState": state, "futureProperty": "kept"},
            },
        });
        change(&mut body);
        self.write(CLUSTERS, name, subscription, Some(&key), &body).await;
        let asked = body["asyncOperationId"].as_str().unwrap_or_default();
        if !asked.is_empty() {
            let record = json!({
                "id": asked, "openShiftClusterKey": key,
                "asyncOperation": {"id": format!("/path/{asked}"), "name": asked, "initialStatus": state, "status": state,
                    "startTime": "2026-01-01T00:00:00Z"},
            });
            self.write(Collection::AsyncOperations, asked, asked, None, &record).await;
        }
        for held in [format!("client/client-{name}"), format!("group//groups/{name}")] {
            let record = json!({"id": held, "cluster": key});
            self.write(Collection::Reservations, &held, &held, None, &record).await;
        }
        key
    }

    async fn write(&self, of: Collection, id: &str, partition: &str, key: Option<&str>, body: &Value) {
        let draft = Draft {
            id: id.into(),
            partition: partition.into(),
            unique_key: key.map(Into::into),
            body: body.to_string(),
            expires_at: None,
        };
        self.store.inner.create(of, draft).await.unwrap();
    }

    /// Somebody else changes a cluster's document, by version.
    pub(crate) async fn change(&self, id: &str, change: impl Fn(&mut Value)) {
        loop {
            let found = self.store.inner.get(CLUSTERS, id).await.unwrap().unwrap();
            let mut body: Value = serde_json::from_str(&found.body).unwrap();
            change(&mut body);
            let expect = Expect::Version(found.version);
            let draft = found.with_body(body.to_string());
            if self.store.inner.replace(CLUSTERS, draft, expect).await.is_ok() {
                return;
            }
        }
    }

    pub(crate) async fn get(&self, of: Collection, id: &str) -> Option<Value> {
        let found = self.store.inner.get(of, id).await.unwrap()?;
        Some(serde_json::from_str(&found.body).unwrap())
    }

    pub(crate) async fn document(&self, id: &str) -> Value {
        self.get(CLUSTERS, id).await.unwrap_or_default()
    }

    /// State of a cluster; empty when it is gone.
    pub(crate) async fn state(&self, id: &str) -> String {
        let document = self.document(id).await;
        document["openShiftCluster"]["properties"]["provisioningState"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub(crate) async fn operation(&self, name: &str) -> Value {
        self.get(Collection::AsyncOperations, &format!("operation-{name}")).await.unwrap_or_default()
    }

    pub(crate) async fn log(&self, name: &str) -> Value {
        self.get(Collection::OperationLogs, &format!("operation-{name}")).await.unwrap_or_default()
    }

    pub(crate) fn start(&self, manager: Arc<dyn Manager>, settings: rp_config::Backend) -> Process {
        let registry = Registry::new();
        let clock: SharedClock = Arc::new(SystemClock);
        let store: SharedStore = Arc::<Faulty>::clone(&self.store);
        let backend = Backend::new(BackendParts {
            store,
            clock,
            random: Arc::new(SystemRandom),
            manager,
            settings,
            registry: registry.clone(),
            statsd: Statsd::none(),
            domain: "eastus.aroapp.io".into(),
        });
        let stop = CancellationToken::new();
        let task = tokio::spawn(backend.run(stop.clone()));
        Process { stop, task, registry }
    }

    /// Waits for a cluster to be in that state (empty: gone), with its lease given away.
    pub(crate) async fn reaches(&self, id: &str, state: &str) {
        until(&format!("{id} is {state:?}"), async || {
            let document = self.document(id).await;
            let free = document.get("leaseOwner").is_none();
            if self.state(id).await == state && free { Ok(()) } else { Err(document.to_string()) }
        })
        .await;
    }
}

impl Process {
    /// As `kill -9`: nothing is given back.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    /// As SIGTERM.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

pub(crate) fn key(subscription: &str, name: &str) -> String {
    format!(
        "/subscriptions/{subscription}/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/{name}"
    )
}

/// Waits until it holds; says what was last seen when it never does.
pub(crate) async fn until(what: &str, look: impl AsyncFn() -> Result<(), String>) {
    let end = Instant::now() + GENEROUS;
    loop {
        match look().await {
            Ok(()) => return,
            Err(seen) if Instant::now() >= end => panic!("waited for: {what}; last seen: {seen}"),
            Err(_) => sleep(Duration::from_millis(5)).await,
        }
    }
}
