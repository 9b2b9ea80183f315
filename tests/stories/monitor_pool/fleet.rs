//! A fleet of unreachable clusters, the database that holds them, and the processes that look at them.
//!
//! That a look fails does not matter here: it is quick, and the test checks which process looked when.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rp_base::{SystemRandom, Timestamp};
use rp_database::{Expect, PostgresOptions, PostgresStore, SharedStore, Typed};
use rp_documents::imported::CredentialKind;
use rp_documents::{
    BucketLooks, ClusterHealth, Collection, ImportedCluster, PoolDocument, ResourceId, Unknown,
};
use rp_seal::Keyring;
use tests_kit::{Folder, GENEROUS, Postgres, Process, binary, free_port, until};
use tokio::sync::Mutex;

/// From one look to the next.
pub(super) const INTERVAL: Duration = Duration::from_secs(3);
/// How long a worker lives without a heartbeat. Long enough for a process that gets no processor for a while.
pub(super) const TTL: Duration = Duration::from_secs(6);

/// One look, as the record has it.
#[derive(Debug, Clone)]
pub(super) struct Inspection {
    pub(super) cluster: String,
    pub(super) at: Timestamp,
    pub(super) by: String,
}

/// Every look of the record, by cluster and instant.
type Record = Arc<parking_lot::Mutex<BTreeMap<(String, i64), String>>>;

pub(super) struct Fleet {
    pub(super) postgres: Postgres,
    folder: Folder,
    store: SharedStore,
    keyring: Keyring,
    workers: BTreeMap<usize, Worker>,
    clusters: Mutex<BTreeSet<usize>>,
    closed: u16,
    record: Record,
    follower: tokio::task::JoinHandle<()>,
}

struct Worker {
    process: Process,
    admin: u16,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

pub(super) fn name(number: usize) -> String {
    format!("cluster-{number:03}")
}

/// The lines of a text that begin so.
pub(super) fn lines(text: &str, start: &str) -> String {
    text.lines().filter(|line| line.starts_with(start)).collect::<Vec<_>>().join("\n")
}

impl Fleet {
    /// A database with so many clusters.
    pub(super) async fn start(clusters: usize) -> Result<Self> {
        let folder = Folder::new("monitors")?;
        let postgres = Postgres::start().await?;
        let url = postgres.database().await?;
        folder.write("database", &url)?;
        let mut options = PostgresOptions::from_url(&url)?;
        options.max_connections = 4;
        let store: SharedStore = Arc::new(PostgresStore::connect(options).await?);
        let keyring = Keyring::open_or_create(&folder.path().join("keyring.json"), &SystemRandom)?;
        let record = Record::default();
        let follower = tokio::spawn(follow(Arc::clone(&store), Arc::clone(&record)));
        let fleet = Self {
            postgres,
            folder,
            store,
            keyring,
            workers: BTreeMap::new(),
            clusters: Mutex::default(),
            closed: free_port()?,
            record,
            follower,
        };
        for number in 0..clusters {
            fleet.add(number).await?;
        }
        Ok(fleet)
    }

    pub(super) fn clusters(&self) -> usize {
        self.clusters.try_lock().map_or(0, |clusters| clusters.len())
    }

    /// An imported cluster at a port where nothing listens.
    pub(super) async fn add(&self, number: usize) -> Result<()> {
        let name = name(number);
        let place = format!("{}/{name}/sealed", Collection::ImportedClusters.name());
        let import = ImportedCluster {
            id: name.clone(),
            resource_id: ResourceId::imported(&name)?,
            server: format!("https://127.0.0.1:{}", self.closed),
            tls_server_name: None,
            ca_pem: String::new(),
            credential: CredentialKind::Token,
            sealed: self.keyring.seal(br#"{"token":"none"}"#, &place)?,
            as_groups: Vec::new(),
            ssh: None,
            tunnel: None,
            version: String::new(),
            imported_by: "story".to_owned(),
            imported_at: self.store.now().await?,
            unknown: Unknown::new(),
        };
        let typed: Typed<ImportedCluster> = Typed::new(Arc::clone(&self.store));
        typed.create(import).await?;
        self.clusters.lock().await.insert(number);
        Ok(())
    }

    pub(super) async fn remove(&self, number: usize) -> Result<()> {
        self.store.delete(Collection::ImportedClusters, &name(number), Expect::Any).await?;
        self.clusters.lock().await.remove(&number);
        Ok(())
    }

    /// Starts a worker and waits until its admin listener answers.
    pub(super) async fn run(&mut self, number: usize) -> Result<()> {
        let admin = free_port()?;
        let process = self.spawn_at(number, admin)?;
        self.workers.insert(number, Worker { process, admin });
        let worker = self.workers.get(&number).context("it was put there")?;
        worker.process.ready(GENEROUS, || async { get(admin, "/healthz/live").await.map(drop) }).await
    }

    pub(super) fn spawn(&self, number: usize) -> Result<Process> {
        self.spawn_at(number, free_port()?)
    }

    fn spawn_at(&self, number: usize, admin: u16) -> Result<Process> {
        let name = format!("monitor-{number}");
        self.folder.write(&format!("{name}.toml"), settings(&name, admin))?;
        let mut command = Command::new(binary("aro")?);
        command.args(["monitor", "--config", &format!("{name}.toml")]).current_dir(self.folder.path());
        Process::start(&self.folder, &name, &mut command)
    }

    /// As if its machine had failed.
    pub(super) fn kill(&mut self, number: usize) -> Result<()> {
        self.workers.remove(&number).context("it runs")?.process.kill()
    }

    /// Asks it to end, and waits.
    pub(super) async fn stop(&mut self, number: usize) -> Result<ExitStatus> {
        let worker = self.workers.remove(&number).context("it runs")?;
        worker.process.signal("TERM")?;
        worker.process.wait(GENEROUS).await
    }

    pub(super) fn exited(&self, number: usize) -> Result<Option<ExitStatus>> {
        self.workers.get(&number).context("it was started")?.process.exited()
    }

    pub(super) async fn admin(&self, number: usize, path: &str) -> Result<String> {
        get(self.workers.get(&number).context("it runs")?.admin, path).await
    }

    /// By the store's clock.
    pub(super) async fn now(&self) -> Result<Timestamp> {
        Ok(self.store.now().await?)
    }

    /// Every look, by cluster, then by instant.
    pub(super) fn seen(&self) -> Vec<Inspection> {
        let record = self.record.lock();
        let seen = |((cluster, at), by): (&(String, i64), &String)| Inspection {
            cluster: cluster.clone(),
            at: Timestamp::from_millis(*at),
            by: by.clone(),
        };
        record.iter().map(seen).collect()
    }

    /// Waits until each cluster was looked at after this moment.
    pub(super) async fn looked_at_since_now(&self, when: &str) -> Result<()> {
        let from = until("the store tells its time", GENEROUS, || self.now()).await?;
        self.looked_at_times_since(1, from).await.with_context(|| format!("{when}\n{}", self.tails()))
    }

    pub(super) async fn looked_at_times_since(&self, times: usize, from: Timestamp) -> Result<()> {
        let clusters = self.clusters.lock().await.clone();
        until("each cluster is looked at", GENEROUS * 2, || async {
            let mut counts: BTreeMap<String, usize> =
                clusters.iter().map(|number| (name(*number), 0)).collect();
            for seen in self.seen().into_iter().filter(|seen| seen.at > from) {
                if let Some(count) = counts.get_mut(&seen.cluster) {
                    *count += 1;
                }
            }
            let missing: Vec<_> = counts.iter().filter(|(_, count)| **count < times).collect();
            ensure!(
                missing.is_empty(),
                "{} of {}, such as {:?}",
                missing.len(),
                counts.len(),
                missing.first()
            );
            Ok(())
        })
        .await
    }

    /// Waits until the buckets are shared evenly by so many, and each of them knows what is its own.
    pub(super) async fn shared_by(&self, workers: usize) -> Result<()> {
        until("the buckets are shared", GENEROUS * 2, || async {
            let typed: Typed<PoolDocument> = Typed::new(Arc::clone(&self.store));
            let master = typed.get("monitor").await?.context("no master's document")?.value;
            let buckets = master.pool_worker.map(|given| given.buckets).unwrap_or_default();
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            for owner in buckets {
                *counts.entry(owner).or_default() += 1;
            }
            ensure!(counts.len() == workers, "{counts:?}");
            for worker in self.workers.values() {
                let metrics = get(worker.admin, "/metrics").await?;
                let own = lines(&metrics, "aro_pool_buckets{");
                let count: usize = own.rsplit(' ').next().unwrap_or_default().parse().context(own.clone())?;
                ensure!(count.abs_diff(256 / workers) <= 1, "{own}");
            }
            Ok(())
        })
        .await
        .with_context(|| self.tails())
    }

    /// Ids of the workers' documents.
    pub(super) async fn workers(&self) -> Result<Vec<String>> {
        let typed: Typed<PoolDocument> = Typed::new(Arc::clone(&self.store));
        let all = typed.all().await?;
        Ok(all.into_iter().map(|read| read.value.id).filter(|id| id != "monitor").collect())
    }

    pub(super) async fn health(&self, id: &str) -> Result<Option<ClusterHealth>> {
        let typed: Typed<ClusterHealth> = Typed::new(Arc::clone(&self.store));
        Ok(typed.get(id).await?.map(|read| read.value))
    }

    /// Clusters in the stored record.
    pub(super) async fn recorded(&self) -> Result<BTreeSet<String>> {
        let typed: Typed<BucketLooks> = Typed::new(Arc::clone(&self.store));
        Ok(typed.all().await?.into_iter().flat_map(|read| read.value.looks.into_keys()).collect())
    }

    fn tails(&self) -> String {
        self.workers.values().map(|worker| worker.process.tail()).collect()
    }
}

/// Keeps every state of the record, for a document has only the last look at each cluster.
async fn follow(store: SharedStore, record: Record) {
    let typed: Typed<BucketLooks> = Typed::new(Arc::clone(&store));
    let (mut wake, mut cursor) = (store.subscribe(Collection::Looks), 0);
    loop {
        if let Ok(changes) = typed.changes(cursor, 1000).await {
            let mut record = record.lock();
            for looks in changes.items.into_iter().filter_map(|change| change.document) {
                for (cluster, look) in looks.value.looks {
                    record.insert((cluster, look.at.millis()), look.by);
                }
            }
            cursor = changes.cursor;
        }
        let _ = tokio::time::timeout(Duration::from_millis(500), wake.changed()).await;
    }
}

async fn get(port: u16, path: &str) -> Result<String> {
    let client = reqwest::Client::builder().timeout(Duration::from_secs(20)).build()?;
    Ok(client.get(format!("http://127.0.0.1:{port}{path}")).send().await?.text().await?)
}

fn settings(name: &str, admin: u16) -> String {
    format!(
        r#"
[listen]
admin = "127.0.0.1:{admin}"
[store]
kind = "postgres"
url_file = "database"
[keys]
keyring_file = "keyring.json"
[audit]
checkpoint_key_file = "{name}.p8"
spool_file = "{name}.spool"
[imports]
allow = ["127.0.0.0/8"]
[monitor]
interval = "{interval}ms"
start_delay = "1s"
timeout = "5s"
grace = "1s"
bucket_interval = "500ms"
worker_ttl = "{ttl}ms"
lease = "{ttl}ms"
feed_poll = "500ms"
verify = "2s"
record_interval = "500ms"
ready_delay = "1ms"
ready_within = "{ttl}ms"
drain = "5s"
"#,
        interval = INTERVAL.as_millis(),
        ttl = TTL.as_millis(),
    )
}
