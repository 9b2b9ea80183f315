//! Three processes over a real PostgreSQL, killed with SIGKILL at moments that a seed repeats: every manifest ends, no
//! step runs at two processes at once, and none that was done runs again.
//!
//! The test starts its own binary again as the process that works and dies. `ARO_SOAK` does three hundred kills.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rp_base::{SystemClock, SystemRandom};
use rp_database::{Draft, PostgresOptions, PostgresStore, SharedStore, Typed};
use rp_documents::maintenance::{Manifest, ManifestState, Task};
use rp_documents::{Collection, ManifestDocument};
use rp_maintenance::{MaintenanceParts, MaintenanceService, TaskError, TaskJob, TaskRunner};
use rp_metrics::{Registry, Statsd};
use serde_json::{Value, json};
use tests_kit::{Dice, Postgres, until};
use tokio::time::sleep;

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000001";
const URL: &str = "MAINTENANCE_KILL_TEST_URL";
const RECORD: &str = "MAINTENANCE_KILL_TEST_RECORD";
const PROCESSES: usize = 3;
const CLUSTERS: usize = 6;
const STEPS: usize = 4;
const GENEROUS: Duration = Duration::from_secs(300);

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
impl TaskRunner for Recording {
    async fn run(&self, job: TaskJob) -> Result<(), TaskError> {
        let (id, pid) = (job.document.id.clone(), std::process::id());
        let first = job.run.position().await.map_or(0, |name| name.parse().unwrap());
        for step in first..STEPS {
            self.note("begin", pid, &format!("{id} {step}"));
            sleep(Duration::from_millis(60)).await;
            self.note("end", pid, &format!("{id} {step}"));
            job.run.save(&(step + 1).to_string()).await?;
            self.note("saved", pid, &format!("{id} {step}"));
        }
        Ok(())
    }
}

async fn connect(url: &str) -> SharedStore {
    Arc::new(PostgresStore::connect(PostgresOptions::from_url(url).unwrap()).await.unwrap())
}

/// Not a test by itself: without the variables it has nothing to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn maintains_until_killed() {
    let (Ok(url), Ok(record)) = (std::env::var(URL), std::env::var(RECORD)) else { return };
    let settings = rp_config::Maintenance {
        poll: Duration::from_millis(100),
        lease: Duration::from_secs(6),
        retry: Duration::from_secs(1),
        retry_most: Duration::from_secs(2),
        attempts: 1000,
        bucket_interval: Duration::from_millis(500),
        worker_ttl: Duration::from_secs(4),
        feed_poll: Duration::from_secs(1),
        ..rp_config::Maintenance::default()
    };
    let service = MaintenanceService::start(MaintenanceParts {
        store: connect(&url).await,
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        runner: Some(Arc::new(Recording::open(Path::new(&record)))),
        settings,
        registry: Registry::new(),
        actuator: Statsd::none(),
        scheduler: Statsd::none(),
        domain: "example".into(),
        version: "test".into(),
    });
    let _service = service.await.unwrap();
    std::future::pending::<()>().await;
}

struct World {
    store: SharedStore,
    manifests: Typed<ManifestDocument>,
    url: String,
    path: PathBuf,
    ids: Vec<String>,
}

impl World {
    fn start(&self) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "maintains_until_killed", "--nocapture"])
            .env(URL, &self.url)
            .env(RECORD, &self.path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    async fn create(&self, of: Collection, id: &str, key: Option<&str>, body: &Value) {
        let draft = Draft {
            id: id.into(),
            partition: SUBSCRIPTION.into(),
            unique_key: key.map(Into::into),
            body: body.to_string(),
            expires_at: None,
        };
        self.store.create(of, draft).await.unwrap();
    }

    /// One manifest for each cluster.
    async fn order(&mut self, round: usize) {
        let now = self.store.now().await.unwrap().seconds();
        for n in 0..CLUSTERS {
            let manifest = Manifest {
                maintenance_task_id: Task::FixSsh.id().into(),
                run_after: now - 1,
                run_before: now + 100_000,
                ..Manifest::default()
            };
            let id = format!("m-{round}-{n}");
            self.manifests.create(ManifestDocument::new(&id, key(n), manifest)).await.unwrap();
            self.ids.push(id);
        }
    }

    async fn ended(&self, seed: u64) {
        for id in &self.ids {
            until(&format!("seed {seed}: {id} is completed"), GENEROUS, || async {
                let found = self.manifests.get(id).await?.unwrap().value;
                let state = found.maintenance_manifest.state;
                anyhow::ensure!(state == ManifestState::Completed, "{found:?}");
                Ok(())
            })
            .await
            .unwrap();
        }
    }

    /// On each cluster a step begins only when the one before ended or its process is dead. Gives the steps begun.
    fn no_two_at_once(&self, seed: u64) -> usize {
        let text = std::fs::read_to_string(&self.path).unwrap();
        let (mut at, mut begun) = (HashMap::<&str, &str>::new(), 0);
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let (what, pid) = (words[0], words[1]);
            match what {
                "begin" => {
                    begun += 1;
                    let other = at.insert(words[2], pid);
                    assert!(other.is_none(), "seed {seed}: {line}: {other:?} is at work");
                }
                "end" => {
                    at.remove(words[2]);
                }
                "killed" => at.retain(|_, owner| *owner != pid),
                _ => {}
            }
        }
        begun
    }
}

fn key(n: usize) -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourcegroups/g/providers/microsoft.redhatopenshift/openshiftclusters/c{n}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_dies_every_manifest_ends_and_no_step_runs_at_two_at_once() {
    let seed = 20_261_127;
    let kills = if std::env::var_os("ARO_SOAK").is_some() { 300 } else { 5 };
    let postgres = Postgres::start().await.unwrap();
    let url = postgres.database().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    let record = Recording::open(&path);
    let store = connect(&url).await;
    let manifests = Typed::new(SharedStore::clone(&store));
    let mut world = World { store, manifests, url, path, ids: Vec::new() };
    let subscription = json!({"id": SUBSCRIPTION, "subscription": {"state": "Registered"}});
    world.create(Collection::Subscriptions, SUBSCRIPTION, None, &subscription).await;
    for n in 0..CLUSTERS {
        let key = key(n);
        let body = json!({"id": format!("c{n}"), "key": key, "partitionKey": SUBSCRIPTION, "bucket": n * 40,
            "openShiftCluster": {"id": key, "properties": {"provisioningState": "Succeeded"}}});
        world.create(Collection::OpenShiftClusters, &format!("c{n}"), Some(&key), &body).await;
    }
    let mut processes: Vec<Child> = (0..PROCESSES).map(|_| world.start()).collect();
    let mut dice = Dice::new(seed);
    for round in 0..kills {
        world.order(round).await;
        sleep(Duration::from_millis(500 + dice.below(1500))).await;
        let at = usize::try_from(dice.below(PROCESSES as u64)).unwrap();
        let mut victim = processes.remove(at);
        victim.kill().unwrap();
        victim.wait().unwrap();
        record.note("killed", victim.id(), "");
        processes.push(world.start());
    }
    world.ended(seed).await;
    for mut process in processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    let begun = world.no_two_at_once(seed);
    let wanted = world.ids.len() * STEPS;
    // A kill may cost the running step of each cluster that the process worked on.
    assert!((wanted..=wanted + kills * CLUSTERS).contains(&begun), "seed {seed}: {begun} steps of {wanted}");
}
