//! Clusters in PostgreSQL, and workers whose work is nothing.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use rp_backend::{Backend, BackendParts};
use rp_base::{SystemClock, SystemRandom};
use rp_cluster::{Failure, Job, Manager, Outcome};
use rp_database::{Draft, PostgresOptions, PostgresStore, SharedStore};
use rp_documents::Collection;
use rp_metrics::{Registry, Statsd};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

const CLUSTERS: Collection = Collection::OpenShiftClusters;
const SUBSCRIPTIONS: usize = 10;
const BATCH: usize = 200;
const PATIENCE: Duration = Duration::from_secs(900);

/// A database with clusters.
pub(super) struct Fleet {
    store: SharedStore,
    database: String,
}

impl Fleet {
    pub(super) async fn new(url: &str) -> Result<Self> {
        let store: SharedStore = Arc::new(PostgresStore::connect(PostgresOptions::from_url(url)?).await?);
        let database = url.rsplit('/').next().and_then(|end| end.split('?').next()).context("no database")?;
        let drafts = (0..SUBSCRIPTIONS).map(|number| {
            let id = subscription(number);
            draft(&id, &id, None, &json!({"id": id, "subscription": {"state": "Registered"}}))
        });
        store.create_all(Collection::Subscriptions, drafts.collect()).await?;
        Ok(Self { store, database: database.to_owned() })
    }

    pub(super) fn database(&self) -> &str {
        &self.database
    }

    pub(super) async fn close(self) {
        self.store.close().await;
    }

    /// Clusters in that state; those with work have an asynchronous operation.
    pub(super) async fn add(&self, prefix: &str, count: usize, state: &str) -> Result<()> {
        let working = state != "Succeeded";
        let numbers: Vec<usize> = (0..count).collect();
        for some in numbers.chunks(BATCH) {
            if working {
                let operations = some.iter().map(|number| operation(&format!("{prefix}-{number}"), state));
                self.store.create_all(Collection::AsyncOperations, operations.collect()).await?;
            }
            let clusters = some.iter().map(|number| cluster(prefix, *number, state, working));
            self.store.create_all(CLUSTERS, clusters.collect()).await?;
        }
        Ok(())
    }

    /// How many did not come to their end.
    pub(super) async fn unfinished(&self, prefix: &str, count: usize) -> Result<usize> {
        let mut left = 0;
        for number in 0..count {
            let found =
                self.store.get(CLUSTERS, &format!("{prefix}-{number}")).await?.context("it is gone")?;
            let body: Value = serde_json::from_str(&found.body)?;
            left += usize::from(body["openShiftCluster"]["properties"]["provisioningState"] != "Succeeded");
        }
        Ok(left)
    }
}

/// One process's workers.
pub(super) struct Workers {
    stop: CancellationToken,
    task: JoinHandle<()>,
    begun: watch::Receiver<(usize, Instant)>,
    registry: Registry,
}

impl Workers {
    pub(super) fn start(fleet: &Fleet, concurrency: usize) -> Self {
        let (tell, begun) = watch::channel((0, Instant::now()));
        let (registry, stop) = (Registry::new(), CancellationToken::new());
        let settings = rp_config::Backend { workers: concurrency, ..rp_config::Backend::default() };
        let backend = Backend::new(BackendParts {
            store: SharedStore::clone(&fleet.store),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
            manager: Arc::new(RecordingManager(tell)),
            settings,
            registry: registry.clone(),
            statsd: Statsd::none(),
            domain: "eastus.aroapp.io".to_owned(),
        });
        let task = tokio::spawn(backend.run(stop.clone()));
        Self { stop, task, begun, registry }
    }

    /// When the work of so many had begun.
    pub(super) async fn begun(&self, count: usize) -> Result<Instant> {
        let mut begun = self.begun.clone();
        let (_, at) = *timeout(PATIENCE, begun.wait_for(|(done, _)| *done >= count)).await??;
        Ok(at)
    }

    /// Waits until so many operations have ended.
    pub(super) async fn wait_until_ended(&self, count: usize) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            let shown = self.registry.render();
            let name = "aro_backend_turns_total{operation=\"Updating\",result=\"succeeded\"} ";
            let line = shown.lines().find_map(|line| line.strip_prefix(name));
            let done = line.and_then(|number| number.parse::<usize>().ok()).unwrap_or(0);
            if done >= count {
                return Ok(());
            }
            ensure!(Instant::now() < end, "{done} of {count} operations have ended");
            sleep(Duration::from_millis(5)).await;
        }
    }

    pub(super) async fn stop(self) -> Result<()> {
        self.stop.cancel();
        Ok(self.task.await?)
    }
}

/// Does nothing, and tells that it was asked.
#[derive(Debug)]
struct RecordingManager(watch::Sender<(usize, Instant)>);

#[async_trait]
impl Manager for RecordingManager {
    async fn run(&self, _: Job) -> Result<Outcome, Failure> {
        self.0.send_modify(|(count, at)| {
            *count += 1;
            *at = Instant::now();
        });
        Ok(Outcome::Done)
    }
}

fn subscription(number: usize) -> String {
    format!("00000000-0000-0000-0000-{:012}", number % SUBSCRIPTIONS)
}

fn draft(id: &str, partition: &str, key: Option<&str>, body: &Value) -> Draft {
    Draft {
        id: id.to_owned(),
        partition: partition.to_owned(),
        unique_key: key.map(str::to_owned),
        body: body.to_string(),
        expires_at: None,
    }
}

fn operation(name: &str, state: &str) -> Draft {
    let id = format!("operation-{name}");
    let body = json!({
        "id": id, "openShiftClusterKey": "k",
        "asyncOperation": {"id": format!("/{id}"), "name": id, "initialStatus": state, "status": state,
            "startTime": "2026-01-01T00:00:00Z"},
    });
    draft(&id, &id, None, &body)
}

/// As large as one is, most of it sealed secrets.
fn cluster(prefix: &str, number: usize, state: &str, working: bool) -> Draft {
    let (name, subscription) = (format!("{prefix}-{number}"), subscription(number));
    let key = format!(
        "/subscriptions/{subscription}/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/{name}"
    );
    let mut body = json!({
        "id": name, "key": key, "partitionKey": subscription, "clientIdKey": name,
        "openShiftCluster": {"id": key, "name": name, "location": "eastus", "properties": {
            "provisioningState": state, "adminKubeconfig": "x".repeat(8000), "aroServiceKubeconfig": "x".repeat(4000),
        }},
    });
    if working {
        body["asyncOperationId"] = Value::from(format!("operation-{name}"));
    }
    draft(&name, &subscription, Some(&key), &body)
}
