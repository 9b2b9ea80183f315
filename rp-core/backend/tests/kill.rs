//! Three processes over a real PostgreSQL, killed with SIGKILL and frozen with SIGSTOP at moments that a seed repeats:
//! every operation ends as it should, and no step is run by two owners at once.
//!
//! The test starts its own binary again as the process that works and dies. `ARO_SOAK` does a thousand kills.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_api::CloudError;
use rp_backend::{Backend, BackendParts};
use rp_base::{SystemClock, SystemRandom};
use rp_cluster::{Failure, Job, Manager, Operation, Outcome, StepEvent};
use rp_database::{Draft, PostgresOptions, PostgresStore, SharedStore};
use rp_documents::cluster::{InstallPhase, Worker};
use rp_documents::{Collection, OpenShiftCluster};
use rp_metrics::{Registry, Statsd};
use serde_json::{Value, json};
use tests_kit::{Postgres, until};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const CLUSTERS: Collection = Collection::OpenShiftClusters;
const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000001";
const URL: &str = "BACKEND_KILL_TEST_URL";
const RECORD: &str = "BACKEND_KILL_TEST_RECORD";
const SEED: u64 = 20_261_121;
const PROCESSES: usize = 3;
/// Operations that come with each kill.
const NEW: usize = 6;
const STEPS: usize = 5;
/// Of so many processes one is frozen in place of killed.
const FROZEN_EVERY: usize = 5;
const GENEROUS: Duration = Duration::from_secs(240);

/// Numbers that a seed repeats (PCG's multiplier).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Notes the beginning and the end of each step in a file that all processes append to.
#[derive(Debug)]
struct Recording(File);

impl Recording {
    fn open(path: &Path) -> Self {
        Self(OpenOptions::new().create(true).append(true).open(path).unwrap())
    }

    /// One write, so that lines of several processes do not mix.
    fn note(&self, what: &str, pid: u32, rest: &str) {
        (&self.0).write_all(format!("{what} {pid} {rest}\n").as_bytes()).unwrap();
    }
}

#[async_trait]
impl Manager for Recording {
    async fn run(&self, job: Job) -> Result<Outcome, Failure> {
        let (id, pid) = (job.document.id.clone(), std::process::id());
        let position = job.progress.position().await?;
        let first = position.and_then(|name| name.strip_prefix("action.")?.parse().ok()).unwrap_or(0);
        for at in first..STEPS {
            if job.stopping.is_cancelled() {
                return Err(Failure::HandedOver);
            }
            let name = format!("action.{at}");
            job.progress.record_event(StepEvent::Started { name: &name, at, planned: STEPS, attempt: 1 });
            self.note("begin", pid, &id);
            sleep(Duration::from_millis(30)).await;
            self.note("end", pid, &id);
            job.progress.record_event(StepEvent::Done { name: &name, took: Duration::from_millis(30) });
            job.progress.save(&format!("action.{}", at + 1)).await?;
        }
        if id.contains("fails") {
            return Err(CloudError::bad("QuotaExceeded", "", "Not enough cores.").into());
        }
        let phase = job.document.cluster.properties.install.phase();
        if job.operation == Operation::Create && phase.is_none() {
            let next = |cluster: &mut OpenShiftCluster, by: Worker| {
                cluster.properties.install.phase.set(by, InstallPhase::RemoveBootstrap.name());
            };
            job.progress.patch(Box::new(next)).await?;
            return Ok(Outcome::NextPhase);
        }
        Ok(Outcome::Done)
    }
}

async fn connect(url: &str) -> SharedStore {
    let options = PostgresOptions::from_url(url).unwrap();
    Arc::new(PostgresStore::connect(options).await.unwrap())
}

/// Not a test by itself: without the variables it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_until_killed() {
    let (Ok(url), Ok(record)) = (std::env::var(URL), std::env::var(RECORD)) else { return };
    let settings = rp_config::Backend {
        // A process that gets no time for so long loses its work, as one that is frozen does.
        lease: Duration::from_secs(6),
        heartbeat: Duration::from_millis(500),
        poll: Duration::from_millis(500),
        retry: Duration::from_millis(100),
        retry_most: Duration::from_secs(2),
        ..rp_config::Backend::default()
    };
    let backend = Backend::new(BackendParts {
        store: connect(&url).await,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        manager: Arc::new(Recording::open(Path::new(&record))),
        settings,
        registry: Registry::new(),
        statsd: Statsd::none(),
        domain: String::new(),
    });
    backend.run(CancellationToken::new()).await;
}

struct World {
    store: SharedStore,
    url: String,
    path: PathBuf,
    record: Recording,
    /// Names with the state that each should come to; empty: gone.
    wanted: Vec<(String, &'static str)>,
}

impl World {
    fn start(&self) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "works_until_killed", "--nocapture"])
            .env(URL, &self.url)
            .env(RECORD, &self.path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    async fn add(&mut self, round: usize) {
        let kinds = [
            ("creates", "Creating", "Succeeded"),
            ("updates", "Updating", "Succeeded"),
            ("deletes", "Deleting", ""),
            ("fails", "Updating", "Failed"),
            ("creates", "Creating", "Succeeded"),
            ("deletes", "Deleting", ""),
        ];
        for (n, (kind, state, end)) in kinds.into_iter().enumerate().take(NEW) {
            let name = format!("{kind}-{round}-{n}");
            let key = format!(
                "/subscriptions/{SUBSCRIPTION}/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/{name}"
            );
            let operation = format!("operation-{name}");
            let record = json!({
                "id": operation, "openShiftClusterKey": key,
                "asyncOperation": {"id": "/path", "name": operation, "initialStatus": state, "status": state,
                    "startTime": "2026-01-01T00:00:00Z"},
            });
            self.create(Collection::AsyncOperations, &operation, &operation, None, &record).await;
            let body = json!({
                "id": name, "key": key, "partitionKey": SUBSCRIPTION, "asyncOperationId": operation,
                "clusterResourceGroupIdKey": format!("/g/{name}"), "clientIdKey": name,
                "openShiftCluster": {"id": key, "location": "eastus", "properties": {"provisioningState": state}},
            });
            self.create(CLUSTERS, &name, SUBSCRIPTION, Some(&key), &body).await;
            self.wanted.push((name, end));
        }
    }

    async fn create(&self, of: Collection, id: &str, partition: &str, key: Option<&str>, body: &Value) {
        let draft = Draft {
            id: id.into(),
            partition: partition.into(),
            unique_key: key.map(Into::into),
            body: body.to_string(),
            expires_at: None,
        };
        self.store.create(of, draft).await.unwrap();
    }

    async fn get(&self, of: Collection, id: &str) -> Value {
        let found = self.store.get(of, id).await.unwrap();
        found.map_or(Value::Null, |found| serde_json::from_str(&found.body).unwrap())
    }

    /// Every operation ended as it should.
    async fn ended(&self) {
        for (name, end) in &self.wanted {
            until(&format!("seed {SEED}: {name} is {end:?}"), GENEROUS, || async {
                let document = self.get(CLUSTERS, name).await;
                let state = document["openShiftCluster"]["properties"]["provisioningState"].as_str();
                let free = document.get("leaseOwner").is_none();
                anyhow::ensure!(state.unwrap_or_default() == *end && free, "{document}");
                Ok(())
            })
            .await
            .unwrap();
            let operation = self.get(Collection::AsyncOperations, &format!("operation-{name}")).await;
            let status = if *end == "Failed" { "Failed" } else { "Succeeded" };
            assert_eq!(operation["asyncOperation"]["status"], status, "seed {SEED}: {name}: {operation}");
            let log = self.get(Collection::OperationLogs, &format!("operation-{name}")).await;
            assert_eq!(log["result"], status, "seed {SEED}: {name}: {log}");
        }
    }

    /// A step begins only when the one before it ended, or its process is dead or was frozen.
    fn no_two_at_once(&self) -> usize {
        let text = std::fs::read_to_string(&self.path).unwrap();
        let (mut at, mut begun) = (HashMap::<&str, &str>::new(), 0);
        let mut out = HashSet::new();
        for line in text.lines() {
            let mut words = line.split(' ');
            let (what, pid, id) =
                (words.next().unwrap(), words.next().unwrap(), words.next().unwrap_or_default());
            match what {
                "begin" => {
                    begun += 1;
                    let other = at.insert(id, pid);
                    assert!(other.is_none_or(|other| other == pid), "seed {SEED}: {id}: {other:?} and {pid}");
                    assert!(!out.contains(pid), "seed {SEED}: {pid} is dead");
                }
                "end" => {
                    if at.get(id) == Some(&pid) {
                        at.remove(id);
                    }
                }
                _ => {
                    at.retain(|_, owner| *owner != pid);
                    if what == "killed" {
                        out.insert(pid);
                    }
                }
            }
        }
        begun
    }
}

fn signal(name: &str, pid: u32) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status().unwrap();
    assert!(status.success(), "kill -{name} {pid}");
}

/// Every thread of it stands still.
async fn frozen(pid: u32) {
    until("it is frozen", GENEROUS, || async {
        for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
            let stat = std::fs::read_to_string(task?.path().join("stat"))?;
            let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().chars().next());
            anyhow::ensure!(state == Some(Some('T')), "{stat}");
        }
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_dies_every_operation_ends_and_none_is_done_twice_at_once() {
    let kills = if std::env::var_os("ARO_SOAK").is_some() { 1000 } else { 8 };
    let postgres = Postgres::start().await.unwrap();
    let url = postgres.database().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    let record = Recording::open(&path);
    let mut world = World { store: connect(&url).await, url, path, record, wanted: Vec::new() };
    let subscription = json!({"id": SUBSCRIPTION, "subscription": {"state": "Registered"}});
    world.create(Collection::Subscriptions, SUBSCRIPTION, SUBSCRIPTION, None, &subscription).await;
    let mut processes: Vec<Child> = (0..PROCESSES).map(|_| world.start()).collect();
    let mut dice = Dice(SEED);
    for round in 0..kills {
        world.add(round).await;
        sleep(Duration::from_millis(100 + dice.below(700))).await;
        let at = usize::try_from(dice.below(PROCESSES as u64)).unwrap();
        if round % FROZEN_EVERY == FROZEN_EVERY - 1 {
            // Longer than a lease: others go on with its work, and what it then wants to write is refused.
            let pid = processes[at].id();
            signal("STOP", pid);
            frozen(pid).await;
            world.record.note("frozen", pid, "");
            sleep(Duration::from_secs(9)).await;
            signal("CONT", pid);
            continue;
        }
        let mut victim = processes.remove(at);
        victim.kill().unwrap();
        victim.wait().unwrap();
        world.record.note("killed", victim.id(), "");
        processes.push(world.start());
    }
    world.ended().await;
    for mut process in processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let begun = world.no_two_at_once();
    assert!(begun >= world.wanted.len() * STEPS, "{begun} steps");
}
